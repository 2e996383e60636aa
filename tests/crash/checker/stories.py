"""Short forms to write histories by hand: planted bad ones and good ones, for the tests of the checkers."""

from __future__ import annotations

from tests.crash.checker.events import (
    ASSIGN,
    COMMIT,
    CRASH,
    DRAIN,
    EXPIRE,
    FETCH,
    FRONT,
    NEMESIS,
    OK,
    PULL,
    SEND,
    Event,
)

TOPIC = "T"


def sent(
    producer: str, seq: int, offset: int = -1, *, queue: int = 0, status: str = OK, t: float = 0
) -> Event:
    return Event(
        SEND,
        producer,
        t,
        t,
        status=status,
        topic=TOPIC,
        queue=queue,
        value=(producer, seq),
        offset=offset,
    )


def read(producer: str, seq: int, offset: int, *, queue: int = 0, by: str = "c0") -> Event:
    return Event(PULL, by, topic=TOPIC, queue=queue, value=(producer, seq), offset=offset)


def assigned(offset: int, *, queue: int = 0, by: str = "c0") -> Event:
    return Event(ASSIGN, by, topic=TOPIC, queue=queue, offset=offset)


def committed(offset: int, *, t: float = 0, status: str = OK) -> Event:
    return Event(COMMIT, "c0", t, t, status=status, topic=TOPIC, queue=0, key="G", offset=offset)


def fetched(offset: int, *, t: float = 0) -> Event:
    return Event(FETCH, "c0", t, t, topic=TOPIC, queue=0, key="G", offset=offset)


def front(offset: int, *, queue: int = 0, node: str = "master") -> Event:
    return Event(FRONT, "front", topic=TOPIC, queue=queue, offset=offset, node=node)


def expired(offset: int, *, queue: int = 0) -> Event:
    return Event(EXPIRE, "nemesis", topic=TOPIC, queue=queue, offset=offset)


def mark(key: str, *, t: float = 0) -> Event:
    return Event(NEMESIS, "nemesis", t, t, key=key)


def good_story() -> list[Event]:
    """Two producers, two queues, a reader, a crash in flight, a restart and a drain: nothing wrong."""
    live = [
        assigned(0),
        assigned(0, queue=1),
        sent("a", 0, 0, t=1),
        read("a", 0, 0),
        sent("b", 0, 0, queue=1, t=1),
        sent("a", 1, 1, t=2),
        read("b", 0, 0, queue=1),
        committed(1, t=2),
        sent("a", 2, status="info", t=3),
        sent("b", 1, status="fail", t=3),
        sent("b", 2, 1, queue=1, t=3),
        sent("a", 3, status="info", t=3),
    ]
    after = [
        mark(CRASH, t=4),
        fetched(1, t=5),
        mark(DRAIN, t=5),
        assigned(0, by="d"),
        assigned(0, queue=1, by="d"),
        read("a", 0, 0, by="d"),
        read("a", 1, 1, by="d"),
        read("a", 2, 2, by="d"),
        read("b", 0, 0, queue=1, by="d"),
        read("b", 2, 1, queue=1, by="d"),
    ]
    return live + after
