"""Mutant: one message in a hundred is forgotten: its queue gets a blank unit instead."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.protocol.layouts.store_files import CQ_UNIT, CQ_UNIT_SIZE
from engine.store.queues.consume_queue import BLANK_UNIT_SIZE, ConsumeQueue

_write = ConsumeQueue.write
_EVERY = 100
_BLANK = CQ_UNIT.pack(0, BLANK_UNIT_SIZE, 0)


def _write_most(self: ConsumeQueue, queue_offset: int, units: bytes | bytearray) -> None:
    kept = bytearray(units)
    for number in range(len(units) // CQ_UNIT_SIZE):
        if (queue_offset + number) % _EVERY == _EVERY // 2:
            kept[number * CQ_UNIT_SIZE : (number + 1) * CQ_UNIT_SIZE] = _BLANK
    _write(self, queue_offset, bytes(kept))


ConsumeQueue.write = _write_most  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
