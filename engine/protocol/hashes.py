"""The hashes that the store's files and the wire agree on. Pure functions of their arguments.

`java_hash` is Java's String.hashCode, `index_key_hash` what the index makes of it; both are compiled where a
compiler exists (see `_places_cy`).
"""

from __future__ import annotations

from zlib import crc32

from engine.protocol._places_cy import index_key_hash, java_hash

__all__ = ["body_crc", "index_key_hash", "java_hash", "tags_code"]


def tags_code(tag: str | None) -> int:
    """What a consume queue unit holds for this tag, and what a subscription's code set holds."""
    return java_hash(tag) if tag else 0


def body_crc(body: bytes | bytearray | memoryview) -> int:
    """CRC32 without its top bit, because the record's field is a signed int that is never negative."""
    return crc32(body) & 0x7FFF_FFFF
