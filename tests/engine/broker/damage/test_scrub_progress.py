"""How far a scrub is survives a restart: it goes on where it was, and a round that is over stays over."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from engine.broker.damage import scrub_task
from engine.broker.damage.scrub_task import SCRUB_FILE
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.damage.flips import BODY_AT, flip
from tests.engine.broker.peers import Peer, RunningBroker, eventually

SEGMENT_BYTES = 1 << 20
SETTINGS = {
    "mappedFileSizeCommitLog": str(SEGMENT_BYTES),
    "maxMessageSize": "200000",
    "signalboxScrubBytesPerSecond": "0",
}
"""The task itself rests: the tests take its steps."""


async def filled(start_broker: StartBroker) -> tuple[RunningBroker, list[int]]:
    """A log of five segments, all on disk; where its records lie."""
    broker = await start_broker(**SETTINGS)
    peer = Peer(broker.address)
    for _ in range(45):
        assert (await peer.send("Orders", bytes(100_000))).code == 0
    await peer.close()
    await broker.inner.tasks.log.flusher.bring_to_disk()
    store = broker.inner.core.store
    await eventually(lambda: store.queues.max_offset("Orders", 0) == 45)
    assert store.log.max_offset > 4 * SEGMENT_BYTES
    return broker, [unit.commit_log_offset for unit in store.queues.units("Orders", 0, 0, 45)]


async def scrub_to(broker: RunningBroker, offset: int) -> None:
    scrub = broker.inner.tasks.damage.scrub
    while await scrub.step() and scrub.offset is not None and scrub.offset < offset:
        pass


def found(broker: RunningBroker) -> list[int]:
    return sorted(record.damage.commit_log_offset for record in broker.inner.tasks.damage.records)


async def test_a_scrub_goes_on_in_the_segment_where_it_was(start_broker: StartBroker, tmp_path: Path) -> None:
    broker, places = await filled(start_broker)
    await scrub_to(broker, 2 * SEGMENT_BYTES + 300_000)
    scrub = broker.inner.tasks.damage.scrub
    assert scrub.offset is not None and 2 * SEGMENT_BYTES < scrub.offset < 3 * SEGMENT_BYTES
    started_ms = scrub.round_started_ms
    await broker.stop()
    broker = await start_broker(**SETTINGS)
    scrub = broker.inner.tasks.damage.scrub
    assert (scrub.offset, scrub.round_started_ms) == (2 * SEGMENT_BYTES, started_ms)
    behind, ahead = places[3], places[25]
    assert behind < SEGMENT_BYTES and 2 * SEGMENT_BYTES < ahead < 3 * SEGMENT_BYTES
    for place in (behind, ahead):
        flip(tmp_path / "store", place + BODY_AT, SEGMENT_BYTES)
    await scrub_to(broker, 1 << 60)
    assert (scrub.offset, scrub.rounds, scrub.round_started_ms) == (None, 1, started_ms)
    assert found(broker) == [ahead]
    scrub.round_started_ms = 0
    await scrub_to(broker, 1 << 60)
    assert (scrub.rounds, found(broker)) == (2, [behind, ahead])


async def test_a_round_that_is_over_is_not_begun_again_by_a_restart(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker, _ = await filled(start_broker)
    await scrub_to(broker, 1 << 60)
    started_ms = broker.inner.tasks.damage.scrub.round_started_ms
    await broker.stop()
    broker = await start_broker(**SETTINGS)
    scrub = broker.inner.tasks.damage.scrub
    assert await scrub.step() == 0 and scrub.offset is None and scrub.byte_count == 0
    day_ms = broker.inner.options.live.signalbox_scrub_interval_seconds * 1000
    monkeypatch.setattr(scrub, "now_ms", lambda: started_ms + day_ms)
    assert await scrub.step() > 0 and scrub.offset is not None


async def test_progress_is_on_disk_every_minute(
    start_broker: StartBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a crash leaves behind is at most a minute old."""
    broker, _ = await filled(start_broker)
    scrub, clock_ms = broker.inner.tasks.damage.scrub, [2_000_000_000_000]
    monkeypatch.setattr(scrub, "now_ms", lambda: clock_ms[0])
    monkeypatch.setattr(scrub_task, "SLICE_BYTES", 300_000)
    path = tmp_path / "store" / "config" / SCRUB_FILE

    def on_disk() -> int:
        offset: int = orjson.loads(path.read_bytes())["offset"]
        return offset

    await scrub.step()
    first = scrub.offset
    await eventually(lambda: on_disk() == first)
    clock_ms[0] += 60_000
    await scrub.step()
    clock_ms[0] += 1
    await scrub.step()
    await eventually(lambda: on_disk() == scrub.offset)
    assert first is not None and on_disk() > first


@pytest.mark.parametrize(
    "content", [b"", b"7", b"[]", b'{"offset":"x"}', b'{"offset":1}', b'{"offset":-1,"roundStartedMs":"y"}']
)
async def test_progress_that_cannot_be_read_begins_a_new_round(
    start_broker: StartBroker, tmp_path: Path, content: bytes
) -> None:
    broker = await start_broker(**SETTINGS)
    await broker.stop()
    for path in (tmp_path / "store" / "config").glob(f"{SCRUB_FILE}*"):
        path.write_bytes(content)
    broker = await start_broker(**SETTINGS)
    assert (broker.inner.tasks.damage.scrub.offset, broker.inner.tasks.damage.scrub.round_started_ms) == (
        None,
        0,
    )


async def test_progress_behind_the_end_of_the_log_is_corrected(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    """Retention took the segment, or the log was cut."""
    broker, _ = await filled(start_broker)
    await broker.stop()
    path = tmp_path / "store" / "config" / SCRUB_FILE
    path.write_bytes(orjson.dumps({"offset": 1 << 40, "roundStartedMs": 1}))
    broker = await start_broker(**SETTINGS)
    scrub = broker.inner.tasks.damage.scrub
    assert scrub.offset == 0
    await scrub_to(broker, 1 << 60)
    assert (scrub.offset, scrub.rounds) == (None, 1)
    assert scrub.byte_count >= broker.inner.core.store.log.max_offset
