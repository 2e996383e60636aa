"""broker.conf: RocketMQ's names, checked values, honest refusals, and what may change at run time."""

from __future__ import annotations

import pytest

from engine.broker.settings.options import (
    OPTION_KEYS,
    apply_change,
    load_options,
    option_values,
    options_text,
    plan_change,
)
from engine.errors import BadInput, NotPermitted


def test_a_real_broker_conf_is_read() -> None:
    options = load_options(
        "brokerClusterName = DefaultCluster\nbrokerName = broker-a\nbrokerId = 0\ndeleteWhen = 04\n"
        "fileReservedTime = 48\nbrokerRole = ASYNC_MASTER\nflushDiskType = SYNC_FLUSH\nlistenPort=20911\n"
        "namesrvAddr=10.0.0.1:9876;10.0.0.2:9876\nbrokerIP1=10.0.0.9\nmaxMessageSize=65536\n"
    )
    assert options.broker_name == "broker-a"
    assert options.live.file_reserved_time == 48
    assert options.is_sync_flush
    assert options.listen_port == 20911
    assert options.broker_ip1 == "10.0.0.9"
    assert options.live.max_message_size == 65536
    assert options.warnings == ()


def test_the_command_line_wins_over_the_file_and_the_file_over_defaults() -> None:
    options = load_options("namesrvAddr=a:1\nbrokerName=x", {"namesrvAddr": "b:2"}, {"brokerName": "host"})
    assert options.namesrv_addr == "b:2"
    assert options.broker_name == "x"
    assert load_options("", None, {"brokerName": "host"}).broker_name == "host"


def test_an_unknown_key_is_a_warning() -> None:
    options = load_options("bindAddress=127.0.0.1\nsendMessageThreadPoolNums=16")
    assert options.warnings == (
        "sendMessageThreadPoolNums is not a setting of this broker and has no effect",
    )


def test_a_disk_ratio_beyond_its_bounds_starts_with_a_warning() -> None:
    options = load_options("brokerIP1=127.0.0.1\ndiskMaxUsedSpaceRatio=98\ndiskSpaceWarningLevelRatio=20")
    assert options.warnings == (
        "diskMaxUsedSpaceRatio=98 is taken as 95",
        "diskSpaceWarningLevelRatio=20 is taken as 35",
    )


def test_no_address_at_all_is_a_warning() -> None:
    assert any("bindAddress" in warning for warning in load_options("").warnings)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("listenPort=99999", "listenPort=99999 is not allowed: it must be a whole number from 0 to 65535"),
        ("listenPort=1e3", "whole number"),
        ("flushDiskType=FAST", "one of SYNC_FLUSH, ASYNC_FLUSH"),
        ("autoCreateTopicEnable=yes", "true or false"),
        ("brokerName=../x", "characters"),
        ("deleteWhen=25", "hours of the day"),
        ("storePathCommitLog=/a,/b", "one path"),
        ("diskMaxUsedSpaceRatio=101", "0 to 100"),
        ("namesrvAddr=nonsense", "HOST:PORT"),
        ("brokerRole=SLAVE", "needs a brokerId above 0"),
        ("aclEnable=yes", "true or false"),
        ("authorizationEnabled=true", "needs authenticationEnabled"),
        ("aclEnable=true\nauthenticationEnabled=true", "choose one"),
        ("authenticationWhitelist=105,x", "request codes"),
        ("authorizationWhitelist=3001", "must not hold 3001"),
        ("authenticationProvider=com.example.Mine", "only RocketMQ's own"),
        ("initAuthenticationUser=admin:canary", "must be like"),
        ('innerClientAuthenticationCredentials={"accessKey":"a"}', "must be like"),
        ("enableControllerMode=true", "does not have it"),
        ("storeType=defaultRocksDB", "does not have it"),
    ],
)
def test_a_bad_value_refuses_the_start_and_says_why(line: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        load_options(line)
    assert said in refused.value.text
    assert line.partition("=")[0] in refused.value.text
    assert "canary" not in refused.value.text


def test_features_that_are_switched_off_are_fine() -> None:
    load_options("aclEnable=false\nstoreType=default\nenableDLegerCommitLog=false")


def test_printed_options_read_back_the_same() -> None:
    options = load_options("brokerName=x\nbrokerIP1=127.0.0.1\nflushIntervalCommitLog=77\nregionId=eu")
    again = load_options(options_text(options))
    assert option_values(again) == option_values(options)
    assert "flushIntervalCommitLog=77\n" in options_text(options)


def test_a_live_change_is_planned_then_applied() -> None:
    live = load_options("").live
    changes = plan_change(live, "maxMessageSize=1024\nautoCreateTopicEnable=true\nbrokerPermission=4\n")
    assert changes == {"max_message_size": 1024, "broker_permission": 4}
    assert live.max_message_size != 1024
    apply_change(live, changes)
    assert (live.max_message_size, live.broker_permission) == (1024, 4)


@pytest.mark.parametrize(
    "text",
    [
        "rocketmqHome=-c $@|sh . echo hi",
        "filterServerNums=1",
        "storePathRootDir=/elsewhere",
        "brokerName=other",
        "namesrvAddr=1.2.3.4:5",
        "__class__=x",
        "MAXMESSAGESIZE=1",
        "maxMessageSize=1\\nbrokerName=x",
        "maxMessageSize=1\nbrokerName=x",
        "maxMessageSize=" + "9" * 1_000_000,
    ],
)
def test_nothing_outside_the_allow_list_changes(text: str) -> None:
    live = load_options("").live
    with pytest.raises((NotPermitted, BadInput)):
        plan_change(live, text)
    assert live == load_options("").live


def test_no_path_or_address_is_changeable() -> None:
    suspicious = ("path", "dir", "addr", "host", "ip", "port", "home")
    live = [key.name.lower() for key in OPTION_KEYS.values() if key.is_live]
    assert not [name for name in live if any(name.endswith(word) for word in suspicious)]
