"""A broker without a group meets damaged records: what lies around them is delivered, they are skipped and
listed, and delivered after all once they are whole again."""

from __future__ import annotations

import asyncio
import logging
import re
import urllib.request
from pathlib import Path
from typing import Any

import orjson
import pytest

from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.records import Record
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.damage.flips import BODY_AT, flip, retry
from tests.engine.broker.peers import Peer, RunningBroker, eventually, records

COUNT = 10
FILLER_BYTES = 1 << 20
VICTIM = 4


async def send_all(peer: Peer, *, is_old: bool) -> None:
    """Ten messages; `is_old`: with so much behind them that a start does not look at them."""
    for number in range(COUNT):
        properties = {
            "UNIQ_KEY": f"U{number}",
            "KEYS": f"k{number}",
            "TAGS": "even" if number % 2 == 0 else "odd",
        }
        assert (await peer.send("Orders", b"message %02d" % number, properties=properties)).code == 0
    for _ in range(18 if is_old else 0):
        assert (await peer.send("Filler", b"x" * FILLER_BYTES)).code == 0


async def stored(peer: Peer) -> list[Record]:
    return records(await peer.pull("Orders", 0))


async def damaged_broker(
    start_broker: StartBroker, tmp_path: Path, *, is_old: bool, at: int = BODY_AT
) -> tuple[RunningBroker, Peer, Record]:
    broker = await start_broker()
    peer = Peer(broker.address)
    await send_all(peer, is_old=is_old)
    victim = (await stored(peer))[VICTIM]
    await peer.close()
    await broker.stop()
    flip(tmp_path / "store", victim.commit_log_offset + at)
    broker = await start_broker(metricsExporterType="PROM", metricsPromExporterPort="0")
    return broker, Peer(broker.address), victim


async def pull_all(peer: Peer, **changes: Any) -> tuple[list[int], list[str]]:
    """Queue offsets as a client gets them that goes on with every answer's next offset; and the remarks."""
    offset, found, remarks = 0, [], []
    for _ in range(4 * COUNT):
        answer = await peer.pull("Orders", offset, **changes)
        if answer.code == ResponseCode.PULL_NOT_FOUND:
            return found, remarks
        assert answer.code in (ResponseCode.SUCCESS, ResponseCode.PULL_RETRY_IMMEDIATELY), answer
        found += [record.queue_offset for record in records(answer)]
        if answer.code:
            remarks.append(answer.remark or "")
        offset = int(answer.fields["nextBeginOffset"])
    raise AssertionError(f"never at the end: {found} {remarks}")


async def listed(peer: Peer, group: str | None = None) -> list[dict[str, Any]]:
    fields = {} if group is None else {"group": group}
    answer = await peer.ask(RequestCode.SIGNALBOX_DAMAGED_RECORDS, fields)
    rows: list[dict[str, Any]] = orjson.loads(answer.body)["records"]
    return rows


async def damage_section(peer: Peer) -> Any:
    return orjson.loads((await peer.ask(RequestCode.SIGNALBOX_COLLECTOR_SNAPSHOT)).body).get("damage")


