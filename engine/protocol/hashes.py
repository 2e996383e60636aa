"""The hashes that the store's files and the wire agree on. Pure functions of their arguments.

`java_hash` is Java's String.hashCode; it is compiled where a compiler exists (see `_records_cy`).
"""

from __future__ import annotations

from zlib import crc32

from engine.protocol._records_cy import java_hash

__all__ = ["body_crc", "index_key_hash", "java_hash", "tags_code"]

_INT32_MIN = -0x8000_0000


def tags_code(tag: str | None) -> int:
    """What a consume queue unit holds for this tag, and what a subscription's code set holds."""
    return java_hash(tag) if tag else 0


def index_key_hash(topic: str, key: str) -> int:
    """The non-negative hash under which the index files hold a key of a topic."""
    value = java_hash(f"{topic}#{key}")
    # Java's abs() leaves the smallest int negative; the index counts it as 0.
    return 0 if value == _INT32_MIN else abs(value)


def body_crc(body: bytes | bytearray | memoryview) -> int:
    """CRC32 without its top bit, because the record's field is a signed int that is never negative."""
    return crc32(body) & 0x7FFF_FFFF
