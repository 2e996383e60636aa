"""The broker itself as an administrator reads and changes it, over a real socket."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.broker.settings.config_changes import CHANGES_FILE
from engine.protocol.bodies.basics import DataVersion, KVTable
from engine.protocol.bodies.config_text import parse_config
from engine.protocol.bodies.stats import BrokerStatsData
from engine.protocol.codes import RequestCode, ResponseCode
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, eventually
from tests.engine.broker.settings.test_config_changes import ATTACKS

UPDATE = RequestCode.UPDATE_BROKER_CONFIG


async def settings(peer: Peer) -> dict[str, str]:
    answer = await peer.ask(RequestCode.GET_BROKER_CONFIG)
    assert answer.code == 0
    DataVersion.decode(answer.fields["version"].encode())
    return parse_config(bytes(answer.body).decode())


async def test_every_setting_is_shown_sorted(broker: RunningBroker, peer: Peer) -> None:
    answer = await peer.ask(RequestCode.GET_BROKER_CONFIG)
    lines = bytes(answer.body).decode().splitlines()
    assert lines == sorted(lines)
    shown = await settings(peer)
    assert (shown["brokerName"], shown["fileReservedTime"]) == ("broker-a", "72")


async def test_a_changed_setting_is_in_force_and_kept_over_a_restart(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = await start_broker()
    peer = Peer(broker.address)
    body = b"fileReservedTime=48\nmaxMessageSize=1000\n"
    answer = await peer.ask(UPDATE, body=body)
    assert (answer.code, answer.remark) == (0, f"kept in config/{CHANGES_FILE}")
    assert (await settings(peer))["fileReservedTime"] == "48"
    assert broker.inner.core.store.front.rules.file_reserved_time_hours == 48
    assert (await peer.send("orders", b"x" * 1001)).code == ResponseCode.MESSAGE_ILLEGAL
    await peer.close()
    await broker.stop()
    assert "fileReservedTime=48" in (tmp_path / "store" / "config" / CHANGES_FILE).read_text()

    again = await start_broker()
    assert again.inner.options.live.max_message_size == 1000
    assert again.inner.core.store.front.rules.file_reserved_time_hours == 48


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS.keys())
async def test_an_attack_changes_nothing_here_or_on_disk(
    broker: RunningBroker, peer: Peer, tmp_path: Path, text: bytes
) -> None:
    before = await settings(peer)
    answer = await peer.ask(UPDATE, body=text)
    assert answer.code == ResponseCode.NO_PERMISSION
    assert "cannot be changed at run time" in str(answer.remark)
    assert await settings(peer) == before
    file = tmp_path / "store" / "config" / CHANGES_FILE
    assert parse_config(file.read_text()) == {}


@pytest.mark.parametrize("text", [b"", b"maxMessageSize=big", b"maxMessageSize=" + b"9" * 1_000_000])
async def test_bad_values_are_refused_in_words(broker: RunningBroker, peer: Peer, text: bytes) -> None:
    answer = await peer.ask(UPDATE, body=text)
    assert answer.code in (ResponseCode.INVALID_PARAMETER, ResponseCode.SYSTEM_ERROR)
    assert 0 < len(str(answer.remark)) < 1_000


async def test_auto_creation_is_switched_off_and_on_again(broker: RunningBroker, peer: Peer) -> None:
    assert (await peer.ask(UPDATE, body=b"autoCreateTopicEnable=false")).code == 0
    assert (await peer.send("orders")).code == ResponseCode.TOPIC_NOT_EXIST
    assert (await peer.ask(UPDATE, body=b"autoCreateTopicEnable=true")).code == 0
    assert (await peer.send("orders")).code == 0


async def test_a_change_that_cannot_be_written_is_not_in_force(
    broker: RunningBroker, peer: Peer, tmp_path: Path
) -> None:
    config = tmp_path / "store" / "config"
    (config / (CHANGES_FILE + ".tmp")).mkdir()
    answer = await peer.ask(UPDATE, body=b"brokerPermission=4")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert CHANGES_FILE in str(answer.remark)
    assert broker.inner.options.live.broker_permission == 6


async def runtime(peer: Peer) -> dict[str, str]:
    return KVTable.decode((await peer.ask(RequestCode.GET_BROKER_RUNTIME_INFO)).body).table


KEYS = """bootTimestamp runtime putMessageEntireTimeMax putMessageTimesTotal putMessageFailedTimes
putMessageSizeTotal putMessageDistributeTime putMessageAverageSize dispatchMaxBuffer getMessageEntireTimeMax
putTps getFoundTps getMissTps getTotalTps getTransferredTps getTransferedTps putLatency99 putLatency999
commitLogDiskRatio consumeQueueDiskRatio commitLogMinOffset commitLogMaxOffset brokerActive brokerVersionDesc
brokerVersion msgPutTotalYesterdayMorning msgPutTotalTodayMorning msgPutTotalTodayNow
msgGetTotalYesterdayMorning msgGetTotalTodayMorning msgGetTotalTodayNow dispatchBehindBytes
pageCacheLockTimeMills earliestMessageTimeStamp startAcceptSendRequestTimeStamp timerReadBehind
timerOffsetBehind timerCongestNum timerEnqueueTps timerDequeueTps remainTransientStoreBufferNumbs
remainHowManyDataToFlush commitLogDirCapacity EndTransactionQueueSize EndTransactionThreadPoolQueueCapacity
sendThreadPoolQueueSize sendThreadPoolQueueCapacity sendThreadPoolQueueHeadWaitTimeMills
pullThreadPoolQueueSize pullThreadPoolQueueCapacity pullThreadPoolQueueHeadWaitTimeMills"""
TEXTS = {
    "runtime",
    "brokerActive",
    "brokerVersionDesc",
    "putMessageDistributeTime",
    "remainHowManyDataToFlush",
    "remainHowManyDataToCommit",
    "commitLogDirCapacity",
}


async def test_an_empty_broker_tells_everything_as_numbers(broker: RunningBroker, peer: Peer) -> None:
    info = await runtime(peer)
    assert set(KEYS.split()) <= info.keys()
    for name, value in info.items():
        assert value and "nan" not in value.lower(), name
        if name not in TEXTS:
            assert all(re.fullmatch(r"-?\d+(\.\d+)?", token) for token in value.split(" ")), name
    for name in ("putTps", "getFoundTps", "getMissTps", "getTotalTps", "getTransferredTps"):
        assert len(info[name].split(" ")) == 3
    assert 0 <= float(info["commitLogDiskRatio"]) <= 1
    assert info["brokerActive"] == "true"
    assert info["earliestMessageTimeStamp"] == "-1"


async def test_traffic_shows_in_the_runtime_info(broker: RunningBroker, peer: Peer) -> None:
    await peer.send_batch("orders", [b"x"] * 10)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 10)
    await peer.pull("orders", 0)
    info = await runtime(peer)
    assert info["putMessageTimesTotal"] == info["msgPutTotalTodayNow"] == "10"
    assert info["msgGetTotalTodayNow"] == "10"
    assert float(info["putTps"].split()[0]) > 0
    assert float(info["getTransferredTps"].split()[0]) > 0
    assert int(info["commitLogMaxOffset"]) > 0
    assert info["commitLogReadableOffset"] == info["commitLogDispatchedOffset"] == info["commitLogMaxOffset"]
    assert int(info["earliestMessageTimeStamp"]) > 1_600_000_000_000
    assert float(info["putMessageAverageSize"]) > 90


async def test_statistics_of_a_topic_and_a_group(broker: RunningBroker, peer: Peer) -> None:
    await peer.send_batch("orders", [b"x"] * 10)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("orders", 0) == 10)
    await peer.pull("orders", 0, consumer_group="billing")
    code = RequestCode.VIEW_BROKER_STATS_DATA
    for name, key in (
        ("TOPIC_PUT_NUMS", "orders"),
        ("GROUP_GET_NUMS", "orders@billing"),
        ("BROKER_PUT_NUMS", "TestCluster"),
        ("BROKER_GET_NUMS", "TestCluster"),
    ):
        answer = await peer.ask(code, {"statsName": name, "statsKey": key})
        data = BrokerStatsData.decode(answer.body)
        assert (data.stats_minute.sum, data.stats_hour.sum, data.stats_day.sum) == (10, 10, 10), name
        assert data.stats_minute.tps > 0
    for name, key in (("TOPIC_PUT_NUMS", "nothing"), ("NONSENSE", "orders"), ("GROUP_GET_LATENCY", "")):
        refused = await peer.ask(code, {"statsName": name, "statsKey": key})
        assert refused.code == ResponseCode.SYSTEM_ERROR