FIELDS = {"body": BODY_AT, "size": 0, "magic": 4}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("is_old", [True, False], ids=["old", "hot"])
async def test_a_flipped_byte_costs_its_own_message_only(
    start_broker: StartBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture, field: str, is_old: bool
) -> None:
    caplog.set_level(logging.WARNING)
    broker, peer, victim = await damaged_broker(start_broker, tmp_path, is_old=is_old, at=FIELDS[field])
    others = [number for number in range(COUNT) if number != VICTIM]
    found, remarks = await pull_all(peer)
    assert found == others
    (remark,) = remarks
    assert f"commit-log offset {victim.commit_log_offset}" in remark
    assert str(tmp_path) not in remark and "/" not in remark
    assert await pull_all(peer, consumer_group="others") == (others, [remark])
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    where = f"commit-log offset {victim.commit_log_offset} in 00000000000000000000"
    assert [line for line in warnings if where in line and "group consumers skips" in line]
    (row,) = await listed(peer, "others")
    assert (row["topic"], row["queueId"], row["queueOffset"]) == ("Orders", 0, VICTIM)
    assert (row["offset"], row["size"]) == (victim.commit_log_offset, victim.size)
    assert list(row["skips"]) == ["others"]
    assert await listed(peer, "nobody") == []
    assert len(await listed(peer)) == 1
    section = await damage_section(peer)
    assert (section["skipped"], section["repaired"], section["last"]["outcome"]) == (1, 0, "skipped")
    assert section["last"]["file"] == "00000000000000000000"
    metrics = await asyncio.to_thread(read_metrics, broker)
    assert re.search(r'signalbox_damaged_records_total\{.*outcome="skipped".*\} 2\.0', metrics)
    assert re.search(r"signalbox_damaged_records_known\{.*\} 1\.0", metrics)
    await peer.close()


def read_metrics(broker: RunningBroker) -> str:
    with urllib.request.urlopen(
        f"http://127.0.0.1:{broker.inner.net.metrics.port}/metrics", timeout=10
    ) as answer:
        text: str = answer.read().decode()
        return text


@pytest.mark.parametrize("is_old", [True, False], ids=["old", "hot"])
async def test_a_filter_that_does_not_want_it_does_not_meet_it(
    start_broker: StartBroker, tmp_path: Path, is_old: bool
) -> None:
    _, peer, _ = await damaged_broker(start_broker, tmp_path, is_old=is_old)
    assert await pull_all(peer, subscription="odd", consumer_group="odds") == ([1, 3, 5, 7, 9], [])
    found, remarks = await pull_all(peer, subscription="even", consumer_group="evens")
    assert (found, len(remarks)) == ([0, 2, 6, 8], 1)
    await peer.close()


