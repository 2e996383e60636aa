"""The load of the crash suite: producers and readers on raw connections that write down what they saw.

Independent of engine.client and without retries, so that every duplicate and every inversion is the broker's.
A body is made of its value alone, so one flipped bit makes it the body of nobody. Threads: the load is light
(about 2,000 messages per second) and must end when its broker dies.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.crash import requests as rq
from tests.crash.checker.events import (
    ASSIGN,
    COMMIT,
    FAIL,
    FETCH,
    FRONT,
    INFO,
    OK,
    PULL,
    SEND,
    Event,
    History,
    Value,
)
from tests.crash.wire import Address, Answer, Link, Stored, decode_stored, encode_request

TOPIC = "CrashTopic"
GROUP = "CrashGroup"
QUEUES = 8
BODY_BYTES = 1024
SEND_TIMEOUT_S = 6.0
BUSY_S = 30.0

Clock = Callable[[], float]


def body_of(value: Value, size_bytes: int = BODY_BYTES) -> bytes:
    seed = f"{value[0]}:{value[1]};".encode()
    return (seed * (size_bytes // len(seed) + 1))[: max(size_bytes, len(seed))]


def value_of(body: bytes) -> Value | None:
    """Whose body this is; None when no producer made it, byte for byte."""
    head, _, _ = body.partition(b";")
    producer, _, seq = head.decode("latin-1").rpartition(":")
    if not seq.isdigit():
        return None
    value = (producer, int(seq))
    return value if body == body_of(value, len(body)) else None


@dataclass(frozen=True, slots=True)
class Sent:
    value: Value
    queue: int
    t_invoke: float


class Producer(threading.Thread):
    """Sends to all queues in turn with up to `window` requests in flight, until told or until the broker is
    gone.
    """

    def __init__(
        self,
        name: str,
        address: Address,
        history: History,
        *,
        window: int = 1,
        first_seq: int = 0,
        rate_per_s: float = 500.0,
        count: int | None = None,
        topic: str = TOPIC,
        body_bytes: int = BODY_BYTES,
        timeout_s: float = SEND_TIMEOUT_S,
        node: str = "",
        epoch: int = 0,
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._address = address
        self._node, self._epoch = node, epoch
        self._history = history
        self._window = window
        self._pause_s = 1.0 / rate_per_s
        self._last_seq = None if count is None else first_seq + count
        self._topic = topic
        self._body_bytes = body_bytes
        self._timeout_s = timeout_s
        self._clock = clock
        self._in_flight: dict[int, Sent] = {}
        self._quit = threading.Event()
        self.next_seq = first_seq
        self.codes: dict[int, int] = {}

    def stop(self) -> None:
        self._quit.set()

    def run(self) -> None:
        try:
            with Link(self._address) as link:
                self._produce(link)
        except OSError:
            pass
        now = self._clock()
        self._history.add(*(self._event(sent, now, INFO) for sent in self._in_flight.values()))
        self._in_flight.clear()

    def _produce(self, link: Link) -> None:
        due = self._clock()
        while not self._quit.is_set() and self.next_seq != self._last_seq:
            self._send_one(link)
            due += self._pause_s
            while len(self._in_flight) >= self._window:
                self._take(link.receive(self._timeout_s))
            ahead_s = due - self._clock()
            if ahead_s > 0:
                self._quit.wait(ahead_s)
            elif ahead_s < -0.2:
                due = self._clock()  # the broker sets the pace: do not save up a burst
        while self._in_flight:
            self._take(link.receive(self._timeout_s))

    def _send_one(self, link: Link) -> None:
        value = (self.name, self.next_seq)
        queue = self.next_seq % QUEUES
        self.next_seq += 1
        key = f"{value[0]}:{value[1]}"
        opaque = link.next_opaque()
        fields = rq.send_fields(self._topic, queue, key)
        # Registered before the write: a send that broke half way is of unknown fate.
        self._in_flight[opaque] = Sent(value, queue, self._clock())
        link.write(encode_request(rq.SEND_V2, opaque, fields, body_of(value, self._body_bytes)))

    def _take(self, answers: list[Answer]) -> None:
        now = self._clock()
        for answer in answers:
            sent = self._in_flight.pop(answer.opaque, None)
            if sent is None:
                continue
            self.codes[answer.code] = self.codes.get(answer.code, 0) + 1
            status = rq.send_status(answer.code)
            offset = int(answer.fields["queueOffset"]) if status == OK else -1
            self._history.add(self._event(sent, now, status, offset))

    def _event(self, sent: Sent, now: float, status: str, offset: int = -1) -> Event:
        return Event(
            SEND,
            self.name,
            sent.t_invoke,
            now,
            status,
            self._topic,
            sent.queue,
            f"{sent.value[0]}:{sent.value[1]}",
            sent.value,
            offset,
            self._node,
            self._epoch,
        )


class Reader(threading.Thread):
    """Holds a long poll on every queue, writes down what comes, and commits now and then."""

    def __init__(
        self,
        name: str,
        address: Address,
        history: History,
        *,
        group: str = GROUP,
        offsets: dict[int, int] | None = None,
        commit_every_s: float = 0.1,
        clock: Clock = time.monotonic,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._address = address
        self._history = history
        self._group = group
        self._commit_every_s = commit_every_s
        self._clock = clock
        self._polls: dict[int, int] = {}
        self._commits: dict[int, Event] = {}
        self._committed: dict[int, int] = {}
        self._quit = threading.Event()
        self.refusals: list[Answer] = []
        self.offsets = {queue: (offsets or {}).get(queue, 0) for queue in range(QUEUES)}

    def stop(self) -> None:
        self._quit.set()

    def run(self) -> None:
        try:
            with Link(self._address) as link:
                for queue in self.offsets:
                    self._history.add(assign_event(self.name, queue, self.offsets[queue]))
                    self._poll(link, queue)
                self._read(link)
        except OSError:
            pass
        self._history.add(*self._commits.values())

    def _read(self, link: Link) -> None:
        next_commit = self._clock() + self._commit_every_s
        while not self._quit.is_set():
            try:
                for answer in link.receive(0.05):
                    self._take(link, answer)
            except TimeoutError:
                pass
            if self._clock() >= next_commit:
                next_commit = self._clock() + self._commit_every_s
                self._commit(link)

    def _poll(self, link: Link, queue: int) -> None:
        fields = rq.pull_fields(TOPIC, self._group, queue, self.offsets[queue], suspend_ms=15_000)
        self._polls[link.request(rq.PULL, fields)] = queue

    def _commit(self, link: Link) -> None:
        for queue, offset in self.offsets.items():
            if offset == self._committed.get(queue, 0):
                continue
            self._committed[queue] = offset
            now = self._clock()
            event = Event(COMMIT, self.name, now, now, INFO, TOPIC, queue, self._group, None, offset)
            opaque = link.next_opaque()
            self._commits[opaque] = event
            fields = rq.commit_fields(TOPIC, self._group, queue, offset)
            link.write(encode_request(rq.UPDATE_OFFSET, opaque, fields))

    def _take(self, link: Link, answer: Answer) -> None:
        commit = self._commits.pop(answer.opaque, None)
        if commit is not None:
            status = OK if answer.code == rq.SUCCESS else FAIL
            self._history.add(replace(commit, t_done=self._clock(), status=status))
            return
        queue = self._polls.pop(answer.opaque, None)
        if queue is None:
            return
        if answer.code not in rq.PULL_CODES:
            self.refusals.append(answer)
            self._quit.set()
            return
        if answer.code == rq.SUCCESS:
            self._history.add(*read_events(self.name, queue, answer.body, self._clock()))
        following = int(answer.fields["nextBeginOffset"])
        if answer.code == rq.PULL_MOVED:
            self._history.add(assign_event(self.name, queue, following))
            if following > self.offsets[queue]:
                self._history.add(front_event(self.name, queue, following))
        self.offsets[queue] = following
        self._poll(link, queue)


def assign_event(proc: str, queue: int, offset: int, topic: str = TOPIC) -> Event:
    return Event(ASSIGN, proc, topic=topic, queue=queue, offset=offset)


def front_event(proc: str, queue: int, offset: int, topic: str = TOPIC, node: str = "") -> Event:
    now = time.monotonic()
    return Event(FRONT, proc, now, now, topic=topic, queue=queue, offset=offset, node=node)


def read_events(proc: str, queue: int, body: bytes, now: float, topic: str = TOPIC) -> list[Event]:
    return [
        Event(PULL, proc, now, now, OK, topic, queue, "", stored_value(stored), stored.queue_offset)
        for stored in decode_stored(body)
    ]


def stored_value(stored: Stored) -> Value | None:
    return value_of(stored.body) if stored.crc_is_right else None


def fetch_offsets(address: Address, history: History, *, group: str = GROUP) -> dict[int, int]:
    """The group's offsets as the broker knows them now, also written into the history."""
    offsets = {}
    with Link(address) as link:
        for queue in range(QUEUES):
            now = time.monotonic()
            answer = link.call(rq.QUERY_OFFSET, rq.fetch_fields(TOPIC, group, queue))
            offset = int(answer.fields["offset"]) if answer.code == rq.SUCCESS else -1
            history.add(Event(FETCH, "fetch", now, time.monotonic(), OK, TOPIC, queue, group, None, offset))
            if offset >= 0:
                offsets[queue] = offset
    return offsets


def send_surely(
    link: Link, fields: dict[str, str], body: bytes, *, code: int = rq.SEND_V2, timeout_s: float = 5.0
) -> Answer:
    """Once more for as long as the broker says that it is busy: that means that nothing was stored."""
    deadline = time.monotonic() + BUSY_S
    while (answer := link.call(code, fields, body, timeout_s=timeout_s)).code == rq.SYSTEM_BUSY:
        assert time.monotonic() < deadline, f"busy for {BUSY_S} s: {answer.remark}"
    return answer


def create_topic(address: Address, topic: str = TOPIC, queues: int = QUEUES) -> None:
    with Link(address) as link:
        answer = link.call(rq.CREATE_TOPIC, rq.topic_fields(topic, queues))
    if answer.code != rq.SUCCESS:
        raise AssertionError(f"topic was not created: {answer.code} {answer.remark}")
