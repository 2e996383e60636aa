"""The layout of the stored message record, drawn once: what the commit log holds, what pulls answer, what
replicas copy. All who encode, decode, scan or patch a record take places and sizes from here.

     0  TOTALSIZE 4          whole record, this field included
     4  MAGIC 4              v1, or v2 when the topic is longer than 127 bytes
     8  BODYCRC 4            CRC32 of the stored body without the top bit
    12  QUEUEID 4
    16  FLAG 4               the application's own
    20  QUEUEOFFSET 8
    28  PHYSICALOFFSET 8     where the record itself lies in the log
    36  SYSFLAG 4
    40  BORNTIMESTAMP 8
    48  BORNHOST 8 | 20      20 when SYSFLAG has BORN_HOST_V6; what follows then lies 12 bytes later
    56  STORETIMESTAMP 8
    64  STOREHOST 8 | 20     20 when SYSFLAG has STORE_HOST_V6; the same
    72  RECONSUMETIMES 4
    76  PREPARED OFFSET 8    commit log offset of the half message that this one commits
    84  BODY 4 + n
        TOPIC 1 + n (v1) | 2 + n (v2)
        PROPERTIES 2 + n     n <= 32767

A blank (int32 remaining bytes, int32 MAGIC_BLANK) fills the end of a file that the next record does not fit.
All integers are big-endian and signed.
"""

from __future__ import annotations

from struct import Struct

from engine.protocol.hosts import V4_SIZE, V6_SIZE
from engine.protocol.sys_flags import BORN_HOST_V6, HOST_MASK, STORE_HOST_V6

MAGIC_V1 = 0xDAA320A7 - (1 << 32)
MAGIC_V2 = 0xDAA320AB - (1 << 32)
MAGIC_BLANK = 0xCBD43194 - (1 << 32)
BLANK_SIZE = 8
MAX_TOPIC_V1_BYTES = 127
MAX_PROPERTIES_BYTES = 0x7FFF

MAGIC_AT = 4
BODY_CRC_AT = 8
QUEUE_ID_AT = 12
FLAG_AT = 16
QUEUE_OFFSET_AT = 20
COMMIT_LOG_OFFSET_AT = 28
SYS_FLAG_AT = 36
BORN_TIMESTAMP_AT = 40
BORN_HOST_AT = 48
STORE_TIMESTAMP_AT = 56
"""With a born host of IPv4."""
STORE_HOST_AFTER_TIMESTAMP = 8
RECONSUME_TIMES_BEFORE_BODY = 16
PREPARED_OFFSET_BEFORE_BODY = 12
BODY_SIZE_BEFORE_BODY = 4
BODY_AT = 88
"""With hosts of IPv4."""
V6_EXTRA = V6_SIZE - V4_SIZE
"""By how much a host of IPv6 moves what follows."""
STORE_TIMESTAMP_END = STORE_TIMESTAMP_AT + V6_EXTRA + 8
"""So many bytes of a record always hold its store time."""

PREFIX = Struct(">ii")
"""Total size and magic."""
RECORD_HEAD = Struct(">iiiiiqqi")
"""Total size, magic, body CRC, queue id, flag, queue offset, commit log offset, system flag."""


def _fixed_part(host_bits: int) -> Struct:
    """Everything up to the body, for one of the four shapes that the hosts give a record."""
    born = V6_SIZE if host_bits & BORN_HOST_V6 else V4_SIZE
    store = V6_SIZE if host_bits & STORE_HOST_V6 else V4_SIZE
    return Struct(f">iiiiiqqiq{born}sq{store}siqi")


FIXED_PARTS = {bits: _fixed_part(bits) for bits in (0, BORN_HOST_V6, STORE_HOST_V6, HOST_MASK)}
"""By the host bits of the system flag."""
HOST_BITS = {
    (V4_SIZE, V4_SIZE): 0,
    (V6_SIZE, V4_SIZE): BORN_HOST_V6,
    (V4_SIZE, V6_SIZE): STORE_HOST_V6,
    (V6_SIZE, V6_SIZE): HOST_MASK,
}
"""By the sizes of born host and store host."""
SMALLEST_RECORD = FIXED_PARTS[0].size + 1 + 1 + 2


def store_time_of(head: bytes) -> int | None:
    """From the first bytes of a record; None when there are too few."""
    if len(head) < STORE_TIMESTAMP_END:
        return None
    at = STORE_TIMESTAMP_AT + (V6_EXTRA if head[SYS_FLAG_AT + 3] & BORN_HOST_V6 else 0)
    return int.from_bytes(head[at : at + 8], "big", signed=True)
