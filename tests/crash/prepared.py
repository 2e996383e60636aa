"""A store with known content to damage: made once, copied for each test.

Several segments, queue files and an index; a group with committed offsets; once as a clean stop left it and
once as kill -9 left it.
"""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from engine.protocol import fastjson
from tests.crash import requests as rq
from tests.crash.checker.events import OK, SEND, History, Value
from tests.crash.cluster import SMALL_STORE, Broker
from tests.crash.drain import drain
from tests.crash.load import GROUP, QUEUES, TOPIC, Producer, create_topic, value_of
from tests.crash.wire import Link, Stored

SETTINGS = {
    **SMALL_STORE,
    "mappedFileSizeConsumeQueue": "2000",
    "flushConsumerOffsetInterval": "100",
    # A busy machine is no reason to refuse a message.
    "waitTimeMillsInSendQueue": "60000",
}
SEGMENT_BYTES = int(SMALL_STORE["mappedFileSizeCommitLog"])
_PRODUCERS, _MESSAGES_EACH = 4, 800
_COMMIT_ROUNDS = 3
_SAVED_S = 30.0

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Prepared:
    crashed: Path
    clean: Path
    messages: dict[Place, Stored]
    committed: dict[int, int]
    earlier: dict[int, int]
    """What was committed in the round before the last: a fallback to the .bak may bring this back."""

    @property
    def log_end(self) -> int:
        return max(stored.commit_log_offset + stored.size for stored in self.messages.values())

    def value_at(self, place: Place) -> Value | None:
        return value_of(self.messages[place].body)

    def records_before(self, commit_log_offset: int) -> set[Place]:
        """The places of all records that lie wholly before this byte of the log."""
        return {
            place
            for place, stored in self.messages.items()
            if stored.commit_log_offset + stored.size <= commit_log_offset
        }


def prepare(folder: Path) -> Prepared:
    broker = Broker(folder, settings=SETTINGS)
    try:
        broker.start()
        create_topic(broker.address)
        _fill(broker)
        # A later change, so that the backups know the topic, too.
        create_topic(broker.address, "Later")
        offsets = [_commit(broker, round_) for round_ in range(1, _COMMIT_ROUNDS + 1)]
        messages = {
            (stored.queue_id, stored.queue_offset): stored for stored in drain(broker.address, History())
        }
        broker.kill()
        copy_store(broker.store, folder / "crashed")
        broker.start()
        broker.stop()
        copy_store(broker.store, folder / "clean")
    finally:
        broker.kill()
    assert len(messages) == _PRODUCERS * _MESSAGES_EACH
    return Prepared(folder / "crashed", folder / "clean", messages, offsets[-1], offsets[-2])


def _fill(broker: Broker) -> None:
    history = History()
    producers = [
        Producer(f"p{n}", broker.address, history, window=32, rate_per_s=50_000, count=_MESSAGES_EACH)
        for n in range(_PRODUCERS)
    ]
    for producer in producers:
        producer.start()
    for producer in producers:
        producer.join(60)
    statuses = Counter(event.status for event in history.events() if event.op == SEND)
    assert statuses == {OK: _PRODUCERS * _MESSAGES_EACH}


def _commit(broker: Broker, round_: int) -> dict[int, int]:
    """Commits, and waits until that is in the file (saved every 100 ms here)."""
    offsets = {queue: 100 * round_ + queue for queue in range(QUEUES)}
    with Link(broker.address) as link:
        for queue, offset in offsets.items():
            fields = rq.commit_fields(TOPIC, GROUP, queue, offset)
            assert link.call(rq.UPDATE_OFFSET, fields).code == rq.SUCCESS
    deadline = time.monotonic() + _SAVED_S
    while _saved(broker) != offsets:
        assert time.monotonic() < deadline, "the offsets were never saved"
        time.sleep(0.02)
    return offsets


def _saved(broker: Broker) -> dict[int, int]:
    try:
        data = (broker.store / "config" / "consumerOffset.json").read_bytes()
    except FileNotFoundError:
        # Not yet, or just now: for a moment the old one is the .bak and the new one is not there yet.
        return {}
    table = fastjson.loads(data)["offsetTable"]
    return {int(queue): offset for queue, offset in table.get(f"{TOPIC}@{GROUP}", {}).items()}


def copy_store(source: Path, target: Path) -> Path:
    subprocess.run(["cp", "-a", "--sparse=always", "--", str(source), str(target)], check=True)
    return target
