"""Mutant: a master drops who is late from its in-sync set and goes on alone, and nobody else hears of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from engine.broker.failover.group_state import InSyncSet
from engine.broker.main import main
from engine.broker.replication.in_sync_set import InSyncTable
from engine.broker.replication.master_task import MasterTerm

_set_of_master = MasterTerm.set_to_send


def _always(self: InSyncTable) -> bool:
    return True


def _only_growth(self: MasterTerm) -> tuple[InSyncSet, Mapping[int, str]] | None:
    told = _set_of_master(self)
    return told if told is not None and len(told[0].ids) > 1 else None


InSyncTable.is_enough = _always  # type: ignore[method-assign]
MasterTerm.set_to_send = _only_growth  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
