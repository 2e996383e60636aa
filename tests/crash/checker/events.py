"""The history of a run: one JSON line per event, written by every client of the run.

    {"t_invoke":12.1,"t_done":12.2,"proc":"p0","op":"send","topic":"T","queue":3,"key":"p0:17",
     "value":["p0",17],"offset":41,"status":"ok","node":"broker-a","epoch":0}

Times are seconds of one monotonic clock. `value` is (producer, sequence) and unique in a run. A pull that
brought n messages is n events. `ok` = acknowledged (or read); `fail` = refused before the append, so it must
never be seen; `info` = its fate is unknown (timeout, reset, stored-but-not-flushed codes).

Operations: `send`; `pull` (one message read; value None means that the body is not one that any producer
made); `commit` and `fetch` (a group's offset written and read back, key = group); `assign` (a reader starts
afresh in a queue at `offset`); `nemesis` (key = what was done). The mark `drain` says: from here on, every
queue is read again from its beginning to its end, so what is not read after the LAST such mark is not in the
log any more. `front` says that nothing of a queue is shown below `offset`, by a member (`node`) or to a
reader (`proc`); `expire` says that what is below `offset` has become old enough to be deleted. `crown` says
that `node` is master of `epoch` from now on; sends carry the node that they went to and the epoch that it
reigned in when the connection was made.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

Value = tuple[str, int]
Place = tuple[str, int, int]

SEND, PULL, COMMIT, FETCH, ASSIGN, NEMESIS = "send", "pull", "commit", "fetch", "assign", "nemesis"
CROWN = "crown"
FRONT, EXPIRE = "front", "expire"
OK, FAIL, INFO = "ok", "fail", "info"

DRAIN = "drain"
CRASH = "crash"
CLEAN_STOP = "clean-stop"


@dataclass(frozen=True, slots=True)
class Event:
    op: str
    proc: str = ""
    t_invoke: float = 0.0
    t_done: float = 0.0
    status: str = OK
    topic: str = ""
    queue: int = -1
    key: str = ""
    value: Value | None = None
    offset: int = -1
    node: str = ""
    epoch: int = 0

    @property
    def place(self) -> Place:
        return (self.topic, self.queue, self.offset)

    def is_mark(self, key: str) -> bool:
        return self.op == NEMESIS and self.key == key


def encode_event(event: Event) -> bytes:
    return orjson.dumps(asdict(event)) + b"\n"


def decode_event(line: bytes) -> Event:
    fields = orjson.loads(line)
    value = fields.get("value")
    if value is not None:
        fields["value"] = (value[0], value[1])
    return Event(**fields)


class History:
    """Collects events from several threads; `save` leaves the evidence of a failed run behind."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._lock = threading.Lock()
        self._events = list(events)

    def add(self, *events: Event) -> None:
        with self._lock:
            self._events.extend(events)

    def events(self) -> list[Event]:
        with self._lock:
            return list(self._events)

    def save(self, path: Path) -> None:
        with path.open("wb") as file:
            file.writelines(encode_event(event) for event in self.events())


def read_history(path: Path) -> Iterator[Event]:
    with path.open("rb") as file:
        for line in file:
            if line.strip():
                yield decode_event(line)
