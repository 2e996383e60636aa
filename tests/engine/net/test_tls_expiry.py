"""A certificate that ends soon is told 30, 7 and 1 days ahead, once a day, and again when it was replaced."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from engine.net.tls import (
    DAY_MS,
    ExpiryWatch,
    ServerFiles,
    ServerTls,
    TlsMode,
    current_notice,
    read_not_after_ms,
)
from tests.certificates import Authority

END_MS = 1_800_000_000_000
HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("left_ms", "threshold"),
    [
        (30 * DAY_MS + 1, None),
        (30 * DAY_MS, 30),
        (7 * DAY_MS + 1, 30),
        (7 * DAY_MS, 7),
        (DAY_MS, 1),
        (1, 1),
        (0, 0),
        (-400 * DAY_MS, 0),
    ],
)
def test_thresholds(left_ms: int, threshold: int | None) -> None:
    notice = current_notice(END_MS, END_MS - left_ms)
    assert (None if notice is None else notice.threshold_days) == threshold


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.message for r in caplog.records if "certificate" in r.message and r.levelno == logging.WARNING]


def test_it_is_said_once_a_day_and_at_each_threshold(caplog: pytest.LogCaptureFixture) -> None:
    watch = ExpiryWatch()
    hours = range(int((END_MS - 40 * DAY_MS) / HOUR_MS), int((END_MS + 2 * DAY_MS) / HOUR_MS))
    for hour in hours:
        watch.look(END_MS, hour * HOUR_MS)
        watch.look(END_MS, hour * HOUR_MS)
    said = warnings(caplog)
    days = len({hour * HOUR_MS // DAY_MS for hour in hours if END_MS - hour * HOUR_MS <= 30 * DAY_MS})
    # Two thresholds may be passed on one day, each is said.
    assert days <= len(said) <= days + 3
    assert "in less than 30 days" in said[0] and "expired on" in said[-1]
    assert sum("in less than 1 day:" in text for text in said) in (1, 2)
    assert all("2027-01-15" in text for text in said)


def test_nothing_is_said_about_what_is_not_known_or_good(caplog: pytest.LogCaptureFixture) -> None:
    watch = ExpiryWatch()
    watch.look(None, END_MS)
    watch.look(END_MS, END_MS - 31 * DAY_MS)
    assert not warnings(caplog)


def test_a_replaced_certificate_is_judged_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    authority = Authority(tmp_path)
    issued = authority.issue("server", days=3)
    tls = ServerTls(TlsMode.PERMISSIVE, ServerFiles(issued.cert, issued.key))
    tls.refresh()
    tls.refresh()
    assert [("less than 7 days" in text) for text in warnings(caplog)] == [True]
    authority.issue("server", days=-2)
    tls.refresh()
    assert "expired on" in warnings(caplog)[-1] and len(warnings(caplog)) == 2
    authority.issue("server", days=300)
    tls.refresh()
    assert len(warnings(caplog)) == 2
    assert tls.not_after_ms == read_not_after_ms(issued.cert)


def test_files_that_cannot_be_used_leave_the_end_of_the_old_ones(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    issued = authority.issue("server", days=100)
    tls = ServerTls(TlsMode.PERMISSIVE, ServerFiles(issued.cert, issued.key))
    before = tls.not_after_ms
    Path(issued.cert).write_text("no certificate")
    tls.refresh()
    assert before is not None and tls.not_after_ms == before
    assert read_not_after_ms(issued.cert) is None
    assert ServerTls().not_after_ms is None
