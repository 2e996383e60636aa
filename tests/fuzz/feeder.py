"""`python -m tests.fuzz.feeder COUNT`: gives mutants to the compiled modules, for whoever watches the memory.

What they make of them is judged by their suites; here it only matters that they come back. Says the seed.
"""

from __future__ import annotations

import random
import sys

from engine.errors import EngineError
from engine.protocol import _batches_cy, _frames_cy, _index_cy, _places_cy, _records_cy, _sends_cy, _units_cy
from engine.protocol._batches_cy import encode_batch_records, measure_batch, message_ids
from engine.protocol._frames_cy import cut_frames
from engine.protocol._index_cy import chain_entries, write_slots
from engine.protocol._records_cy import derive_records, scan_records
from engine.protocol._sends_cy import PlainSend
from engine.protocol._units_cy import plain_spans
from engine.protocol.batches import BatchItem, encode_batch
from engine.protocol.commands import Command, encode_command
from engine.protocol.records import RecordForm, encode_record
from tests.fuzz.mutants import Breeder, every_cut

HOST = bytes(8)
PROPERTIES = "UNIQ_KEY\x01K7\x02WAIT\x01true\x02TAGS\x01blue\x02KEYS\x01a b\x02"
VALUES = ("g", "t", "TBW102", "4", "3", "0", "17", "9", PROPERTIES, "0", "false", "false")
FIELDS = dict(zip("abcdefghijkm", VALUES, strict=True))
PLAIN = PlainSend("t", 4, HOST, b"CLUSTER\x01c\x02", (b"{", b",", b",", b",", b",", b"}"))
OFFSETS = {("t", number): 10**12 for number in range(4)}
BATCH = encode_batch([BatchItem(number, bytes(number), PROPERTIES.encode()) for number in range(5)])
LOG = b"".join(
    encode_record(topic=topic, body=b"body" * 9, properties={"UNIQ_KEY": "k", "KEYS": "a b", "DELAY": "3"})
    for topic in ("t", "SCHEDULE_TOPIC_XXXX", "t" * 200)
)
FORM = RecordForm(b"topic", 8, HOST)
TEMPLATE = FORM.encode(0, 1, 0, 0, 0, 0, 2, HOST, 3, 0, 0, b"", b"")


def feed_frames(data: bytes) -> None:
    try:
        commands, _ = cut_frames(data, 1 << 20, 1 << 17)
    except EngineError:
        return
    for command in commands:
        feed_fields(command.fields, bytes(command.body))


def feed_fields(fields: dict[str, str], body: bytes) -> None:
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    for given in (texts, {**FIELDS, **texts}):
        try:
            PLAIN.put(given, body, 7, HOST, OFFSETS, 1 << 40, 1 << 60, 1_700_000_000_000)
        except UnicodeEncodeError:
            continue  # a lone surrogate, which no frame carries


def feed_batch(body: bytes) -> None:
    try:
        batch = measure_batch(body)
    except EngineError:
        return
    _, offsets = encode_batch_records(batch, TEMPLATE, FORM.fixed_bytes, 5, 1 << 40)
    message_ids("7F00000100002A9F", tuple(offsets))


def feed_log(log: bytes) -> None:
    for end in (len(log), max(len(log) - 3, 0)):
        scan_records(log, 0, end, False, 10)
        derived = derive_records(log, 0, end, False, 10, -1, None, (1, 2), 0)
        for _, _, _, units in derived.runs:
            plain_spans(bytes(units[: len(units) - 3]), 0, 1000)
        keys = derived.keys
        slots = bytearray(40 + 4 * 7)
        entries, _ = chain_entries(keys, slots, 40, 7, 1, 5)
        write_slots(entries, slots, 40, 7, 1)


def damaged(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(changed))
        changed[at] = chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)))
    return bytes(changed[: chance.randint(0, len(changed))] if chance.random() < 0.3 else changed)


def main() -> None:
    count = int(sys.argv[1])
    seed = random.randrange(1 << 32)
    modules = (_batches_cy, _frames_cy, _index_cy, _places_cy, _records_cy, _sends_cy, _units_cy)
    print("seed", seed, "compiled", all(module.is_compiled() for module in modules), flush=True)
    chance = random.Random(seed)
    good = encode_command(Command(310, opaque=5, fields=FIELDS, body=b"hello"))
    breeder = Breeder(seed, [good, good * 3], [10, 11, 310, 320])
    for mutant in every_cut(good):
        feed_frames(mutant.data)
    for cut in range(max(len(BATCH), len(LOG)) + 1):
        feed_batch(BATCH[:cut])
        feed_log(LOG[:cut])
    for number in range(count):
        feed_frames(breeder.soft().data if number % 2 else breeder.hard().data)
        feed_frames(damaged(good, chance))
        feed_batch(damaged(BATCH, chance))
        feed_log(damaged(LOG, chance))


if __name__ == "__main__":
    main()
