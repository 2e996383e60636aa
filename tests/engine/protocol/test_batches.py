"""The batch body: its layout by hand, and every length that can lie."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput, BadRequest
from engine.protocol.batches import BatchItem, decode_batch, encode_batch
from engine.protocol.codes import ResponseCode

GOLDEN = bytes.fromhex(
    "0000001f 00000000 00000000"  # total size 31 = 22 + 2 + 7, magic, CRC
    "00000005"  # flag
    "00000002 6869"  # body "hi"
    "0007 4b455953 01 6b02"  # properties KEYS = k
    "00000016 00000000 00000000 ffffffff 00000000 0000"  # flag -1, nothing else
)
GOLDEN_ITEMS = [BatchItem(5, b"hi", b"KEYS\x01k\x02"), BatchItem(-1, b"", b"")]

items = st.builds(BatchItem, st.integers(-(2**31), 2**31 - 1), st.binary(max_size=50), st.binary(max_size=50))


def test_the_hand_written_batch_is_read_and_written() -> None:
    assert decode_batch(GOLDEN) == GOLDEN_ITEMS
    assert encode_batch(GOLDEN_ITEMS) == GOLDEN


def test_the_magic_and_crc_of_an_item_are_not_looked_at() -> None:
    assert decode_batch(GOLDEN[:4] + b"\xff" * 8 + GOLDEN[12:]) == GOLDEN_ITEMS


@given(st.lists(items, min_size=1, max_size=5))
def test_what_is_encoded_is_decoded(many: list[BatchItem]) -> None:
    assert decode_batch(memoryview(encode_batch(many))) == many


def test_every_truncation_inside_an_item_is_refused() -> None:
    for end in set(range(len(GOLDEN))) - {31}:
        with pytest.raises(BadRequest) as caught:
            decode_batch(GOLDEN[:end])
        assert caught.value.code == ResponseCode.MESSAGE_ILLEGAL


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (0, "00000000"),
        (0, "ffffffff"),
        (0, "00000015"),
        (0, "00000020"),
        (0, "7fffffff"),
        (16, "ffffffff"),
        (16, "00000003"),
        (16, "7fffffff"),
        (22, "ffff"),
        (22, "0006"),
        (22, "7fff"),
    ],
)
def test_a_length_that_disagrees_refuses_the_batch(at: int, value: str) -> None:
    body = bytearray(GOLDEN)
    body[at : at + len(value) // 2] = bytes.fromhex(value)
    with pytest.raises(BadRequest):
        decode_batch(body)


@given(st.binary(max_size=100))
def test_noise_is_refused_or_read_but_never_breaks(noise: bytes) -> None:
    try:
        read = decode_batch(noise)
    except BadRequest:
        return
    assert sum(22 + len(item.body) + len(item.properties) for item in read) == len(noise)


@pytest.mark.parametrize("many", [[], [BatchItem(1 << 31, b"", b"")], [BatchItem(0, b"", b"x" * 32768)]])
def test_what_does_not_fit_is_refused(many: list[BatchItem]) -> None:
    with pytest.raises(BadInput):
        encode_batch(many)
