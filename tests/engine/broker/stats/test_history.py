"""What a track remembers of counters, with a clock that the test turns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.broker.stats.history import Track

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
