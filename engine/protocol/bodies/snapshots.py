"""What a collector is told (30001): sections by name; see docs/collector.md for what each holds.

`onto` puts a change onto what was known before: sections with names are merged name by name, the others are
replaced, and None takes a name away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from engine.errors import ProtocolError

NAMED_SECTIONS = frozenset(("topics", "groups", "offsets"))


@dataclass(frozen=True, slots=True)
class BrokerSnapshot:
    """`version` is to be handed back with the next question; `is_full` says that nothing older counts."""

    version: str
    is_full: bool
    sections: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, version: str, is_full: bool, body: bytes) -> BrokerSnapshot:
        if not body:
            return cls(version, is_full)
        try:
            sections = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise ProtocolError(f"a snapshot cannot be read: {error}") from None
        if not isinstance(sections, dict):
            raise ProtocolError("a snapshot is a JSON object")
        return cls(version, is_full, sections)

    def onto(self, before: BrokerSnapshot | None) -> BrokerSnapshot:
        """Everything that is known now."""
        known = {} if before is None or self.is_full else dict(before.sections)
        for name, value in self.sections.items():
            if name in NAMED_SECTIONS:
                merged = {**known.get(name, {}), **value}
                known[name] = {key: one for key, one in merged.items() if one is not None}
            else:
                known[name] = value
        return BrokerSnapshot(self.version, True, known)
