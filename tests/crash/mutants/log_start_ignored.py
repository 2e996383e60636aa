"""Mutant: only the end of a log counts for the in-sync set and in an election."""

from __future__ import annotations

import sys
from typing import Any

from engine.broker.failover import election, member_status
from engine.broker.failover import promotion_task as promotion
from engine.broker.main import main
from engine.broker.replication.in_sync_set import InSyncTable


def _nobody(self: InSyncTable, needed_from: int | None) -> set[int]:
    return set()


def _nothing(*arguments: Any, **options: Any) -> None:
    return None


InSyncTable.lacking = _nobody  # type: ignore[method-assign]
election.front_loss = _nothing  # type: ignore[attr-defined]
promotion.front_loss = _nothing  # type: ignore[attr-defined]
member_status.missing_from = _nothing  # type: ignore[attr-defined]

if __name__ == "__main__":
    sys.exit(main())
