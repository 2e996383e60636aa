"""One damaged file of any kind: derived files heal, the log is never read wrong nor lost in silence."""

from __future__ import annotations

import contextlib
import random
import shutil
from pathlib import Path

import pytest

from engine.errors import CorruptRecord, StoreError
from engine.store.message_store import MessageStore
from tests.engine.store.samples import NOW_MS, crash, drain, fill, flush_all, open_store

COUNT = 1200
VERIFY_BYTES = 20_000


@pytest.fixture(scope="module", params=["closed", "crashed"])
def sound_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp(request.param)
    store = open_store(root, verify_on_open_bytes=VERIFY_BYTES)
    fill(store, COUNT - 100)
    flush_all(store)
    fill(store, 100, start=COUNT - 100)
    store.close() if request.param == "closed" else crash(store)
    return root


def _damage(path: Path, chance: random.Random) -> str:
    data = bytearray(path.read_bytes())
    kind = chance.choice(["flip", "zero", "copy", "truncate"])
    at = chance.randrange(max(len(data) * 3 // 4, 1))
    if kind == "flip":
        data[at] ^= 1 << chance.randrange(8)
    elif kind == "zero":
        data[at : at + 512] = bytes(len(data[at : at + 512]))
    elif kind == "copy":
        source = chance.randrange(len(data))
        piece = data[source : source + 300]
        data[at : at + len(piece)] = piece
    else:
        del data[at:]
    path.write_bytes(data)
    return f"{kind} at {at} of {path.name}"


def _drain(store: MessageStore, queue_id: int) -> list[int]:
    """A consumer that is told of damage and tries again."""
    for _ in range(10):
        with contextlib.suppress(CorruptRecord):
            return drain(store, queue_id=queue_id)
    return drain(store, queue_id=queue_id)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["consumequeue", "index", "checkpoint"])
def test_derived_files_heal(sound_store: Path, tmp_path: Path, kind: str, seed: int) -> None:
    chance = random.Random(f"{kind}{seed}")
    root = tmp_path / "store"
    shutil.copytree(sound_store, root)
    victim = root / kind
    if victim.is_dir():
        victim = chance.choice(sorted(path for path in victim.rglob("*") if path.is_file()))
    what = _damage(victim, chance)
    store = open_store(root, verify_on_open_bytes=VERIFY_BYTES)
    for queue_id in range(4):
        assert _drain(store, queue_id) == list(range(queue_id, COUNT, 4)), what
    for number in chance.sample(range(COUNT), 50):
        found = store.query("Orders", f"K{number:07d}", 8, 0, NOW_MS * 2)
        assert all(b"K%07d" % number in record for record in found.records), what
    store.close()


@pytest.mark.parametrize("seed", range(16))
def test_a_damaged_log_is_refused_or_reported(sound_store: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    root = tmp_path / "store"
    shutil.copytree(sound_store, root)
    what = _damage(chance.choice(sorted((root / "commitlog").iterdir())), chance)
    try:
        store = open_store(root, verify_on_open_bytes=VERIFY_BYTES)
    except StoreError:
        return
    complaints = 0
    missing = 0
    for queue_id in range(4):
        try:
            numbers = _drain(store, queue_id)
        except (CorruptRecord, StoreError):
            complaints += 1
            continue
        assert numbers == list(range(queue_id, COUNT, 4))[: len(numbers)], what
        missing += COUNT // 4 - len(numbers)
    assert store.recovery is not None
    was_flushed = missing > 25 * 4
    assert not was_flushed or complaints or store.recovery.lost_bytes, what
    store.close()
