from __future__ import annotations

from dataclasses import replace

from tests.crash.checker.events import DRAIN
from tests.crash.checker.phantom import check_phantom
from tests.crash.checker.stories import mark, read, sent


def test_reading_what_was_sent_is_fine_whatever_line_came_first() -> None:
    assert (
        check_phantom([read("a", 0, 0), sent("a", 0, 0), sent("a", 1, status="info"), read("a", 1, 1)]) == []
    )


def test_a_value_that_nobody_sent_is_caught() -> None:
    (violation,) = check_phantom([sent("a", 0, 0), read("a", 0, 0), read("z", 9, 1)])
    assert "never sent" in violation.text


def test_a_refused_send_that_is_read_is_caught() -> None:
    (violation,) = check_phantom([sent("a", 0, status="fail"), read("a", 0, 0)])
    assert "refused" in violation.text


def test_a_damaged_body_is_caught() -> None:
    (violation,) = check_phantom([sent("a", 0, 0), replace(read("a", 0, 0), value=None)])
    assert "damaged" in violation.text


def test_a_message_read_before_the_crash_and_gone_after_it_is_caught() -> None:
    seen = [sent("a", 0, status="info"), read("a", 0, 0), mark(DRAIN)]
    (violation,) = check_phantom(seen)
    assert "after the crash" in violation.text
    assert check_phantom([*seen, read("a", 0, 0)]) == []


def test_each_drain_must_bring_what_any_earlier_reader_saw() -> None:
    events = [sent("a", 0, 0), read("a", 0, 0), mark(DRAIN), read("a", 0, 0), mark(DRAIN)]
    assert len(check_phantom(events)) == 1
