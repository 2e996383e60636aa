"""Where a group begins."""

from __future__ import annotations

import pytest

from engine.client.consuming.offsets import RemoteOffsets, StartOffsets
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import ConsumeFromWhere

PLAIN, RETRY = MessageQueue("t", "a", 0), MessageQueue("%RETRY%g", "a", 0)
LAST = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
TIMESTAMP = ConsumeFromWhere.CONSUME_FROM_TIMESTAMP


class Queue:
    """A queue of 10 messages, of which the sixth was stored at the time asked for."""

    def __init__(self, committed: int | None) -> None:
        self.offset = committed
        self.end = 10

    async def committed(self, group: str, queue: MessageQueue) -> int | None:
        self.end += 1  # somebody sends meanwhile
        return self.offset

    async def max_offset(self, queue: MessageQueue) -> int:
        return self.end

    async def offset_at(self, queue: MessageQueue, timestamp_ms: int) -> int:
        return 6


async def start(from_where: ConsumeFromWhere, queue: MessageQueue, committed: int | None = None) -> int:
    side = Queue(committed)
    store = RemoteOffsets("g", side)  # type: ignore[arg-type]
    return await StartOffsets(store, side, from_where, 1).of(queue)  # type: ignore[arg-type]


@pytest.mark.parametrize("from_where", [LAST, FIRST, TIMESTAMP])
@pytest.mark.parametrize("queue", [PLAIN, RETRY])
async def test_a_stored_offset_counts_before_all(from_where: ConsumeFromWhere, queue: MessageQueue) -> None:
    assert await start(from_where, queue, committed=3) == 3


async def test_last_is_the_end_before_the_question() -> None:
    assert await start(LAST, PLAIN) == 10


async def test_first_and_timestamp() -> None:
    assert await start(FIRST, PLAIN) == 0
    assert await start(TIMESTAMP, PLAIN) == 6


async def test_retry_queues_begin_at_their_first_message_unless_by_time() -> None:
    assert await start(LAST, RETRY) == 0
    assert await start(FIRST, RETRY) == 0
    assert await start(TIMESTAMP, RETRY) == 11
