"""Damage to an index file that RocketMQ's format cannot show is found by the seals, and mended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.store.index.index_seals import SEALS_FILE, IndexSeal, read_seals, write_seals
from engine.store.message_store import MessageStore
from tests.engine.store.samples import NOW_MS, dispatch_all, draft, flush_all, open_store, put

COUNT = 60
SMALL = {"max_hash_slot_num": 10, "max_index_num": 25}
"""Three files of up to 24 entries; headers and slots take 80 bytes of each."""
ENTRIES_AT = 80
ENTRY = 20


def filled(folder: Path, *, is_closed: bool) -> list[Path]:
    store = open_store(folder, **SMALL)
    for number in range(COUNT):
        put(store, draft(number))
    dispatch_all(store)
    flush_all(store)
    store.close() if is_closed else store._release()
    return sorted((folder / "index").iterdir())


def found(store: MessageStore) -> list[int]:
    return [
        number
        for number in range(COUNT)
        if store.search.query("Orders", f"K{number:07d}", 8, 0, NOW_MS * 2).offsets
    ]


def flip(path: Path, at: int) -> None:
    with path.open("rb+") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 4]))


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("number", [0, 1, -1])
@pytest.mark.parametrize("at", [ENTRIES_AT + ENTRY * 3, ENTRIES_AT + ENTRY * 3 + 8, 42, 66])
def test_a_flipped_bit_costs_no_key(tmp_path: Path, is_closed: bool, number: int, at: int) -> None:
    """In the hash and in the offset of an entry, and in slots."""
    files = filled(tmp_path, is_closed=is_closed)
    assert len(files) > 2
    flip(files[number], at)
    store = open_store(tmp_path, **SMALL)
    assert found(store) == list(range(COUNT))
    store.close()


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("number", [0, 1, -1])
def test_a_file_that_is_gone_is_missed(tmp_path: Path, is_closed: bool, number: int) -> None:
    os.unlink(filled(tmp_path, is_closed=is_closed)[number])
    store = open_store(tmp_path, **SMALL)
    assert found(store) == list(range(COUNT))
    store.close()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'[{"name":"x"}]'])
def test_a_store_without_seals_is_taken_as_it_is(tmp_path: Path, content: bytes) -> None:
    filled(tmp_path, is_closed=True)
    (tmp_path / f"{SEALS_FILE}.bak").unlink(missing_ok=True)
    (tmp_path / SEALS_FILE).write_bytes(content)
    store = open_store(tmp_path, **SMALL)
    assert found(store) == list(range(COUNT))
    store.close()
    assert len(read_seals(tmp_path / SEALS_FILE)) == len(list((tmp_path / "index").iterdir()))


def test_seals_are_read_as_they_were_written(tmp_path: Path) -> None:
    seals = (IndexSeal("20240101000000000", 5, 1, 2, 3, 4, 5), IndexSeal("20240101000000001", 1, 0, 0, 0))
    write_seals(tmp_path / SEALS_FILE, seals)
    assert read_seals(tmp_path / SEALS_FILE) == {seal.name: seal for seal in seals}
