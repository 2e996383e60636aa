"""F5–F7: one file of a stopped broker is damaged; then it starts, and nothing wrong is ever read."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import pytest

from tests.crash import damage
from tests.crash import requests as rq
from tests.crash.checker.events import History, Value
from tests.crash.cluster import Broker
from tests.crash.conftest import MakeBroker
from tests.crash.drain import drain
from tests.crash.load import TOPIC, fetch_offsets, stored_value
from tests.crash.prepared import SEGMENT_BYTES, SETTINGS, Place, Prepared, copy_store, prepare
from tests.crash.wire import Link, decode_stored

ASKED_KEYS = 1_000
TextDamage = Callable[[bytes, random.Random], bytes]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def chance(seed: int) -> random.Random:
    return random.Random(seed)


class Patient:
    """One copy of a prepared store: damage it, then see what a broker makes of it."""

    def __init__(self, prepared: Prepared, source: Path, folder: Path, make_broker: MakeBroker) -> None:
        self.prepared = prepared
        self.store = folder / "patient"
        if self.store.exists():
            shutil.rmtree(self.store)
        copy_store(source, self.store)
        self._make_broker = make_broker

    def files(self, pattern: str) -> list[Path]:
        return sorted(path for path in self.store.glob(pattern) if path.is_file())

    def broker(self, **settings: str) -> Broker:
        return self._make_broker(store=self.store, settings={**SETTINGS, **settings})

    def start(self, **settings: str) -> Broker:
        broker = self.broker(**settings)
        broker.start()
        return broker

    def read(self, broker: Broker) -> set[Place]:
        """The places that can be read now; each must hold the very message that it held before."""
        found = set()
        for stored in drain(broker.address, History()):
            place = (stored.queue_id, stored.queue_offset)
            assert stored_value(stored) == self.prepared.value_at(place), f"wrong message at {place}"
            found.add(place)
        return found

    def read_all(self) -> None:
        broker = self.start()
        missing = self.prepared.messages.keys() - self.read(broker)
        assert not missing, f"{len(missing)} messages are gone, such as {sorted(missing)[:5]}"
        still_takes_messages(broker)
        broker.kill()


@pytest.fixture
def admit(prepared: Prepared, tmp_path: Path, make_broker: MakeBroker) -> Callable[[Path], Patient]:
    return lambda source: Patient(prepared, source, tmp_path, make_broker)


Admit = Callable[[Path], Patient]


@pytest.fixture(params=["crashed", "clean"])
def source(request: pytest.FixtureRequest, prepared: Prepared) -> Path:
    return Path(getattr(prepared, request.param))


def still_takes_messages(broker: Broker) -> None:
    with Link(broker.address) as link:
        answer = link.call(rq.SEND_V2, rq.send_fields(TOPIC, 0, "after"), b"after")
        assert answer.code == rq.SUCCESS, answer.remark
        offset = int(answer.fields["queueOffset"])
        pulled = link.call(rq.PULL, rq.pull_fields(TOPIC, "After", 0, offset))
        assert [stored.body for stored in decode_stored(pulled.body)] == [b"after"]


def last_segment(patient: Patient) -> tuple[Path, damage.Range, int]:
    """The segment that holds the end of the log, the range of it that is written, and its first offset."""
    start = patient.prepared.log_end // SEGMENT_BYTES * SEGMENT_BYTES
    return patient.store / "commitlog" / f"{start:020d}", (0, patient.prepared.log_end - start), start


def test_an_undamaged_store_is_read_in_full(admit: Admit, source: Path) -> None:
    admit(source).read_all()


def damage_log_tail(patient: Patient, hurt: damage.Damage, chance: random.Random) -> None:
    """What lies before the damage is kept; the rest is cut; new messages go where the log now ends."""
    path, written, start = last_segment(patient)
    at = hurt(path, written, chance) + start
    broker = patient.start()
    found = patient.read(broker)
    missing = patient.prepared.records_before(at) - found
    assert not missing, f"{len(missing)} records before the damage at {at} are gone"
    still_takes_messages(broker)
    broker.kill()


@pytest.mark.parametrize("hurt", [*damage.TAIL, damage.cut_short], ids=lambda f: f.__name__)
def test_a_torn_tail_of_the_log_is_cut_off(
    admit: Admit, prepared: Prepared, hurt: damage.Damage, chance: random.Random
) -> None:
    damage_log_tail(admit(prepared.crashed), hurt, chance)


FIELDS = {"size": 0, "magic": 4, "body": 88}
"""All others, and both kinds of store for each: tests/engine/store/recovery/test_damage.py."""


@pytest.mark.parametrize(("kind", "field"), [("crashed", "body"), ("clean", "size"), ("clean", "magic")])
def test_a_flipped_bit_costs_one_message(
    admit: Admit, prepared: Prepared, kind: str, field: str, chance: random.Random
) -> None:
    patient = admit(Path(getattr(prepared, kind)))
    place, stored = chance.choice(sorted(patient.prepared.messages.items()))
    path, at = log_place(patient, stored.commit_log_offset + FIELDS[field])
    damage.flip_bit(path, (at, at + 1), chance)
    found = read_around(patient, stored.commit_log_offset, stored.commit_log_offset + stored.size)
    assert place not in found


def test_a_strict_start_is_refused_with_file_and_offset(
    admit: Admit, prepared: Prepared, chance: random.Random
) -> None:
    patient = admit(prepared.clean)
    # Near the end: a start reads this part of the log.
    place = sorted(prepared.messages, key=lambda item: prepared.messages[item].commit_log_offset)[-50]
    stored = prepared.messages[place]
    path, at = log_place(patient, stored.commit_log_offset + 88)
    damage.flip_bit(path, (at, at + 1), chance)
    before = log_bytes(patient)
    with pytest.raises(
        AssertionError, match=f"(?s)damaged at offset {stored.commit_log_offset}.*{path.name}"
    ):
        patient.start(signalboxStrictStart="true")
    assert log_bytes(patient) == before, "a refused start changed the log"


def log_place(patient: Patient, commit_log_offset: int) -> tuple[Path, int]:
    segment = commit_log_offset // SEGMENT_BYTES * SEGMENT_BYTES
    return patient.store / "commitlog" / f"{segment:020d}", commit_log_offset - segment


def read_around(patient: Patient, start: int, end: int) -> set[Place]:
    """All but what lies in [start, end) of the log is delivered; only of a log that was not closed the tail
    that was not known to be on disk may go with it."""
    broker = patient.start()
    found = patient.read(broker)
    messages = patient.prepared.messages
    hurt = {
        place
        for place, stored in messages.items()
        if stored.commit_log_offset < end and start < stored.commit_log_offset + stored.size
    }
    missing = messages.keys() - found - hurt
    if any(stored.commit_log_offset >= end for place, stored in messages.items() if place in found):
        assert not missing, f"{len(missing)} whole records around {start} are gone: {sorted(missing)[:5]}"
    lost = patient.prepared.records_before(start) - found
    assert not lost, f"{len(lost)} records before the damage at {start} are gone"
    still_takes_messages(broker)
    broker.kill()
    return found


def log_bytes(patient: Patient) -> list[tuple[str, int]]:
    return [(path.name, hash(path.read_bytes())) for path in patient.files("commitlog/*")]


def hurt_one(patient: Patient, pattern: str, hurt: damage.Damage, chance: random.Random) -> None:
    path = chance.choice(patient.files(pattern))
    hurt(path, (0, path.stat().st_size), chance)


@pytest.mark.parametrize("hurt", [*damage.ANY, damage.remove], ids=lambda f: f.__name__)
def test_a_damaged_queue_file_is_made_anew(
    admit: Admit, source: Path, hurt: damage.Damage, chance: random.Random
) -> None:
    patient = admit(source)
    hurt_one(patient, f"consumequeue/{TOPIC}/*/*", hurt, chance)
    patient.read_all()


@pytest.mark.parametrize("hurt", [*damage.ANY, damage.remove], ids=lambda f: f.__name__)
def test_a_damaged_checkpoint_costs_nothing(
    admit: Admit, prepared: Prepared, hurt: damage.Damage, chance: random.Random
) -> None:
    patient = admit(prepared.crashed)
    path = patient.store / "checkpoint"
    hurt(path, (0, 40), chance)
    patient.read_all()


@pytest.mark.parametrize("hurt", [*damage.ANY, damage.remove], ids=lambda f: f.__name__)
def test_a_damaged_index_is_made_anew(
    admit: Admit, source: Path, hurt: damage.Damage, chance: random.Random
) -> None:
    damage_index(admit(source), hurt, chance)


def damage_index(patient: Patient, hurt: damage.Damage, chance: random.Random) -> None:
    """All its parts are hit as often: the header, the slots, and the entries that there are."""
    (path,) = patient.files("index/*")
    slots_end = 40 + 4 * int(SETTINGS["maxHashSlotNum"])
    # A key, and the message's own id, for each message; and the first entry is never used.
    entries_end = slots_end + 20 * (2 * len(patient.prepared.messages) + 1)
    hurt(path, chance.choice(((0, 40), (40, slots_end), (slots_end + 20, entries_end))), chance)
    broker = patient.start()
    assert patient.read(broker) == patient.prepared.messages.keys()
    with Link(broker.address) as link:
        for place in chance.sample(sorted(patient.prepared.messages), ASKED_KEYS):
            value = patient.prepared.value_at(place)
            assert value is not None
            check_query(link, value)
    broker.kill()


def check_query(link: Link, value: Value) -> None:
    """The very message is found, and nothing that is damaged."""
    key = f"{value[0]}:{value[1]}"
    fields = {"topic": TOPIC, "key": key, "maxNum": "32", "beginTimestamp": "0", "endTimestamp": str(1 << 62)}
    answer = link.call(rq.QUERY_MESSAGE, fields)
    assert answer.code == rq.SUCCESS, f"{key} is not found: {answer.remark}"
    assert {stored_value(stored) for stored in decode_stored(answer.body)} == {value}


CONFIG_FILES = ("topics.json", "consumerOffset.json", "subscriptionGroup.json")


def tear_config(patient: Patient, name: str, tear: TextDamage, chance: random.Random) -> None:
    path = patient.store / "config" / name
    path.write_bytes(tear(path.read_bytes(), chance))
    broker = patient.start()
    assert patient.read(broker) == patient.prepared.messages.keys()
    offsets = fetch_offsets(broker.address, History())
    for queue, offset in patient.prepared.committed.items():
        assert patient.prepared.earlier[queue] <= offsets[queue] <= offset, f"queue {queue}: {offsets[queue]}"
    still_takes_messages(broker)
    broker.kill()


@pytest.mark.parametrize(
    ("tear", "name"),
    [
        pytest.param(tear, name, id=f"{tear.__name__}-{name}")
        for tear, name in zip(damage.TEXT_DAMAGES, cycle(CONFIG_FILES), strict=False)
    ],
)
def test_a_torn_configuration_file_is_read_from_its_backup(
    admit: Admit, prepared: Prepared, name: str, tear: TextDamage, chance: random.Random
) -> None:
    tear_config(admit(prepared.crashed), name, tear, chance)


@pytest.mark.parametrize("name", CONFIG_FILES)
def test_unreadable_metadata_deletes_no_topic(admit: Admit, prepared: Prepared, name: str) -> None:
    patient = admit(prepared.crashed)
    for path in (patient.store / "config" / name, patient.store / "config" / f"{name}.bak"):
        path.write_bytes(b"\0" * 64)
    before = log_bytes(patient)
    broker = patient.broker()
    try:
        broker.start()
    except AssertionError as refusal:
        assert name in str(refusal), f"the refusal does not name the file: {refusal}"
        assert log_bytes(patient) == before
    else:
        assert patient.read(broker) == patient.prepared.messages.keys()
    assert (patient.store / "consumequeue" / TOPIC).is_dir()


def rounds() -> Iterator[int]:
    return iter(range(int(os.environ.get("DAMAGE_ROUNDS", "50"))))


@pytest.mark.crash_long
class TestFiftyOfEach:
    def test_log_tails(self, admit: Admit, prepared: Prepared, chance: random.Random) -> None:
        for _ in rounds():
            hurt = chance.choice((*damage.TAIL, damage.cut_short))
            damage_log_tail(admit(prepared.crashed), hurt, chance)

    def test_log_middles(self, admit: Admit, prepared: Prepared, chance: random.Random) -> None:
        for _ in rounds():
            patient = admit(chance.choice((prepared.crashed, prepared.clean)))
            path = chance.choice(patient.files("commitlog/*"))
            written = (0, min(SEGMENT_BYTES, prepared.log_end - int(path.name)))
            if written[1] <= damage.MIN_RANGE:
                continue
            at = int(path.name) + chance.choice((damage.zero_page, damage.copy_chunk))(path, written, chance)
            read_around(patient, at, at + 4096)

    def test_queue_files(self, admit: Admit, source: Path, chance: random.Random) -> None:
        for _ in rounds():
            patient = admit(source)
            hurt_one(
                patient, f"consumequeue/{TOPIC}/*/*", chance.choice((*damage.ANY, damage.remove)), chance
            )
            patient.read_all()

    def test_index_files(self, admit: Admit, source: Path, chance: random.Random) -> None:
        for _ in rounds():
            damage_index(admit(source), chance.choice((*damage.ANY, damage.remove)), chance)

    def test_checkpoints(self, admit: Admit, source: Path, chance: random.Random) -> None:
        for _ in rounds():
            patient = admit(source)
            chance.choice((*damage.ANY, damage.remove))(patient.store / "checkpoint", (0, 40), chance)
            patient.read_all()

    @pytest.mark.parametrize("name", CONFIG_FILES)
    def test_configuration(self, admit: Admit, prepared: Prepared, name: str, chance: random.Random) -> None:
        for _ in rounds():
            tear_config(admit(prepared.crashed), name, chance.choice(damage.TEXT_DAMAGES), chance)
