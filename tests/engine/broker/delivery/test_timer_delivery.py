"""Timers on a real store with a clock of our own: set back, a store that refuses, reads that fail."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.broker.damage.damaged_reads_io import DamagedDeliveries
from engine.broker.damage.damaged_records import DamagedRecords
from engine.broker.damage.repair_task import RepairTask
from engine.broker.delivery.deliverer_io import Deliverer
from engine.broker.delivery.parked_messages import Parking
from engine.broker.delivery.timed_messages import TimerCounts
from engine.broker.delivery.timer_task import TimerDelivery
from engine.broker.settings.options import LiveOptions
from engine.broker.stats.traffic import Traffic
from engine.protocol.names import TIMER_TOPIC
from engine.protocol.properties import encode_properties
from engine.store.message_store import MessageStore
from engine.store.options import StoreOptions
from engine.store.recovery.record_repair import LogRange
from engine.store.results import MessageDraft, PutResult, PutStatus
from engine.store.timers.timer_store import TimerStore
from tests.engine.broker.damage.flips import BODY_AT, flip

START = 1_700_000_000_000
SEGMENT_BYTES = 1 << 20


async def _nobody_has_it(place: LogRange) -> tuple[bytes, bool]:
    return b"", True


async def _saved(file: str) -> OSError | None:
    return None


async def _nothing_is_owed() -> bool:
    return True


class Rig:
    def __init__(self, root: Path, threads: ThreadPoolExecutor) -> None:
        self.now_ms = START
        self.root = root
        options = StoreOptions(
            root, mapped_file_size_commit_log=SEGMENT_BYTES, max_hash_slot_num=100, max_index_num=400
        )
        self.store = MessageStore.open(options, self.now_ms)
        self.timers = TimerStore(root, 4096)
        self.timers.open(self.now_ms, was_closed=True)
        self._parking = Parking("a", 18, LiveOptions(), has_timers=True)
        self.damaged = DamagedRecords()
        repairs = RepairTask(
            self.store.log,
            self.store.repairs,
            self.damaged,
            threads,
            fetch=_nobody_has_it,
            save=lambda file: None,
            wake=lambda key: None,
            redeliver=_nothing_is_owed,
            now_ms=lambda: self.now_ms,
        )
        deliveries = DamagedDeliveries(
            self.store.log,
            self.store.repairs,
            self.damaged,
            repairs,
            threads,
            saved=_saved,
            now_ms=lambda: self.now_ms,
        )
        self.deliverer = Deliverer(
            self.store.log,
            self.store.search,
            Traffic(),
            threads,
            0,
            appended=self.dispatch,
            damaged=deliveries,
        )
        self.delivery = TimerDelivery(
            self.store.log,
            self.store.queues,
            self.store.search,
            self.store.replica,
            self.store.repairs,
            self.timers,
            self.deliverer,
            TimerCounts(),
            threads,
            172_800_000,
            now_ms=lambda: self.now_ms,
        )

    def send(self, key: str, deliver_ms: int) -> None:
        text = encode_properties({"UNIQ_KEY": key, "TIMER_DELIVER_MS": str(deliver_ms)}).encode()
        draft = MessageDraft("orders", 0, 0, 0, self.now_ms, bytes(8), 0, 0, key.encode(), text)
        assert (
            self.store.log.put(self._parking.plan(draft, self.now_ms), self.now_ms).status is PutStatus.PUT_OK
        )

    async def pass_to(self, now_ms: int) -> list[bytes]:
        """One round at this time; everything that the topic holds then."""
        self.now_ms = now_ms
        self.dispatch()
        await self.delivery._round()
        self.dispatch()
        units = self.store.queues.units("orders", 0, 0, 100)
        records = [self.store.log.record_at(unit.commit_log_offset) for unit in units]
        return [record.body for record in records if record is not None]

    def place_of(self, number: int) -> int:
        return self.store.queues.units(TIMER_TOPIC, 0, number, 1)[0].commit_log_offset

    def flip(self, commit_log_offset: int) -> None:
        """As a disk might: whoever reads the segment from now on sees it."""
        flip(self.root, commit_log_offset, SEGMENT_BYTES)

    def dispatch(self) -> None:
        while self.store.queues.has_undispatched():
            self.store.queues.dispatch(100)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with ThreadPoolExecutor(1) as threads:
        rig = Rig(tmp_path, threads)
        yield rig
        rig.timers.close()
        rig.store.close(rig.now_ms)


async def test_each_message_comes_at_its_millisecond(rig: Rig) -> None:
    rig.send("b", START + 2_700)
    rig.send("a", START + 2_300)
    assert await rig.pass_to(START + 2_299) == []
    assert await rig.pass_to(START + 2_300) == [b"a"]
    assert await rig.pass_to(START + 2_699) == [b"a"]
    assert await rig.pass_to(START + 2_700) == [b"a", b"b"]


async def test_after_the_clock_was_set_back_nothing_is_early_and_nothing_comes_twice(rig: Rig) -> None:
    rig.send("a", START + 60_000)
    rig.send("half", START + 60_400)
    rig.send("later", START + 60_900)
    assert await rig.pass_to(START + 60_500) == [b"a", b"half"]
    rig.now_ms = START + 10_000
    rig.send("new", START + 20_500)
    assert await rig.pass_to(START + 10_000) == [b"a", b"half"]
    assert await rig.pass_to(START + 20_499) == [b"a", b"half"]
    assert await rig.pass_to(START + 20_500) == [b"a", b"half", b"new"]
    assert await rig.pass_to(START + 62_000) == [b"a", b"half", b"new", b"later"]


async def test_what_the_store_refuses_is_tried_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        rig.send(str(number), START + 1_500)
    put, refusals = rig.store.log.put, [1]

    def refuse_second(draft: MessageDraft, now_ms: int) -> PutResult:
        if draft.body == b"1" and refusals:
            refusals.pop()
            return PutResult(PutStatus.DISK_FULL)
        return put(draft, now_ms)

    monkeypatch.setattr(rig.store.log, "put", refuse_second)
    monkeypatch.setattr("engine.broker.delivery.timer_task._RETRY_S", 0)
    assert await rig.pass_to(START + 1_500) == [b"0", b"1", b"2"]


async def test_what_cannot_be_read_for_a_moment_is_not_lost(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.send("a", START + 1_500)
    assert await rig.pass_to(START + 100) == []

    async def fail(places: object) -> list[bytes | None]:
        raise OSError("too many open files")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="too many"):
        patched.setattr(rig.deliverer, "read", fail)
        await rig.pass_to(START + 1_500)
    assert await rig.pass_to(START + 9_000) == [b"a"]


def skips(rig: Rig) -> dict[int, list[str]]:
    """Who skipped the records at these commit-log offsets."""
    return {record.damage.commit_log_offset: list(record.skips) for record in rig.damaged}


async def test_a_damaged_body_waits_on_the_wheel_for_its_repair(rig: Rig) -> None:
    """All but its body is sound: its time is known, and it may be whole by then."""
    rig.send("a", START + 5_000)
    rig.send("b", START + 5_500)
    rig.dispatch()
    rig.flip(rig.place_of(0) + BODY_AT)
    assert await rig.pass_to(START + 100) == []
    assert skips(rig) == {rig.place_of(0): []}
    rig.flip(rig.place_of(0) + BODY_AT)
    assert await rig.pass_to(START + 5_600) == [b"a", b"b"]
    assert skips(rig) == {rig.place_of(0): []}


async def test_a_body_that_is_damaged_when_its_time_has_come_is_never_delivered(rig: Rig) -> None:
    rig.send("a", START + 1_500)
    rig.send("b", START + 1_500)
    rig.dispatch()
    rig.flip(rig.place_of(0) + BODY_AT)
    # It is put on the wheel and due at once: the broker was away meanwhile.
    assert await rig.pass_to(START + 9_000) == [b"b"]
    assert skips(rig) == {rig.place_of(0): ["%DELIVERY%orders"]}


async def test_a_message_that_does_not_say_its_time_is_listed_at_once(rig: Rig) -> None:
    rig.send("a", START + 5_000)
    rig.send("b", START + 5_000)
    rig.dispatch()
    rig.flip(rig.place_of(0))
    assert await rig.pass_to(START + 100) == []
    assert skips(rig) == {rig.place_of(0): ["%DELIVERY%"]}
    assert await rig.pass_to(START + 6_000) == [b"b"]
    assert skips(rig) == {rig.place_of(0): ["%DELIVERY%"]}


async def test_what_another_master_delivered_is_not_listed(rig: Rig) -> None:
    """A promoted slave reads the whole timer queue again."""
    rig.send("a", START + 1_000)
    rig.send("b", START + 8_000)
    rig.dispatch()
    rig.flip(rig.place_of(0) + BODY_AT)
    rig.timers.follow(START + 5_000)
    assert await rig.pass_to(START + 9_000) == [b"b"]
    assert skips(rig) == {rig.place_of(0): []}


async def test_a_timer_queue_that_leads_elsewhere_is_mended(rig: Rig, tmp_path: Path) -> None:
    rig.send("a", START + 1_000)
    rig.send("b", START + 1_500)
    rig.dispatch()
    path = tmp_path / "consumequeue" / TIMER_TOPIC / "0" / "00000000000000000000"
    with open(path, "r+b") as file:
        file.seek(20 + 6)
        file.write(b"\x7f")
    await rig.pass_to(START + 100)
    assert await rig.pass_to(START + 2_000) == [b"a", b"b"]
    assert skips(rig) == {}
