"""The window of one queue: messages that were pulled and are not yet consumed. Pure.

Messages arrive in order and may finish in any order; what may be committed is the smallest offset that is not
finished, so a crash redelivers and never skips. Orderly consumers and polls instead take from the front;
orderly ones put back what they could not consume. Once the queue is dropped (it is another member's share),
the window's offsets must not be committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from engine.client.messages import ReceivedMessage

LOCK_LEASE_MS = 30_000
"""How long a lock counts as held after the broker last confirmed it; the broker keeps it for 60 s."""


class ProcessQueue:
    __slots__ = (
        "_finished",
        "_front",
        "_taken",
        "_waiting",
        "highest_offset",
        "is_dropped",
        "last_consumed_ms",
        "last_pulled_ms",
        "locked_at_ms",
        "message_count",
        "size_bytes",
    )

    def __init__(self) -> None:
        # Offsets in the order of the queue, finished ones cut off at the left.
        self._front: deque[int] = deque()
        self._finished: set[int] = set()
        self._waiting: deque[ReceivedMessage] = deque()
        self._taken: list[ReceivedMessage] = []
        self.highest_offset = -1
        self.message_count = 0
        self.size_bytes = 0
        self.is_dropped = False
        self.locked_at_ms: float | None = None
        self.last_pulled_ms = 0
        self.last_consumed_ms = 0

    @property
    def lowest_offset(self) -> int:
        return self._front[0] if self._front else -1

    @property
    def span(self) -> int:
        return self.highest_offset - self._front[0] if self._front else 0

    def is_full(self, max_messages: int, max_bytes: int, max_span: int) -> bool:
        return self.message_count >= max_messages or self.size_bytes >= max_bytes or self.span >= max_span > 0

    def add(self, messages: Sequence[ReceivedMessage], *, waiting: bool = False) -> None:
        """`waiting` messages are to be taken from the front (`take`)."""
        for message in messages:
            self._front.append(message.queue_offset)
            self.size_bytes += len(message.record.body)
        self.message_count += len(messages)
        if messages:
            self.highest_offset = messages[-1].queue_offset
        if waiting:
            self._waiting.extend(messages)

    def finish(self, messages: Iterable[ReceivedMessage]) -> int | None:
        """These are consumed. Returns the offset that may be committed; None if nothing was ever pulled."""
        for message in messages:
            self._finished.add(message.queue_offset)
            self.size_bytes -= len(message.record.body)
            self.message_count -= 1
        front, finished = self._front, self._finished
        while front and front[0] in finished:
            finished.remove(front.popleft())
        if front:
            return front[0]
        return self.highest_offset + 1 if self.highest_offset >= 0 else None

    # -- orderly --------------------------------------------------------------------------------------------

    def take(self, most: int) -> list[ReceivedMessage]:
        """The next messages in order; nothing else may be taken until they are committed or put back."""
        self._taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        return list(self._taken)

    def commit_taken(self) -> int | None:
        taken, self._taken = self._taken, []
        return self.finish(taken)

    def put_back(self) -> None:
        self._waiting.extendleft(reversed(self._taken))
        self._taken = []

    def is_locked(self, now_ms: float) -> bool:
        return self.locked_at_ms is not None and now_ms - self.locked_at_ms < LOCK_LEASE_MS
