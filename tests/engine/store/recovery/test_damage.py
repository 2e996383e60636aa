"""One damaged file of any kind: derived files heal, the log is never read wrong nor lost in silence."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from engine.errors import StoreError
from tests.engine.store.samples import NOW_MS, SEGMENT_SIZE, consume, crash, fill, flush_all, open_store

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
        assert consume(store, queue_id=queue_id) == (list(range(queue_id, COUNT, 4)), []), what
    for number in chance.sample(range(COUNT), 50):
        found = store.search.query("Orders", f"K{number:07d}", 8, 0, NOW_MS * 2)
        assert all(b"K%07d" % number in record for record in found.records), what
    store.close()


@pytest.mark.parametrize("seed", range(16))
def test_a_damaged_log_loses_only_what_is_damaged(sound_store: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    root = tmp_path / "store"
    shutil.copytree(sound_store, root)
    what = _damage(chance.choice(sorted((root / "commitlog").iterdir())), chance)
    try:
        store = open_store(root, verify_on_open_bytes=VERIFY_BYTES)
    except StoreError:
        assert "truncate" in what  # a segment in the middle that is too short
        return
    reported = delivered = 0
    for queue_id in range(4):
        numbers, damages = consume(store, queue_id=queue_id)
        assert numbers == sorted(set(numbers)) and all(number % 4 == queue_id for number in numbers), what
        reported += len(damages)
        delivered += len(numbers)
    assert store.recovery is not None
    cut_off = COUNT - delivered - reported
    # What was never known to be on disk may go with the tail; everything else is delivered or named.
    assert cut_off <= 100 or store.recovery.lost_bytes, what
    assert reported <= 12, what
    store.close()


FIELDS = {"size": 0, "magic": 4, "crc": 8, "queue id": 12, "queue offset": 20, "offset": 28, "body": 100}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("segment", ["old", "hot"])
def test_one_flipped_byte_costs_one_message(tmp_path: Path, field: str, segment: str) -> None:
    """The hot one is read and checked at the start, the old one when somebody reads it."""
    store = open_store(tmp_path, verify_on_open_bytes=VERIFY_BYTES)
    results = fill(store, COUNT)
    store.close()
    victim = 40 if segment == "old" else COUNT - 30
    place = results[victim].commit_log_offset
    file, pos = divmod(place, SEGMENT_SIZE)
    path = tmp_path / "commitlog" / f"{file * SEGMENT_SIZE:020d}"
    flip(path, pos + FIELDS[field])
    store = open_store(tmp_path, verify_on_open_bytes=VERIFY_BYTES)
    for queue_id in range(4):
        numbers, damages = consume(store, queue_id=queue_id)
        assert numbers == [number for number in range(queue_id, COUNT, 4) if number != victim]
        if victim % 4 == queue_id:
            assert [item[2:5] for item in damages] == [(victim // 4, place, results[victim].size)]
            assert damages[0].file == path.name
        else:
            assert damages == []
    store.close()


def test_the_length_of_properties_is_checked_and_their_letters_are_not(tmp_path: Path) -> None:
    """RocketMQ's record has a checksum for its body only."""
    store = open_store(tmp_path, verify_on_open_bytes=1)
    results = fill(store, 100, queues=1)
    store.close()
    path = tmp_path / "commitlog" / f"{0:020d}"
    data = path.read_bytes()
    ends = [results[number].commit_log_offset + results[number].size for number in (3, 7)]
    first = data.index(b"UNIQ_KEY", results[3].commit_log_offset)
    flip(path, first - 1)
    flip(path, ends[1] - 1)
    store = open_store(tmp_path, verify_on_open_bytes=1)
    numbers, damages = consume(store)
    assert numbers == [number for number in range(100) if number != 3]
    assert [item.queue_offset for item in damages] == [3]
    store.close()


