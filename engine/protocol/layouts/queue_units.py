"""Units of the consume queues: where the messages of one topic-queue lie in the commit log.

    consume queue unit, 20 bytes     COMMITLOGOFFSET 8 · SIZE 4 · TAGSCODE 8

Unit n of a consume queue is at byte 20 n of its logical file. A queue that does not begin at a file's first
unit has blank units before its first one. In queues that RocketMQ wrote with extensions, TAGSCODE may be the
address of an extension: the smallest int64 plus the offset of the extension.
"""

from __future__ import annotations

from struct import Struct

CQ_UNIT = Struct(">qiq")
CQ_UNIT_SIZE = CQ_UNIT.size
CQ_BLANK = CQ_UNIT.pack(0, 0x7FFF_FFFF, 0)
_INT32_MIN = -0x8000_0000


def is_ext_address(tags_code: int) -> bool:
    """Whether the tags code is the address of an extension: a hash is never below the int32 range."""
    return tags_code < _INT32_MIN
