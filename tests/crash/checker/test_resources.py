"""Resources and log patterns: what a process shows of itself."""

from __future__ import annotations

import pytest

from tests.crash.checker.log_patterns import check_log
from tests.crash.checker.resources import Allowance, Sample, check_resources
from tests.crash.checker.violations import describe

MB = 1 << 20


def test_growth_within_the_allowance_is_fine() -> None:
    samples = [Sample(40 * MB, 20, 3), Sample(400 * MB, 90, 9), Sample(80 * MB, 20, 3)]
    assert check_resources(samples, Allowance(50 * MB)) == []


@pytest.mark.parametrize("last", [Sample(91 * MB, 20, 3), Sample(40 * MB, 21, 3), Sample(40 * MB, 20, 4)])
def test_each_kind_of_creep_is_caught(last: Sample) -> None:
    (violation,) = check_resources([Sample(40 * MB, 20, 3), last], Allowance(50 * MB))
    assert "grew" in describe([violation])


def test_a_traceback_in_a_log_is_caught() -> None:
    (violation,) = check_log(["INFO started", "Traceback (most recent call last):", "  File x"])
    assert "line 2" in violation.text


def test_a_forgotten_task_is_caught() -> None:
    assert len(check_log(["Task exception was never retrieved"])) == 1


def test_a_quiet_log_and_an_expected_line_pass() -> None:
    assert check_log(["WARN refused frame", "INFO stopped"]) == []
    assert check_log(["Traceback (most recent call last):"], expected="Traceback") == []
