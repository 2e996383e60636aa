"""Hashes against values that Java gives."""

from __future__ import annotations

import zlib

import pytest

from engine.protocol.hashes import body_crc, index_key_hash, java_hash, tags_code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("TagA", 2598919),
        ("Aa", 2112),
        ("BB", 2112),
        ("polygenelubricants", -2147483648),
        ("😀", 55357 * 31 + 56832),
    ],
)
def test_java_hash_is_javas(text: str, expected: int) -> None:
    assert java_hash(text) == expected


@pytest.mark.parametrize("tag", [None, ""])
def test_no_tag_has_code_0(tag: str | None) -> None:
    assert tags_code(tag) == 0


def test_a_tags_code_is_signed() -> None:
    assert tags_code("polygenelubricants") == -2147483648


def test_an_index_key_is_hashed_with_its_topic_and_never_negative() -> None:
    assert java_hash("TopicA#order-18") == 375142743
    assert java_hash("TopicC#order-18") == -17884267
    assert index_key_hash("TopicA", "order-18") == 375142743
    assert index_key_hash("TopicC", "order-18") == 17884267


def test_the_one_hash_that_has_no_opposite_counts_as_0() -> None:
    assert java_hash("T#aaaaCxie") == -2147483648
    assert index_key_hash("T", "aaaaCxie") == 0


def test_a_body_crc_has_31_bits() -> None:
    assert body_crc(b"hello") == 0x3610A686
    assert zlib.crc32(b"a") == 0xE8B7BE43
    assert body_crc(b"a") == 0x68B7BE43
    assert body_crc(b"") == 0
