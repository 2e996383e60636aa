"""Looking through messages within a budget, and saying how far one got.

A scan is over stretches of queues (`Stretch`: next offset, end offset). It takes messages in the order of
their store times over all queues, forwards or backwards, until enough were found, the budget is used up or
nothing is left; what is left are stretches again, so that a scan goes on exactly where it stopped. Messages
that were read ahead and not taken are read again. A queue that cannot be read is a problem that is told, and
its stretch stays: partial is never complete. `Wanted.matches` is pure; time comes from `clock`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from clusters.gateway.stored import StoredMessage, stored
from engine.client.admin import Admin
from engine.client.consuming.pull_requests import PullStatus
from engine.errors import EngineError, NotFound
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.sql92 import sql_filter

BATCH = 32
_AT_ONCE = 16
_MOST_EMPTY_PULLS = 64
"""A broker that answers without messages and without getting on is not asked for ever."""

FOUND_ENOUGH, SCAN_BUDGET, TIME_BUDGET, END, PROBLEM = (
    "found_enough",
    "scan_budget",
    "time_budget",
    "end",
    "problem",
)


@dataclass(frozen=True, slots=True)
class Stretch:
    topic: str
    broker: str
    queue: int
    low: int
    high: int
    """The first offset that is not part of it."""

    @property
    def count(self) -> int:
        return max(0, self.high - self.low)

    @property
    def place(self) -> MessageQueue:
        return MessageQueue(self.topic, self.broker, self.queue)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a message must have. None: does not matter."""

    key: str | None = None
    tag: str | None = None
    property_name: str | None = None
    property_value: str | None = None
    body: str | None = None
    from_ms: int = 0
    to_ms: int = (1 << 63) - 1
    sql: str | None = None
    """An SQL92 expression that parses."""

    def matches(self, message: StoredMessage) -> bool:
        return (
            self.from_ms <= message.stored_ms < self.to_ms
            and (self.tag is None or message.tags == self.tag)
            and (self.key is None or self.key in message.keys or self.key == message.msg_id)
            and self._has_property(message)
            and (self.sql is None or sql_filter(self.sql).wants(message.properties))
            and self._has_text(message)
        )

    def _has_property(self, message: StoredMessage) -> bool:
        if self.property_name is None:
            return True
        value = message.properties.get(self.property_name)
        return value is not None and self.property_value in (None, value)

    def _has_text(self, message: StoredMessage) -> bool:
        return self.body is None or (message.body is not None and self.body.encode() in message.body)


@dataclass(frozen=True, slots=True)
class Budget:
    results: int
    messages: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Scanned:
    found: list[StoredMessage]
    scanned: int
    left: list[Stretch]
    stopped: str
    problems: list[str]
    withheld: int = 0
    """Messages that were passed over because the caller may not search in them, whatever they hold."""


class _Cursor:
    """One queue's stretch with what was read ahead of it."""

    def __init__(self, admin: Admin, stretch: Stretch, *, backwards: bool) -> None:
        self._admin = admin
        self._backwards = backwards
        self.stretch = stretch
        self._ahead: deque[StoredMessage] = deque()
        self._beyond = stretch
        """What is left once all that was read ahead is taken."""
        self.problem = ""

    @property
    def head(self) -> StoredMessage | None:
        return self._ahead[0] if self._ahead else None

    @property
    def needs_reading(self) -> bool:
        return not self._ahead and not self.problem and self._beyond.count > 0

    def take(self) -> StoredMessage:
        message = self._ahead.popleft()
        if not self._ahead:
            self.stretch = self._beyond
        elif self._backwards:
            self.stretch = replace(self.stretch, high=message.queue_offset)
        else:
            self.stretch = replace(self.stretch, low=message.queue_offset + 1)
        return message

    async def read(self) -> None:
        """Until there is a message ahead, or nothing is left."""
        try:
            for _ in range(_MOST_EMPTY_PULLS):
                if not self.needs_reading:
                    break
                await (self._read_backwards() if self._backwards else self._read_forwards())
        except EngineError as error:
            self.problem = f"queue {self.stretch.queue} of {self.stretch.broker}: {error.text}"
        if not self._ahead:
            self.stretch = self._beyond

    async def _read_forwards(self) -> None:
        messages, following = await self._pull(self._beyond.low, BATCH)
        self._ahead.extend(message for message in messages if message.queue_offset < self._beyond.high)
        self._beyond = replace(self._beyond, low=min(following, self._beyond.high))

    async def _read_backwards(self) -> None:
        """The last few: read in as many pulls as the broker cuts them into."""
        low = max(self._beyond.low, self._beyond.high - BATCH)
        at, few = low, []
        while at < self._beyond.high:
            messages, following = await self._pull(at, self._beyond.high - at)
            few += [message for message in messages if message.queue_offset < self._beyond.high]
            at = following
        self._ahead.extend(reversed(few))
        self._beyond = replace(self._beyond, high=low)

    async def _pull(self, offset: int, most: int) -> tuple[list[StoredMessage], int]:
        """What is there, and where it goes on: always further on."""
        result = await self._admin.messages.read(self.stretch.place, offset, max_messages=most)
        if result.status is PullStatus.NO_NEW_MSG or result.max_offset < offset:
            # A copy that is behind, or a topic that was made anew: not the end that we were told of.
            raise NotFound(f"nothing is kept at {offset} now, where there was something")
        # What expired meanwhile, or was compacted away, is stepped over.
        return [stored(message) for message in result.messages], max(result.next_offset, offset + 1)