async def test_a_skipped_message_is_redelivered_once_it_is_whole_again(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker, peer, victim = await damaged_broker(start_broker, tmp_path, is_old=True)
    await pull_all(peer)
    flip(tmp_path / "store", victim.commit_log_offset + BODY_AT)
    await retry(broker.inner.tasks.damage.repairs)
    await eventually(lambda: broker.inner.core.store.queues.max_offset("%RETRY%consumers", 0) == 1)
    (again,) = records(await peer.pull("%RETRY%consumers", 0))
    assert (again.body, again.properties["RETRY_TOPIC"]) == (b"message %02d" % VICTIM, "Orders")
    assert again.reconsume_times == 0
    # A power cut may still take the copy back: it is noted once it is on disk, and not given twice meanwhile.
    await retry(broker.inner.tasks.damage.repairs)
    assert broker.inner.core.store.queues.max_offset("%RETRY%consumers", 0) == 1
    await broker.inner.tasks.log.flusher.bring_to_disk()
    await retry(broker.inner.tasks.damage.repairs)
    (row,) = await listed(peer, "consumers")
    assert row["repairedMs"] > 0 and row["skips"]["consumers"]["redeliveredMs"] > 0
    section = await damage_section(peer)
    assert (section["skipped"], section["repaired"], section["last"]["outcome"]) == (0, 1, "repaired")
    await retry(broker.inner.tasks.damage.repairs)
    assert broker.inner.core.store.queues.max_offset("%RETRY%consumers", 0) == 1
    assert (await pull_all(peer, consumer_group="later"))[0] == list(range(COUNT))
    await peer.close()


async def test_the_list_survives_a_restart(start_broker: StartBroker, tmp_path: Path) -> None:
    broker, peer, _ = await damaged_broker(start_broker, tmp_path, is_old=True)
    await pull_all(peer)
    before = await listed(peer)
    await peer.close()
    await broker.stop()
    broker = await start_broker()
    peer = Peer(broker.address)
    assert await listed(peer) == before
    await pull_all(peer)
    assert await listed(peer) == before
    await peer.close()


@pytest.mark.parametrize("is_old", [True, False], ids=["old", "hot"])
async def test_pops_go_on_behind_it(start_broker: StartBroker, tmp_path: Path, is_old: bool) -> None:
    broker, peer, victim = await damaged_broker(start_broker, tmp_path, is_old=is_old)
    popped: list[int] = []
    for _ in range(COUNT):
        answer = await peer.ask(RequestCode.POP_MESSAGE, pop_fields())
        popped += [record.queue_offset for record in records(answer)]
    assert popped == [number for number in range(COUNT) if number != VICTIM]
    (row,) = await listed(peer, "poppers")
    assert row["skips"]["poppers"]["way"] == "pop"
    flip(tmp_path / "store", victim.commit_log_offset + BODY_AT)
    await retry(broker.inner.tasks.damage.repairs)
    await eventually(
        lambda: any("poppers" in topic for topic in broker.inner.core.store.queues.ids_by_topic())
    )
    answer = await peer.ask(RequestCode.POP_MESSAGE, pop_fields())
    assert [record.body for record in records(answer)] == [b"message %02d" % VICTIM]
    await peer.close()


def pop_fields() -> dict[str, str]:
    return {
        "consumerGroup": "poppers",
        "topic": "Orders",
        "queueId": "0",
        "maxMsgNums": "4",
        "invisibleTime": "60000",
        "pollTime": "0",
        "bornTime": "0",
        "initMode": "0",
    }


async def test_queries_find_the_others(start_broker: StartBroker, tmp_path: Path) -> None:
    _, peer, victim = await damaged_broker(start_broker, tmp_path, is_old=True)
    for number in range(COUNT):
        fields = {"topic": "Orders", "key": f"k{number}", "maxNum": "8", "beginTimestamp": "0"}
        answer = await peer.ask(RequestCode.QUERY_MESSAGE, {**fields, "endTimestamp": str(1 << 62)})
        wanted = [] if number == VICTIM else [number]
        assert [record.queue_offset for record in records(answer)] == wanted
    answer = await peer.ask(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(victim.commit_log_offset)})
    assert answer.code != 0 and str(victim.commit_log_offset) in (answer.remark or "")
    await peer.close()


async def test_a_scrub_finds_it_first(start_broker: StartBroker, tmp_path: Path) -> None:
    broker = await start_broker(signalboxScrubBytesPerSecond=str(1 << 30), signalboxScrubIntervalSeconds="1")
    peer = Peer(broker.address)
    await send_all(peer, is_old=False)
    victim = (await stored(peer))[VICTIM]
    await broker.inner.tasks.log.flusher.bring_to_disk()
    await eventually(lambda: broker.inner.tasks.damage.scrub.rounds > 0, 10)
    flip(tmp_path / "store", victim.commit_log_offset + BODY_AT)
    await eventually(lambda: len(broker.inner.tasks.damage.records) > 0, 10)
    (row,) = await listed(peer)
    assert (row["topic"], row["queueOffset"], row["skips"]) == ("Orders", VICTIM, {})
    assert (await pull_all(peer))[0] == [number for number in range(COUNT) if number != VICTIM]
    assert broker.inner.tasks.damage.scrub.byte_count > 0
    await peer.close()


async def test_a_queue_whose_unit_is_damaged_is_mended_at_once(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = await start_broker()
    peer = Peer(broker.address)
    await send_all(peer, is_old=True)
    await peer.close()
    await broker.stop()
    path = tmp_path / "store" / "consumequeue" / "Orders" / "0" / "00000000000000000000"
    data = bytearray(path.read_bytes())
    data[VICTIM * 20 + 7] ^= 0xFF
    path.write_bytes(data)
    broker = await start_broker()
    peer = Peer(broker.address)
    assert await pull_all(peer) == (list(range(COUNT)), [])
    assert await listed(peer) == []
    await peer.close()
