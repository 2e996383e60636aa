"""The reports there are and what may be asked of them: one table for the API, its schema and the jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from console.core.problems import Problem, not_found
from reports.selectors.options import NUMBER, TEXT, WHOLE, Option

NAME = r"[%|a-zA-Z0-9_-]{1,255}"
LOOKED_FOR = r"[^\x00\r]{1,8192}"
"""Spark's start script takes carriage returns out of what it is given."""
SEARCHED = ("key", "tag", "property", "sql", "body")


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


_TRACE_TOPIC = Option("trace_topic", TEXT, "Where clients trace, if not RMQ_SYS_TRACE_TOPIC.", pattern=NAME)
_PRICE = {"low": 0, "high": 1e9}

REPORTS: tuple[Report, ...] = (
    Report(
        "message_trace",
        "Message trace",
        "What became of each message and how long it took: sends, tries per group, retries, dead letters, "
        "latency percentiles, what was never consumed and what more than once.",
        "message_trace.py",
        (
            Option("topic", TEXT, "Of these topics alone.", pattern=NAME, is_list=True),
            _TRACE_TOPIC,
            Option("slow_call_ms", WHOLE, "A slow call of a listener.", default=1000, low=1, high=10**9),
            Option("slow_wait_ms", WHOLE, "A long wait for one.", default=60_000, low=1, high=10**9),
        ),
    ),
    Report(
        "retention",
        "Retention",
        "What the logs hold per topic and hour, when disks are full, what each retention setting would free "
        "and which groups would lose unread messages.",
        "retention.py",
        (
            Option(
                "reserved_hours",
                WHOLE,
                "fileReservedTime in force; without it, what the brokers say, else 72.",
                low=1,
                high=10**6,
            ),
            Option(
                "settings",
                TEXT,
                "Settings to try out, in hours, by commas.",
                pattern=r"[0-9]{1,6}(,[0-9]{1,6}){0,30}",
            ),
            Option("full_ratio", NUMBER, "How full a disk takes no more writes.", low=0.01, high=1),
            Option("disk_bytes", WHOLE, "Size of the disk, where the host cannot ask it.", low=1, high=2**62),
            Option("disk_free_bytes", WHOLE, "And how much of it is free.", low=1, high=2**62),
        ),
    ),
    Report(
        "usage",
        "Usage",
        "Who sends how much of what: volume and sizes per topic, producer group and day, hot keys, unused "
        "topics and groups, cost by team.",
        "usage.py",
        (
            _TRACE_TOPIC,
            Option("top", WHOLE, "Tags and keys per topic and day.", default=10, low=1, high=1000),
            Option("hot_share", NUMBER, "Of a topic's messages: a hot key.", default=0.1, low=0.001, high=1),
            Option(
                "label",
                TEXT,
                "topic:NAME=TEAM or group:NAME=TEAM, before the teams that the console knows.",
                pattern=r"(topic|group):[^=\x00-\x1f\x7f]{1,255}=[^\x00-\x1f\x7f]{1,64}",
                is_list=True,
            ),
            Option("price_per_million", NUMBER, "Of a million messages.", **_PRICE),
            Option("price_per_gb", NUMBER, "Of 10⁹ bytes stored.", **_PRICE),
            Option("price_per_gb_day", NUMBER, "Of a day of those.", **_PRICE),
        ),
    ),
    Report(
        "audit",
        "Audit of the store",
        "Whether stores are what they should be: the CRC of every record, queue entries against the log, "
        "holes, keys that were stored twice.",
        "store_audit.py",
    ),
    Report(
        "search",
        "Search",
        "The runner of search jobs over ranges that are too long for the other one.",
        "search.py",
        (
            Option("topic", TEXT, "Where to look.", pattern=NAME, is_list=True),
            *(Option(name, TEXT, "As the search job has it.", pattern=LOOKED_FOR) for name in SEARCHED),
            Option("max_hits", WHOLE, "The oldest so many.", low=1, high=10_000),
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
