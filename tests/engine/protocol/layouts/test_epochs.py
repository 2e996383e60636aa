from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import CorruptRecord
from engine.protocol.layouts import EpochEntry, decode_epochs, encode_epochs

ENTRIES = [EpochEntry(1, 0), EpochEntry(2, 4096)]
TEXT = f"2\n{zlib.crc32(b'1-0' + bytes([10]) + b'2-4096' + bytes([10])) & 0x7FFFFFFF}\n1-0\n2-4096\n"


def test_epochs_are_lines_behind_their_count_and_crc() -> None:
    assert encode_epochs(ENTRIES) == TEXT
    assert decode_epochs(TEXT) == ENTRIES


def test_no_epochs_are_two_lines() -> None:
    assert encode_epochs([]) == "0\n0\n"
    assert decode_epochs("0\n0\n") == []


def test_every_truncation_is_corrupt() -> None:
    for end in range(len(TEXT)):
        with pytest.raises(CorruptRecord):
            decode_epochs(TEXT[:end])


def with_crc(count: int, payload: str) -> str:
    return f"{count}\n{zlib.crc32(payload.encode()) & 0x7FFFFFFF}\n{payload}"


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("4096", "4097"),
        TEXT.replace("2\n", "3\n", 1),
        with_crc(1, "1-0\n2-4096\n"),
        with_crc(1, "-1-0\n"),
        with_crc(1, "1-\n"),
        with_crc(1, "1\n"),
        with_crc(2, "2-0\n1-4096\n"),
        with_crc(2, "1-0\n1-4096\n"),
        with_crc(2, "1-4096\n2-0\n"),
    ],
)
def test_a_file_that_contradicts_itself_is_corrupt(text: str) -> None:
    with pytest.raises(CorruptRecord):
        decode_epochs(text)


@given(st.text())
def test_noise_is_corrupt(text: str) -> None:
    with pytest.raises(CorruptRecord):
        decode_epochs(text)
