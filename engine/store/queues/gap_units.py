"""Queue units of records that cannot be read: they lead to the damaged part of the log.

Such a unit has the part's offset and length, and a tag code that passes every filter (that of an address in
RocketMQ's extended queues): whoever follows it finds the damage, and a message is never passed over in
silence. The real unit takes its place once the part is repaired."""

from __future__ import annotations

from engine.protocol.layouts.store_files import CQ_UNIT

SMALLEST_RECORD = 92
_LARGEST_SIZE = 0x7FFF_FFFE
_ANY_TAG = -(1 << 63)


def gap_unit(start: int, end: int) -> bytes:
    return CQ_UNIT.pack(start, min(end - start, _LARGEST_SIZE), _ANY_TAG)
