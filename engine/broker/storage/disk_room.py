"""How full the store's disk is, as last seen: a shared value that sends look at before they append. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class DiskRoom:
    usage_ratio: float = 0.0
    is_writable: bool = True


@dataclass(frozen=True, slots=True)
class DiskSpace:
    total_bytes: int
    free_bytes: int
    usage_ratio: float
