"""What one broker said in one round, or why it did not: the input of `cluster_state`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """`sections` as docs/collector.md says; Apache's brokers are brought into the same shape."""

    address: str
    at: datetime
    is_full: bool = False
    """Nothing older counts."""
    sections: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""
    """The broker's release."""
    error: str = ""
    """Anything: it did not answer, and `sections` is empty."""
    broker_name: str = ""
    member: int | None = None
    """Where a name server or a row of the database knows them before the broker has said so itself."""


@dataclass(frozen=True, slots=True)
class Watched:
    """Names that somebody has on a screen."""

    topics: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    is_cluster: bool = False
    """Somebody looks at the cluster as a whole."""

    def __bool__(self) -> bool:
        return self.is_cluster or bool(self.topics or self.groups)
