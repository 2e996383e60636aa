"""Index entries and slots: one suite for the Python source and for what the compiler made of it."""

from __future__ import annotations

import struct
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol import _index_cy as installed
from engine.protocol.layouts.store_files import INDEX_ENTRY, INDEX_KEY
from tests.engine.protocol.ways import ways_of

CHAINERS = ways_of(installed)
each_chainer = pytest.mark.parametrize("chainer", CHAINERS.values(), ids=CHAINERS)
NOW_MS = 1_700_000_000_000
AT = 40
Key = tuple[int, int, int]


def packed(keys: list[Key]) -> bytes:
    return b"".join(INDEX_KEY.pack(*key) for key in keys)


def slots_of(*heads: int) -> bytearray:
    return bytearray(bytes(AT) + struct.pack(f">{len(heads)}i", *heads))


def test_the_pure_chainer_is_not_compiled() -> None:
    assert not CHAINERS["pure"].is_compiled() and not CHAINERS["without_cython"].is_compiled()


@each_chainer
def test_entries_of_one_slot_are_chained_to_each_other_and_to_those_before(chainer: ModuleType) -> None:
    slots = slots_of(0, 4, 0)
    keys = [(1, 100, NOW_MS), (4, 200, NOW_MS + 999), (2, 300, NOW_MS + 1000), (7, 300, NOW_MS + 2500)]
    entries, used = chainer.chain_entries(packed(keys), slots, AT, 3, 5, NOW_MS)
    assert entries == b"".join(
        INDEX_ENTRY.pack(*entry) for entry in [(1, 100, 0, 4), (4, 200, 0, 5), (2, 300, 1, 0), (7, 300, 2, 6)]
    )
    assert used == 1
    assert slots == slots_of(0, 4, 0)  # not before the entries are on their way
    chainer.write_slots(entries, slots, AT, 3, 5)
    assert slots == slots_of(0, 8, 7)


@each_chainer
@pytest.mark.parametrize("head", [5, 6, -1, -0x80000000, 0x7FFFFFFF, -0x7FFFFFFF])
def test_a_slot_that_says_what_is_not_there_yet_is_empty(chainer: ModuleType, head: int) -> None:
    entries, used = chainer.chain_entries(packed([(0, 1, NOW_MS)]), slots_of(head), AT, 1, 5, NOW_MS)
    assert (entries[16:], used) == (bytes(4), 1)


@each_chainer
@pytest.mark.parametrize(
    ("store_timestamp", "begin_timestamp", "expected"),
    [(5_999, 1_000, 4), (500, 1_000, 0), (5_000, 0, 0), (1 << 62, 1, 0x7FFFFFFF)],
)
def test_the_seconds_of_an_entry_fit_their_field(
    chainer: ModuleType, store_timestamp: int, begin_timestamp: int, expected: int
) -> None:
    entries, _ = chainer.chain_entries(
        packed([(0, 1, store_timestamp)]), slots_of(0), AT, 1, 1, begin_timestamp
    )
    assert INDEX_ENTRY.unpack(entries) == (0, 1, expected, 0)


@each_chainer
def test_nothing_is_written_for_nothing(chainer: ModuleType) -> None:
    slots = slots_of(3)
    assert chainer.chain_entries(b"", slots, AT, 1, 5, NOW_MS) == (b"", 0)
    chainer.write_slots(b"", slots, AT, 1, 5)
    assert slots == slots_of(3)


@each_chainer
def test_slots_outside_of_the_buffer_are_not_touched(chainer: ModuleType) -> None:
    with pytest.raises((IndexError, struct.error, ValueError)):
        chainer.chain_entries(packed([(5, 1, NOW_MS)]), bytes(AT + 8), AT, 1000, 5, NOW_MS)


def plainly(keys: list[Key], heads: list[int], first: int, begin_ms: int) -> tuple[bytes, list[int]]:
    entries = b""
    heads = [head if 0 < head < first else 0 for head in heads]
    for number, (key_hash, offset, store_timestamp) in enumerate(keys, first):
        slot = key_hash % len(heads)
        seconds = min(max((store_timestamp - begin_ms) // 1000, 0), 0x7FFFFFFF) if begin_ms > 0 else 0
        entries += INDEX_ENTRY.pack(key_hash, offset, seconds, heads[slot])
        heads[slot] = number
    return entries, heads


@given(
    st.lists(
        st.tuples(st.integers(0, 0x7FFFFFFF), st.integers(0, 1 << 60), st.integers(0, 1 << 60)), max_size=60
    ),
    st.lists(st.integers(-3, 200), min_size=1, max_size=40),
    st.integers(1, 300),
    st.sampled_from([0, -5, 1, NOW_MS, 1 << 50]),
)
def test_all_ways_agree_with_the_plainest(
    keys: list[Key], heads: list[int], first: int, begin_ms: int
) -> None:
    expected, expected_heads = plainly(keys, heads, first, begin_ms)
    touched = {key[0] % len(heads) for key in keys}
    for chainer in CHAINERS.values():
        slots = slots_of(*heads)
        entries, used = chainer.chain_entries(packed(keys), slots, AT, len(heads), first, begin_ms)
        assert entries == expected
        assert used == sum(not 0 < heads[slot] < first for slot in touched)
        chainer.write_slots(entries, slots, AT, len(heads), first)
        wanted = [expected_heads[n] if n in touched else head for n, head in enumerate(heads)]
        assert slots == slots_of(*wanted)
