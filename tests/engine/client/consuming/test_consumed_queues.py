"""The window of one queue."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.client.consuming.consumed_queues import LOCK_LEASE_MS, ProcessQueue
from tests.engine.client.records import received


def test_only_the_smallest_unfinished_offset_is_committed() -> None:
    process = ProcessQueue()
    messages = [received(offset) for offset in (10, 11, 12, 13)]
    process.add(messages)
    assert process.finish([messages[2]]) == 10
    assert process.finish([messages[0]]) == 11
    assert process.finish([messages[1]]) == 13
    assert process.finish([messages[3]]) == 14


def test_gaps_left_by_the_filter_do_not_hold_the_commit() -> None:
    process = ProcessQueue()
    messages = [received(5), received(9)]
    process.add(messages)
    assert process.finish([messages[0]]) == 9
    assert process.finish([messages[1]]) == 10


def test_nothing_can_be_committed_before_the_first_message() -> None:
    assert ProcessQueue().finish([]) is None


def test_count_size_and_span_follow_what_is_in_the_window() -> None:
    process = ProcessQueue()
    messages = [received(100, b"abc"), received(150, b"de")]
    process.add(messages)
    assert (process.message_count, process.size_bytes, process.span) == (2, 5, 50)
    assert process.is_full(2, 10**9, 2000)
    assert process.is_full(10, 5, 2000)
    assert process.is_full(10, 10**9, 50)
    assert not process.is_full(3, 6, 51)
    process.finish(messages)
    assert (process.message_count, process.size_bytes, process.span) == (0, 0, 0)


def test_orderly_takes_from_the_front_and_puts_back_in_order() -> None:
    process = ProcessQueue()
    messages = [received(offset) for offset in range(4)]
    process.add(messages, waiting=True)
    assert process.take(3) == messages[:3]
    process.put_back()
    assert process.take(2) == messages[:2]
    assert process.commit_taken() == 2
    assert process.take(9) == messages[2:]
    assert process.commit_taken() == 4
    assert process.take(1) == []


def test_a_lock_is_trusted_for_its_lease_only() -> None:
    process = ProcessQueue()
    assert not process.is_locked(0)
    process.locked_at_ms = 1000
    assert process.is_locked(1000 + LOCK_LEASE_MS - 1)
    assert not process.is_locked(1000 + LOCK_LEASE_MS)


@given(st.permutations(list(range(12))))
def test_in_any_order_the_commit_never_passes_an_unfinished_message(order: list[int]) -> None:
    process = ProcessQueue()
    messages = [received(offset) for offset in range(12)]
    process.add(messages)
    finished: set[int] = set()
    for offset in order:
        finished.add(offset)
        committed = process.finish([messages[offset]])
        assert committed == next(number for number in range(13) if number not in finished)
