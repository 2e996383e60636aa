"""Mutant: a slave deletes what its own files' times say, whatever its master has decided."""

from __future__ import annotations

import sys
from collections.abc import Callable

from engine.broker.failover.member_task import Replication
from engine.broker.main import main


async def _planned(self: Replication, planned_start: Callable[[], int]) -> int | None:
    return planned_start()


Replication.settle_start = _planned  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
