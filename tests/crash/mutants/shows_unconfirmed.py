"""Mutant: readers are shown what is written here, confirmed or not."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.store.log.gate import Gate


def _written(self: Gate) -> int:
    return self._log.written_end_offset


Gate.readable_end = _written  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
