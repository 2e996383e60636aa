"""Statistics over a clock that the test turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.broker.stats import broker_stats as stats_module
from engine.broker.stats.broker_stats import BrokerStats, Track
from engine.broker.stats.traffic import Traffic
from engine.protocol.bodies.stats import BrokerStatsItem
from engine.store.results import StoreStats

TICK_MS = 10_000
MINUTE_MS = 60_000


def fed(interval_ms: int, span_ms: int, steps: list[int]) -> tuple[Track, int, int]:
    """A track that saw a counter grow by each step at each tick; the track, the time, the counter."""
    track, now_ms, value = Track(interval_ms, span_ms, 0, (0,)), 0, 0
    for step in steps:
        previous_ms, now_ms, value = now_ms, now_ms + TICK_MS, value + step
        track.note(now_ms, previous_ms, (value,))
    return track, now_ms, value


def test_growth_counts_only_the_window() -> None:
    track, now_ms, value = fed(0, MINUTE_MS, [5] * 30)
    assert track.growth(now_ms, MINUTE_MS, (value,)) == (30,)


def test_what_came_since_the_last_note_counts_too() -> None:
    track, now_ms, value = fed(0, MINUTE_MS, [0] * 30)
    assert track.growth(now_ms + 3_000, MINUTE_MS, (value + 7,)) == (7,)


def test_a_quiet_time_before_a_burst_is_not_smeared_over() -> None:
    track, now_ms, value = fed(600_000, 3_600_000, [0] * 1_000 + [60])
    assert track.growth(now_ms, 3_600_000, (value,)) == (60,)
    assert track.growth(now_ms + 3_700_000, 3_600_000, (value,)) == (0,)


def test_a_track_younger_than_its_window_counts_from_its_beginning() -> None:
    track, now_ms, value = fed(0, MINUTE_MS, [4, 4])
    assert track.growth(now_ms, MINUTE_MS, (value,)) == (8,)
    assert track.covered_ms(now_ms, MINUTE_MS) == 20_000


def test_a_window_is_never_empty_of_time() -> None:
    assert Track(0, MINUTE_MS, 5, (0,)).covered_ms(5, MINUTE_MS) == 1


def test_a_clock_that_jumps_back_breaks_nothing() -> None:
    track, now_ms, value = fed(0, MINUTE_MS, [1] * 10)
    track.note(now_ms - 50_000, now_ms, (value + 5,))
    assert track.growth(now_ms - 50_000, MINUTE_MS, (value + 5,))[0] >= 0


@given(st.lists(st.integers(0, 1_000), max_size=400))
def test_memory_is_bounded_and_growth_never_exceeds_the_total(steps: list[int]) -> None:
    track, now_ms, value = fed(600_000, 3_600_000, steps)
    grown = track.growth(now_ms, 3_600_000, (value,))[0]
    assert 0 <= grown <= value
    assert sum(steps[-300:]) <= grown <= sum(steps[-425:])
    assert len(track._rows) // 2 <= 16


START_MS = 1_000_000
TICK_MS = 10_000
DAY_MS = 86_400_000


class Clocked:
    def __init__(self) -> None:
        self.traffic = Traffic()
        self.store = StoreStats()
        self.now_ms = START_MS
        self.stats = BrokerStats(
            "cluster", self.traffic, self.store, START_MS, day_of=lambda now_ms: now_ms // DAY_MS
        )

    def tick(self, times: int = 1) -> None:
        for _ in range(times):
            self.now_ms += TICK_MS
            for _ in self.stats.tick(self.now_ms):
                """All slices."""

    def put(self, topic: str, messages: int, size_bytes: int = 0) -> None:
        self.traffic.put(topic, messages, size_bytes)
        self.store.put_count += messages


@pytest.fixture
def clocked() -> Clocked:
    return Clocked()


def test_puts_of_a_topic_are_summed_and_divided(clocked: Clocked) -> None:
    for _ in range(12):
        clocked.put("orders", 50, 5_000)
        clocked.tick()
    nums = clocked.stats.view("TOPIC_PUT_NUMS", "orders", clocked.now_ms)
    size = clocked.stats.view("TOPIC_PUT_SIZE", "orders", clocked.now_ms)
    assert nums is not None and size is not None
    assert nums.stats_minute == BrokerStatsItem(300, 5.0, 50.0)
    assert nums.stats_hour == BrokerStatsItem(600, 5.0, 50.0)
    assert size.stats_minute.sum == 30_000


def test_a_topic_is_seen_before_the_first_tick(clocked: Clocked) -> None:
    clocked.put("orders", 3)
    data = clocked.stats.view("TOPIC_PUT_NUMS", "orders", clocked.now_ms + 1_000)
    assert data is not None and data.stats_minute == BrokerStatsItem(3, 3.0, 3.0)


def test_what_groups_sent_back_goes_by_first_topic_and_group(clocked: Clocked) -> None:
    clocked.traffic.sent_back("orders", "billing", 100)
    clocked.tick()
    data = clocked.stats.view("SNDBCK_PUT_NUMS", "orders@billing", clocked.now_ms)
    assert data is not None and data.stats_minute.sum == 1
    clocked.traffic.forget_group("billing")
    assert clocked.stats.view("SNDBCK_PUT_NUMS", "orders@billing", clocked.now_ms) is None


def test_gets_go_by_topic_and_group(clocked: Clocked) -> None:
    clocked.traffic.got("orders", "billing", 8, 800)
    clocked.tick()
    data = clocked.stats.view("GROUP_GET_NUMS", "orders@billing", clocked.now_ms)
    assert data is not None and data.stats_minute.sum == 8
    assert clocked.stats.view("GROUP_GET_NUMS", "orders@other", clocked.now_ms) is None
    assert clocked.stats.get_rate("orders", "billing", clocked.now_ms) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("TOPIC_PUT_NUMS", "unknown"),
        ("NO_SUCH_STATS", "orders"),
        ("BROKER_PUT_NUMS", "other-cluster"),
        ("SNDBCK_PUT_NUMS", "orders@billing"),
        ("GROUP_ACK_NUMS", "orders@billing"),
        ("GROUP_CK_NUMS", "orders@billing"),
    ],
)
def test_what_was_never_counted_is_no_item(clocked: Clocked, name: str, key: str) -> None:
    clocked.put("orders", 1)
    clocked.tick()
    assert clocked.stats.view(name, key, clocked.now_ms) is None


def test_the_whole_broker_goes_by_its_cluster(clocked: Clocked) -> None:
    clocked.put("orders", 10)
    clocked.put("bills", 20)
    clocked.tick()
    data = clocked.stats.view("BROKER_PUT_NUMS", "cluster", clocked.now_ms)
    assert data is not None and data.stats_minute.sum == 30


def test_rates_have_three_windows(clocked: Clocked) -> None:
    clocked.tick(60)
    for _ in range(6):
        clocked.put("orders", 100)
        clocked.tick()
    assert clocked.stats.rates(clocked.now_ms, 10).put == pytest.approx(10.0)
    assert clocked.stats.rates(clocked.now_ms, 60).put == pytest.approx(10.0)
    assert clocked.stats.rates(clocked.now_ms, 600).put == pytest.approx(1.0)


def test_a_deleted_topic_is_forgotten(clocked: Clocked) -> None:
    clocked.put("orders", 1)
    clocked.tick()
    clocked.traffic.forget_topic("orders")
    clocked.tick()
    assert clocked.stats.view("TOPIC_PUT_NUMS", "orders", clocked.now_ms) is None
    assert clocked.stats.put_rate("orders", clocked.now_ms) == 0.0


def test_mornings_are_marked_when_the_day_changes(clocked: Clocked) -> None:
    clocked.put("orders", 5)
    clocked.now_ms = DAY_MS
    clocked.tick()
    clocked.put("orders", 2)
    assert clocked.stats.today_morning.put == 5
    clocked.now_ms = 2 * DAY_MS
    clocked.tick()
    assert (clocked.stats.yesterday_morning.put, clocked.stats.today_morning.put) == (5, 7)


def test_there_is_room_for_so_many_items_and_the_rest_is_unknown(
    clocked: Clocked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats_module, "MAX_ITEMS", 2)
    for topic in ("a", "b", "c"):
        clocked.put(topic, 1)
    clocked.tick(2)
    views = [clocked.stats.view("TOPIC_PUT_NUMS", topic, clocked.now_ms) for topic in ("a", "b", "c")]
    assert [view is not None for view in views] == [True, True, False]


def test_a_tick_over_many_items_lets_others_run_between(clocked: Clocked) -> None:
    for number in range(1_000):
        clocked.put(f"topic-{number}", 1)
    slices = sum(1 for _ in clocked.stats.tick(clocked.now_ms + TICK_MS))
    assert slices == 1_000 // stats_module.SLICE
