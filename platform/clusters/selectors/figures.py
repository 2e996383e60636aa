"""One figure that an alert rule holds for, or could not see."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    cluster_id: int
    subject: str
    name: str
    value: float | None
    """None: not known."""
    text: str
    why: str = "without a figure"
    """Where it is not known: what is missing, in words that follow a number."""

    @property
    def key(self) -> tuple[int, str, str]:
        return self.cluster_id, self.subject, self.name