async def scan(
    admin: Admin,
    stretches: Iterable[Stretch],
    wanted: Wanted,
    budget: Budget,
    *,
    clock: Callable[[], float],
    backwards: bool = False,
    is_hidden: Callable[[StoredMessage], bool] | None = None,
) -> Scanned:
    until = clock() + budget.seconds
    cursors = [_Cursor(admin, stretch, backwards=backwards) for stretch in stretches if stretch.count]
    found: list[StoredMessage] = []
    scanned = withheld = 0
    while True:
        stopped = _limit_reached(budget, len(found), scanned, clock() >= until)
        if stopped is None:
            await _read_ahead(cursors)
            if not (heads := [cursor for cursor in cursors if cursor.head is not None]):
                stopped = END
        if stopped is not None:
            break
        message = _next(heads, backwards=backwards).take()
        scanned += 1
        if is_hidden is not None and is_hidden(message):
            withheld += 1
        elif wanted.matches(message):
            found.append(message)
    problems = [cursor.problem for cursor in cursors if cursor.problem]
    left = [cursor.stretch for cursor in cursors if cursor.stretch.count]
    if problems and stopped == END:
        stopped = PROBLEM
    return Scanned(found, scanned, left, stopped, problems, withheld)


def _limit_reached(budget: Budget, found: int, scanned: int, is_late: bool) -> str | None:
    if found >= budget.results:
        return FOUND_ENOUGH
    if scanned >= budget.messages:
        return SCAN_BUDGET
    return TIME_BUDGET if is_late else None


async def _read_ahead(cursors: list[_Cursor]) -> None:
    waiting = [cursor for cursor in cursors if cursor.needs_reading]
    for first in range(0, len(waiting), _AT_ONCE):
        await asyncio.gather(*(cursor.read() for cursor in waiting[first : first + _AT_ONCE]))


def _next(heads: list[_Cursor], *, backwards: bool) -> _Cursor:
    def age(cursor: _Cursor) -> int:
        return cursor.head.stored_ms if cursor.head is not None else 0

    return max(heads, key=age) if backwards else min(heads, key=age)


async def stretches_between(admin: Admin, topic: str, from_ms: int, to_ms: int | None) -> list[Stretch]:
    """What each queue holds of that time; up to now when no end is given."""

    async def of(queue: MessageQueue) -> Stretch:
        low = await (admin.offsets.offset_at(queue, from_ms) if from_ms else admin.offsets.min_offset(queue))
        high = await admin.offsets.max_offset(queue)
        if to_ms is not None and low < high:
            # The last one at or before the moment; whether it is inside is looked at when it is read.
            high = min(high, await admin.offsets.offset_at(queue, to_ms, upper=True) + 1)
        return Stretch(queue.topic, queue.broker_name, queue.queue_id, low, max(low, high))

    return list(await asyncio.gather(*(of(queue) for queue in await admin.messages.queues(topic))))
