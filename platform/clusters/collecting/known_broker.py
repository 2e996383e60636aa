"""All that is known of one broker: its tables, kept up by its answers, and its row. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from clusters.collecting.answers import Answer
from clusters.collecting.findings import BrokerRow

TABLES = ("topics", "groups", "offsets")
SAID = ("retention", "damage", "certificate")
"""Sections that are kept as they were said."""
Changed = dict[str, set[str]]
"""Names by table."""


class KnownBroker:
    def __init__(self, address: str, name: str = "", member: int | None = None) -> None:
        self.address = address
        self.name = name
        self.member = member
        self.tables: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
        self.singles: dict[str, Any] = {}
        self.version = ""
        self.sampled_at: datetime | None = None
        self.error = ""

    @property
    def is_master(self) -> bool:
        return self.role == "master"

    @property
    def role(self) -> str:
        """RocketMQ says ASYNC_MASTER, SYNC_MASTER, SLAVE."""
        said = str(self.singles.get("ha", {}).get("role", "")).lower()
        return "master" if said.endswith("master") else said

    @property
    def epoch(self) -> int:
        return int(self.singles.get("ha", {}).get("epoch", 0))

    @property
    def is_reachable(self) -> bool:
        return self.sampled_at is not None and not self.error

    def take(self, answer: Answer) -> Changed:
        """Which names became different. An error leaves what is known, and its age."""
        # What it said itself counts: a promoted member has another number at name servers.
        self.name = self.name or answer.broker_name
        self.member = answer.member if self.member is None else self.member
        self.error = answer.error
        if answer.error:
            return {}
        self.sampled_at = answer.at
        self.version = answer.version or self.version
        if answer.is_full:
            self.singles = {}
        self.singles |= {name: value for name, value in answer.sections.items() if name not in TABLES}
        self._name_itself()
        return {
            table: self._merge(self.tables[table], answer.sections.get(table, {}), answer.is_full)
            for table in TABLES
        }

    def _name_itself(self) -> None:
        about = self.singles.get("broker", {})
        self.name = about.get("name", self.name)
        self.member = self.singles.get("ha", {}).get("memberId", about.get("id", self.member))

    def _merge(self, known: dict[str, Any], news: Mapping[str, Any], is_full: bool) -> set[str]:
        if is_full:
            changed = {name for name, value in news.items() if known.get(name) != value}
            changed |= known.keys() - news.keys()
            known.clear()
            known.update((name, value) for name, value in news.items() if value is not None)
            return changed
        for name, value in news.items():
            if value is None:
                known.pop(name, None)
            else:
                known[name] = value
        return set(news)

    def row(self) -> BrokerRow:
        single = self.singles.get
        ha, booted_ms = single("ha", {}), single("broker", {}).get("bootedMs")
        return BrokerRow(
            broker_name=self.name,
            member=self.member or 0,
            address=self.address,
            role=self.role,
            version=self.version,
            epoch=ha.get("epoch"),
            ha=dumps(ha),
            rates=dumps(single("rates", {})),
            disk_ratio=single("disk", {}).get("usageRatio"),
            log=dumps(single("log", {})),
            producers=None if single("producers") is None else dumps(single("producers")),
            booted_at=None if booted_ms is None else moment(booted_ms),
            sampled_at=self.sampled_at,
            is_reachable=self.is_reachable,
            error=self.error,
            **{name: self._said(name) for name in SAID},
        )

    def _said(self, section: str) -> str | None:
        """None: the broker says nothing of it."""
        value = self.singles.get(section)
        return None if value is None else dumps(value)


def moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def dumps(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
