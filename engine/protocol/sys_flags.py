"""Bits of a message's sysFlag, as they travel in headers and lie in records.

    bit   10 9 8 | 7            6            5              4             3 2          1           0
          type   | inner batch  need unwrap  store host v6  born host v6  transaction  multi tags  compressed

The host bits describe the layout of the very record that they stand in, so only `records` sets them.
"""

from __future__ import annotations

COMPRESSED = 0x1
MULTI_TAGS = 0x2

TRANSACTION_NONE = 0x0
TRANSACTION_PREPARED = 0x4
TRANSACTION_COMMIT = 0x8
TRANSACTION_ROLLBACK = 0xC
TRANSACTION_MASK = 0xC

BORN_HOST_V6 = 0x10
STORE_HOST_V6 = 0x20
HOST_MASK = BORN_HOST_V6 | STORE_HOST_V6

NEED_UNWRAP = 0x40
INNER_BATCH = 0x80

COMPRESSION_MASK = 0x700
COMPRESSION_SHIFT = 8
LZ4 = 1
ZSTD = 2
ZLIB = 3


def with_transaction_type(sys_flag: int, kind: int) -> int:
    return sys_flag & ~TRANSACTION_MASK | kind


def compression_type(sys_flag: int) -> int:
    """LZ4, ZSTD or ZLIB (0 is what clients older than 5.0 write for zlib); 4 to 7 mean nothing to anybody."""
    return (sys_flag & COMPRESSION_MASK) >> COMPRESSION_SHIFT or ZLIB


def with_compression(sys_flag: int, kind: int) -> int:
    return sys_flag & ~COMPRESSION_MASK | kind << COMPRESSION_SHIFT | COMPRESSED
