"""Mutant: neighbouring messages of a queue change places in its units, so readers get another order."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.protocol.layouts.store_files import CQ_UNIT_SIZE
from engine.store.queues.consume_queue import ConsumeQueue

_write = ConsumeQueue.write


def _write_swapped(self: ConsumeQueue, queue_offset: int, units: bytes | bytearray) -> None:
    if len(units) >= 2 * CQ_UNIT_SIZE:
        first, second = units[:CQ_UNIT_SIZE], units[CQ_UNIT_SIZE : 2 * CQ_UNIT_SIZE]
        units = bytes(second) + bytes(first) + bytes(units[2 * CQ_UNIT_SIZE :])
    _write(self, queue_offset, units)


ConsumeQueue.write = _write_swapped  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
