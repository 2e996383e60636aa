"""The reports there are and what may be asked of them: one table for the API, its schema and the jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from console.core.problems import Problem, not_found
from reports.selectors.options import TEXT, WHOLE, Option


@dataclass(frozen=True, slots=True)
class Report:
    name: str
    title: str
    about: str
    job: str
    """Its file in spark/jobs."""
    options: tuple[Option, ...] = field(default=())
    is_listed: bool = True
    """Asked for by itself; `search` is the runner of search jobs alone."""

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        known = {option.name: option for option in self.options}
        for name, value in given.items():
            field = f"options.{name[:64]}"
            if name not in known:
                raise Problem("unknown_option", f"{self.name} has no option {name[:64]!r}", 400, field=field)
            if wanted := known[name].refusal(value):
                raise Problem("invalid", f"{name} is {wanted}", 400, field=field)
        return {option.name: given[option.name] for option in self.options if option.name in given}

    def words(self, options: Mapping[str, Any]) -> list[str]:
        """Checked again: rows may have been written by others."""
        values = self.checked(options)
        return [
            word
            for option in self.options
            if (value := values.get(option.name, option.default)) is not None
            for word in option.words(value)
        ]


REPORTS: tuple[Report, ...] = (
    Report("message_trace", "Message trace", "", "message_trace.py"),
    Report("retention", "Retention", "", "retention.py"),
    Report("usage", "Usage", "", "usage.py"),
    Report("audit", "Audit of the store", "", "store_audit.py"),
    Report(
        "search",
        "Search",
        "",
        "search.py",
        (
            Option("topic", TEXT, "", is_list=True),
            Option("key", TEXT, ""),
            Option("tag", TEXT, ""),
            Option("property", TEXT, ""),
            Option("body", TEXT, ""),
            Option("max_hits", WHOLE, "", low=1, high=10_000),
        ),
        is_listed=False,
    ),
)
_BY_NAME = {report.name: report for report in REPORTS}


def find_report(name: str) -> Report:
    report = _BY_NAME.get(name)
    if report is None:
        raise not_found("report", name)
    return report
