"""How full the store's disk is, as last seen: one shared value that sends look at before they append."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class DiskRoom:
    usage_ratio: float = 0.0
    is_writable: bool = True
