"""Mutant: what waits is taken for due half a second before its time."""

from __future__ import annotations

import sys

from engine.broker.delivery import delay_task as delay_delivery
from engine.broker.delivery.delay_levels import DueUnits, due_units
from engine.broker.main import main
from engine.store.results import QueueUnit

_EARLY_MS = 500


def _early(units: list[QueueUnit], head_due_ms: int | None, delay_ms: int, now_ms: int) -> DueUnits:
    return due_units(units, head_due_ms, delay_ms, now_ms + _EARLY_MS)


delay_delivery.due_units = _early  # type: ignore[assignment]

if __name__ == "__main__":
    sys.exit(main())
