"""Compressed bodies: what other clients write is read, and nothing inflates beyond its limit."""

from __future__ import annotations

import zlib

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput, CorruptRecord
from engine.protocol.compression import compress, decompress
from engine.protocol.sys_flags import LZ4, ZLIB, ZSTD, with_compression

each_kind = pytest.mark.parametrize("kind", [ZLIB, LZ4, ZSTD], ids=["zlib", "lz4", "zstd"])


@each_kind
@given(body=st.binary(max_size=300))
def test_what_is_compressed_is_read(kind: int, body: bytes) -> None:
    assert decompress(compress(body, kind, 3), with_compression(0, kind)) == body


def test_a_body_that_is_not_compressed_stays_as_it_is() -> None:
    assert decompress(b"plain", 0x300) == b"plain"


def test_old_clients_write_zlib_without_a_type() -> None:
    assert decompress(zlib.compress(b"old"), 0x1) == b"old"


@each_kind
def test_a_body_of_exactly_the_limit_is_read(kind: int) -> None:
    packed = compress(b"x" * 1000, kind, 3)
    assert len(decompress(packed, with_compression(0, kind), 1000)) == 1000
    with pytest.raises(CorruptRecord):
        decompress(packed, with_compression(0, kind), 999)


def streamed_zstd(body: bytes) -> bytes:
    """As Java's stream writes it: without the size in the frame's header."""
    stream = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    return stream.compress(body) + stream.flush()


def test_a_zstd_frame_that_does_not_state_its_size_is_read_up_to_the_limit() -> None:
    packed = streamed_zstd(b"y" * 1000)
    assert zstandard.frame_content_size(packed) == -1
    assert decompress(packed, 0x201, 1000) == b"y" * 1000
    with pytest.raises(CorruptRecord):
        decompress(packed, 0x201, 999)


@pytest.mark.parametrize(
    ("sys_flag", "bomb"),
    [
        (0x301, zlib.compress(bytes(64 << 20), 9)),
        (0x101, lz4.frame.compress(bytes(64 << 20))),
        (0x201, zstandard.compress(bytes(64 << 20))),
        (0x201, streamed_zstd(bytes(64 << 20))),
    ],
    ids=["zlib", "lz4", "zstd", "zstd_streamed"],
)
def test_a_bomb_is_refused(sys_flag: int, bomb: bytes) -> None:
    with pytest.raises(CorruptRecord):
        decompress(bomb, sys_flag)


@each_kind
def test_every_truncation_is_corrupt(kind: int) -> None:
    packed = compress(bytes(range(256)) * 2, kind, 3)
    for end in range(len(packed)):
        with pytest.raises(CorruptRecord):
            decompress(packed[:end], with_compression(0, kind))


@each_kind
@given(noise=st.binary(max_size=100))
def test_noise_is_corrupt(kind: int, noise: bytes) -> None:
    with pytest.raises(CorruptRecord):
        decompress(b"\xfe" + noise, with_compression(0, kind))


def test_an_unknown_type_is_corrupt() -> None:
    with pytest.raises(CorruptRecord):
        decompress(b"x", 0x401)


def test_an_unknown_type_is_not_written() -> None:
    with pytest.raises(BadInput):
        compress(b"x", 4, 3)
