"""The checkpoint page: RocketMQ's part, our part, and what is believed."""

from __future__ import annotations

import struct

import pytest

from engine.protocol.layouts.checkpoints import (
    Checkpoint,
    CheckpointPage,
    DurableOffsets,
    decode_page,
    encode_page,
)

NOW_MS = 1_700_000_000_000
TIMES = Checkpoint(NOW_MS - 3, NOW_MS - 2, NOW_MS - 1, 0, 7)
OFFSETS = DurableOffsets(1000, 900, 800, 4)
NOTHING = CheckpointPage(None, None)


def test_the_first_40_bytes_are_rocketmqs() -> None:
    page = encode_page(TIMES, OFFSETS)
    assert page[:40] == struct.pack(">5q", NOW_MS - 3, NOW_MS - 2, NOW_MS - 1, 0, 7)
    assert len(page) == 4096
    assert page[40:64] == bytes(24) and page[104:] == bytes(4096 - 104)


def test_what_was_written_is_read() -> None:
    assert decode_page(encode_page(TIMES, OFFSETS), NOW_MS) == CheckpointPage(TIMES, OFFSETS)


def test_another_engines_page_has_times_only() -> None:
    page = struct.pack(">5q", NOW_MS - 3, NOW_MS - 2, NOW_MS - 1, 0, 7).ljust(4096, b"\0")
    assert decode_page(page, NOW_MS) == CheckpointPage(TIMES, None)


@pytest.mark.parametrize("bit", [*range(0, 40 * 8, 7), *range(68 * 8, 104 * 8, 5)])
def test_no_flipped_bit_is_believed(bit: int) -> None:
    page = bytearray(encode_page(TIMES, OFFSETS))
    page[bit // 8] ^= 1 << bit % 8
    assert decode_page(bytes(page), NOW_MS) == NOTHING


@pytest.mark.parametrize("page", [b"", bytes(40), bytes(4095), bytes(8192)])
def test_a_page_of_another_length_is_not_believed(page: bytes) -> None:
    assert decode_page(page, NOW_MS) == NOTHING


@pytest.mark.parametrize("stamp", [-1, NOW_MS + 1])
def test_times_of_the_future_are_not_believed(stamp: int) -> None:
    page = struct.pack(">5q", stamp, 0, 0, 0, 0).ljust(4096, b"\0")
    assert decode_page(page, NOW_MS) == NOTHING


def test_the_scan_starts_before_everything_that_may_be_missing() -> None:
    assert OFFSETS.scan_from == 800
    assert OFFSETS.index_from == 900
