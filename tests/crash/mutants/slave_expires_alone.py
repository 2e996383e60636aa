"""Mutant: a slave deletes what its own files' times say, whatever its master has decided."""

from __future__ import annotations

import sys
from collections.abc import Callable

from engine.broker.failover.streams_task import Streams
from engine.broker.main import main


async def _planned(self: Streams, planned_start: Callable[[], int]) -> int | None:
    return planned_start()


Streams.settle_start = _planned  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
