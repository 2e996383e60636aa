"""Bodies in their compressed and their plain form: zlib, LZ4 frames, Zstandard.

The broker stores bodies as received; producers compress, consumers and tools decompress. A body comes from
whoever may send, so no call here produces more than its limit, however much a few bytes promise.
"""

from __future__ import annotations

import zlib
from typing import Protocol

import lz4.frame
import zstandard

from engine.errors import BadInput, CorruptRecord
from engine.protocol.sys_flags import COMPRESSED, LZ4, ZLIB, ZSTD, compression_type

BODY_LIMIT_BYTES = 4 * 1024 * 1024
"""maxMessageSize: what producers may send before compression."""


def compress(body: bytes, kind: int, level: int = 5) -> bytes:
    """The body as a `sys_flags` LZ4, ZSTD or ZLIB stream."""
    if kind == ZLIB:
        return zlib.compress(body, level)
    if kind == LZ4:
        return bytes(lz4.frame.compress(body, compression_level=level))
    if kind == ZSTD:
        return zstandard.ZstdCompressor(level=level).compress(body)
    raise BadInput(f"not a compression type: {kind}")


def decompress(body: bytes, sys_flag: int, limit_bytes: int = BODY_LIMIT_BYTES) -> bytes:
    """The plain body; CorruptRecord if it is damaged, cut short or larger than the limit."""
    if not sys_flag & COMPRESSED:
        return body
    kind = compression_type(sys_flag)
    try:
        if kind == ZLIB:
            return _inflate(zlib.decompressobj(), body, limit_bytes)
        if kind == LZ4:
            return _inflate(lz4.frame.LZ4FrameDecompressor(), body, limit_bytes)
        if kind == ZSTD:
            return _inflate_zstd(body, limit_bytes)
    except (zlib.error, zstandard.ZstdError, RuntimeError) as error:
        raise CorruptRecord(f"body cannot be decompressed: {error}", kind=kind) from None
    raise CorruptRecord(f"body is compressed in an unknown way: {kind}", kind=kind)


class _Inflater(Protocol):
    """What zlib's and lz4's decompressors share."""

    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _inflate(inflater: _Inflater, body: bytes, limit_bytes: int) -> bytes:
    # One byte over the limit is asked for, so that "exactly the limit" and "more" differ.
    plain = inflater.decompress(body, limit_bytes + 1)
    if len(plain) > limit_bytes:
        raise _too_large(limit_bytes)
    if not inflater.eof:
        raise CorruptRecord("compressed body ends early")
    return plain


def _inflate_zstd(body: bytes, limit_bytes: int) -> bytes:
    # A frame that states its size is given that much memory at once: believe it only up to the limit.
    if zstandard.frame_content_size(body) > limit_bytes:
        raise _too_large(limit_bytes)
    return zstandard.ZstdDecompressor().decompress(body, max_output_size=limit_bytes)


def _too_large(limit_bytes: int) -> CorruptRecord:
    return CorruptRecord("body is larger than the limit once decompressed", limit_bytes=limit_bytes)
