"""Timing of appends: what is timed, and what is made of it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.broker.stats.put_times import TIMED, PutTimes, TimedAppends
from engine.protocol._batches_cy import Batch, measure_batch
from engine.protocol._sends_cy import PlainSend
from engine.protocol.batches import BatchItem, encode_batch
from engine.store.results import MessageDraft, PutResult, PutStatus

DRAFT = MessageDraft("t", 0, 0, 0, 0, b"", 0, 0, b"", b"")


class Store:
    puts = 0

    def put(self, draft: MessageDraft, now_ms: int) -> PutResult:
        self.puts += 1
        return PutResult(PutStatus.PUT_OK, commit_log_offset=self.puts)

    def put_batch(self, draft: MessageDraft, batch: Batch, now_ms: int) -> PutResult:
        return PutResult(PutStatus.PUT_OK)

    def put_plain(
        self,
        plain: PlainSend,
        fields: dict[str, str],
        body: bytes,
        opaque: int,
        born_host: bytes,
        now_ms: int,
    ) -> tuple[bytes, int] | None:
        return (b"answer", 100) if fields else None


def clock() -> Iterator[int]:
    """Each pair of looks is 3 ms apart."""
    now_ns = 0
    while True:
        yield now_ns
        now_ns += 3_000_000


def test_every_append_reaches_the_store_and_some_are_timed() -> None:
    times, store, ticks = PutTimes(), Store(), clock()
    appends = TimedAppends(store, times, lambda: next(ticks))
    results = [appends.put(DRAFT, 0).commit_log_offset for _ in range(TIMED * 2)]
    assert results == list(range(1, TIMED * 2 + 1))
    assert times.max_us == 3_000
    assert next(ticks) == TIMED * 2 * 3_000_000


def test_arming_times_again() -> None:
    times, ticks = PutTimes(), clock()
    appends = TimedAppends(Store(), times, lambda: next(ticks))
    for _ in range(TIMED + 5):
        appends.put(DRAFT, 0)
    looks = next(ticks) // 3_000_000
    appends.put(DRAFT, 0)
    assert next(ticks) // 3_000_000 == looks + 1
    appends.arm()
    appends.put(DRAFT, 0)
    assert next(ticks) // 3_000_000 == looks + 4


def test_plain_sends_count_like_other_appends_unless_they_were_not_plain() -> None:
    times, ticks = PutTimes(), clock()
    appends = TimedAppends(Store(), times, lambda: next(ticks))
    plain = PlainSend("t", 1, bytes(8), b"", (b"", b"", b"", b"", b"", b""))
    assert appends.put_plain(plain, {}, b"", 0, bytes(8), 0) is None
    assert times.max_us == 0
    for _ in range(TIMED + 5):
        assert appends.put_plain(plain, {"b": "t"}, b"", 0, bytes(8), 0) == (b"answer", 100)
    looks = next(ticks) // 3_000_000
    assert looks == 1 + 2 * TIMED
    appends.arm()
    appends.put_plain(plain, {"b": "t"}, b"", 0, bytes(8), 0)
    assert next(ticks) // 3_000_000 == looks + 3


def test_batches_are_always_timed() -> None:
    times, ticks = PutTimes(), clock()
    TimedAppends(Store(), times, lambda: next(ticks)).put_batch(
        DRAFT, measure_batch(encode_batch([BatchItem(0, b"", b"")])), 0
    )
    assert times.max_us == 3_000


def test_percentiles_are_right_to_a_factor_of_two() -> None:
    times = PutTimes()
    for _ in range(99):
        times.add(10)
    times.add(50_000)
    assert 0.010 <= times.percentile_ms(0.99) <= 0.020
    assert 50 <= times.percentile_ms(0.999) <= 100
    assert times.max_us == 50_000


def test_without_appends_a_percentile_is_zero() -> None:
    assert PutTimes().percentile_ms(0.99) == 0.0


def test_old_times_are_forgotten_after_two_minutes() -> None:
    times = PutTimes()
    times.add(1_000_000)
    for _ in range(12):
        times.tick()
    assert times.percentile_ms(0.99) == 0.0


EVERY_CLASS = (
    "[<=0ms]:{} [0~10ms]:{} [10~50ms]:{} [50~100ms]:{} [100~200ms]:{} [200~500ms]:{} [500ms~1s]:{} "
    "[1~2s]:{} [2~3s]:{} [3~4s]:{} [4~5s]:{} [5~10s]:{} [10s~]:{} "
)


def test_the_distribution_has_rocketmqs_classes_also_when_empty() -> None:
    assert PutTimes().distribution() == EVERY_CLASS.format(*[0] * 13)


def test_a_time_counts_in_the_class_of_its_whole_milliseconds() -> None:
    times = PutTimes()
    for took_ms in (0, 0.999, 1, 9.999, 10, 50, 100, 200, 500, 999.9, 1000, 2000, 3000, 4000, 5000, 10_000):
        times.add(int(took_ms * 1000))
    assert times.distribution() == EVERY_CLASS.format(2, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1)


def test_the_distribution_forgets_after_two_minutes() -> None:
    times = PutTimes()
    times.add(20_000)
    for _ in range(11):
        times.tick()
        assert "[10~50ms]:1 " in times.distribution()
    times.tick()
    assert times.distribution() == PutTimes().distribution()