def test_damage_of_a_hot_record_is_no_longer_served_once_it_is_known(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    results = fill(store, 50, queues=1)
    flush_all(store)
    path = tmp_path / "commitlog" / f"{0:020d}"
    flip(path, results[20].commit_log_offset + 100)
    plan = store.repairs.plan_scrub(0, 1 << 20)
    assert plan is not None
    found = plan.run()
    part = results[20].commit_log_offset, results[20].commit_log_offset + results[20].size
    assert [(item.start, item.end, item.message) for item in found.damaged] == [(*part, ("Orders", 0, 20))]
    store.repairs.damaged.add(*part)
    numbers, damages = consume(store)
    assert numbers == [number for number in range(50) if number != 20]
    assert [item.queue_offset for item in damages] == [20]
    store.close()


@pytest.mark.parametrize("slice_bytes", [300, 1000, 1 << 20])
def test_a_scrub_finds_every_damaged_record(tmp_path: Path, slice_bytes: int) -> None:
    store = open_store(tmp_path)
    results = fill(store, COUNT)
    flush_all(store)
    victims = [0, 1, 50, 300, 700, COUNT - 1]
    for victim in victims:
        file, pos = divmod(results[victim].commit_log_offset, SEGMENT_SIZE)
        flip(tmp_path / "commitlog" / f"{file * SEGMENT_SIZE:020d}", pos + 100)
    offset, starts, size = 0, [], 0
    while (plan := store.repairs.plan_scrub(offset, slice_bytes)) is not None:
        found = plan.run()
        assert found.next_offset > offset
        offset, size = found.next_offset, size + found.byte_count
        starts += [item.start for item in found.damaged]
    assert offset == store.log.max_offset
    wanted = [results[victim].commit_log_offset for victim in victims]
    # Two damaged neighbours are one part; the last record has none behind it.
    assert starts == [place for place in wanted if place != results[1].commit_log_offset]
    store.close()


def test_a_record_is_repaired_with_its_own_bytes_only(tmp_path: Path) -> None:
    store = open_store(tmp_path, verify_on_open_bytes=1)
    results = fill(store, 100, queues=1)
    flush_all(store)
    path = tmp_path / "commitlog" / f"{0:020d}"
    sound = path.read_bytes()
    offset, size = results[5].commit_log_offset, results[5].size
    good = sound[offset : offset + size]
    for at in (0, 100):
        flip(path, offset + at)
    bad = path.read_bytes()[offset : offset + size]
    place = store.repairs.locate(offset, size)
    assert place is not None and not place.accepts(place.read())
    other = sound[results[6].commit_log_offset :][: results[6].size]
    for wrong in (bad, good[:-1], good + b"\0", other, good[:100] + b"?" + good[101:], b""):
        assert store.repairs.write(place, wrong) is None
    store.repairs.keep_aside(place, bad)
    sync = store.repairs.write(place, good)
    assert sync is not None
    sync()
    store.repairs.repaired(place)
    assert path.read_bytes() == sound
    kept = tmp_path / "damaged" / f"{offset:020d}-{size}"
    assert kept.read_bytes() == bad
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert consume(store) == (list(range(100)), [])
    store.close()


def test_a_repair_gives_a_queue_that_was_rebuilt_its_units_back(tmp_path: Path) -> None:
    store = open_store(tmp_path, verify_on_open_bytes=1)
    results = fill(store, 100, queues=2)
    store.close()
    path = tmp_path / "commitlog" / f"{0:020d}"
    sound = path.read_bytes()
    start, end = results[10].commit_log_offset, results[13].commit_log_offset
    path.write_bytes(sound[:start] + bytes(end - start) + sound[end:])
    shutil.rmtree(tmp_path / "consumequeue" / "Orders")
    store = open_store(tmp_path, verify_on_open_bytes=1)
    assert [len(consume(store, queue_id=queue_id)[1]) for queue_id in range(2)] == [2, 1]
    tagged = store.queues.get("Orders", 0, 5, 1, matches=lambda code: False)
    assert tagged.count == 1  # a filter does not hide what is damaged
    place = store.repairs.locate(start, end - start)
    assert place is not None
    sync = store.repairs.write(place, sound[start:end])
    assert sync is not None
    sync()
    store.repairs.repaired(place)
    assert [consume(store, queue_id=queue_id) for queue_id in range(2)] == [
        (list(range(0, 100, 2)), []),
        (list(range(1, 100, 2)), []),
    ]
    store.close()


def flip(path: Path, pos: int) -> None:
    with open(path, "r+b") as file:
        file.seek(pos)
        byte = file.read(1)[0]
        file.seek(pos)
        file.write(bytes([byte ^ 0x10]))
