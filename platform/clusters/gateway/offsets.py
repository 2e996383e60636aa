"""Where a group stands on every queue of its topics, and putting it elsewhere.

A reset is RocketMQ's own (222), one queue at a time, so that online members are sent to the new offset by the
broker; brokers that do not move an offline group that way are told by a commit. RocketMQ 4 does not know a
reset of one queue: it would move all of them, to the end. There a group must be offline, and is moved by
commits. What counts is what is read back afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import ask, each
from clusters.gateway.writes import known_masters
from console.core.problems import Problem
from engine.client.admin import Admin
from engine.errors import EngineError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.codes import ResponseCode
from engine.protocol.names import is_retry_topic

_AT_ONCE = 32
_DEADLINE_S = 10.0


@dataclass(frozen=True, slots=True)
class Position:
    """Of a group on one queue; None: not known. `error` says why a broker did not tell."""

    topic: str
    broker: str
    queue: int
    minimum: int | None = None
    maximum: int | None = None
    committed: int | None = None
    at_time: int | None = None
    """The first message at or after the time that was asked for."""
    source: int | None = None
    """What the group to copy from has committed."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Members:
    """Who is online in the group: None when no broker could say."""

    count: int | None
    model: str


@dataclass(frozen=True, slots=True)
class Moved:
    topic: str
    broker: str
    queue: int
    read_back: int | None
    error: str


def positions(
    address: ClusterAddress,
    group: str,
    topics: Collection[str],
    expected: Collection[str],
    *,
    at_ms: int | None = None,
    source_group: str = "",
) -> tuple[list[Position], Members]:
    """Without topics: all that the group has offsets on, but for its retries."""

    async def look(admin: Admin) -> tuple[list[Position], Members]:
        masters = await known_masters(admin, address, expected)
        wanted = sorted(topics or await _topics_of(admin, group, masters))
        if not wanted:
            raise Problem(
                "no_offsets", f"{group} has no offsets on any topic: name the topics", 409, field="topics"
            )
        members = await _members(admin, group, masters)
        limit = asyncio.Semaphore(_AT_ONCE)
        parts = await asyncio.gather(
            *(
                _positions_at(admin, group, topic, name, at, at_ms, source_group, limit)
                for topic in wanted
                for name, at in masters.items()
            )
        )
        return [one for part in parts for one in part], members

    return ask(address, look, deadline_s=_DEADLINE_S)


def move(
    address: ClusterAddress, group: str, moves: Iterable[tuple[str, str, int, int]], *, is_online: bool
) -> list[Moved]:
    """Each (topic, broker, queue, offset), and what the broker has then."""

    async def all_of_them(admin: Admin) -> list[Moved]:
        masters = await known_masters(admin, address)
        listed = list(moves)
        old = await _rocketmq_4(admin, {masters.get(broker) for _, broker, _, _ in listed})
        limit = asyncio.Semaphore(_AT_ONCE)
        calls = (
            _move(
                admin,
                group,
                MessageQueue(topic, broker, queue),
                offset,
                masters.get(broker),
                is_online,
                old,
                limit,
            )
            for topic, broker, queue, offset in listed
        )
        return list(await asyncio.gather(*calls))

    return ask(address, all_of_them, deadline_s=_DEADLINE_S * 3)


async def _move(
    admin: Admin,
    group: str,
    queue: MessageQueue,
    offset: int,
    at: str | None,
    is_online: bool,
    old: Collection[str],
    limit: asyncio.Semaphore,
) -> Moved:
    place = (queue.topic, queue.broker_name, queue.queue_id)
    if at is None:
        return Moved(*place, None, "no master of this broker group is registered")
    if at in old and is_online:
        return Moved(
            *place, None, "RocketMQ 4 moves no single queue of a group that is online: stop its members"
        )
    async with limit:
        try:
            async with asyncio.timeout(_DEADLINE_S):
                if at not in old:
                    await admin.offsets.reset_queue(at, group, queue.topic, queue.queue_id, offset)
                found = await _committed(admin, group, queue)
                if found != offset and not is_online:
                    await admin.offsets.commit(group, queue, offset)
                    found = await _committed(admin, group, queue)
        except TimeoutError:
            return Moved(*place, None, "no answer in time: it may have been done")
        except EngineError as error:
            return Moved(*place, None, error.text)
    return Moved(*place, found, "")


async def _rocketmq_4(admin: Admin, brokers: Collection[str | None]) -> set[str]:
    """Those of them that are of that line. One that does not say is left alone by whoever asks next."""
    known = [at for at in brokers if at is not None]
    answers = await each(known, admin.brokers.runtime_info)
    return {
        at
        for at, info in answers.items()
        if not isinstance(info, EngineError) and info.get("brokerVersionDesc", "").startswith("V4")
    }


async def _topics_of(admin: Admin, group: str, masters: dict[str, str | None]) -> set[str]:
    found: set[str] = set()
    for at in masters.values():
        if at is not None:
            found |= await admin.groups.topics(at, group)
    return {topic for topic in found if not is_retry_topic(topic)}


async def _members(admin: Admin, group: str, masters: dict[str, str | None]) -> Members:
    online: set[str] = set()
    model, is_known = "", False
    for at in masters.values():
        if at is None:
            continue
        try:
            found = await admin.clients.consumers(at, group)
        except EngineError as error:
            is_known |= error.code == ResponseCode.CONSUMER_NOT_ONLINE
            continue
        is_known = True
        online |= {one.client_id for one in found.connection_set}
        model = found.message_model.name if found.message_model is not None else model
    return Members(len(online) if is_known else None, model)


async def _positions_at(
    admin: Admin,
    group: str,
    topic: str,
    name: str,
    at: str | None,
    at_ms: int | None,
    source_group: str,
    limit: asyncio.Semaphore,
) -> list[Position]:
    if at is None:
        return [Position(topic, name, -1, error="no master of this broker group is registered")]
    try:
        stats = await admin.topics.stats_on_broker(at, topic)
        if not stats.offset_table:
            return []
        await admin.instance.routes.must_get(topic)
    except EngineError as error:
        if error.code == ResponseCode.TOPIC_NOT_EXIST:
            return []
        return [Position(topic, name, -1, error=error.text)]
    queues = sorted(stats.offset_table, key=lambda queue: queue.queue_id)
    return list(
        await asyncio.gather(
            *(
                _position(
                    admin,
                    group,
                    queue,
                    stats.offset_table[queue].min_offset,
                    stats.offset_table[queue].max_offset,
                    at_ms,
                    source_group,
                    limit,
                )
                for queue in queues
            )
        )
    )


async def _position(
    admin: Admin,
    group: str,
    queue: MessageQueue,
    minimum: int,
    maximum: int,
    at_ms: int | None,
    source_group: str,
    limit: asyncio.Semaphore,
) -> Position:
    async with limit:
        try:
            committed = await _committed(admin, group, queue)
            at_time = None if at_ms is None else await admin.offsets.offset_at(queue, at_ms)
            source = await _committed(admin, source_group, queue) if source_group else None
        except EngineError as error:
            return Position(queue.topic, queue.broker_name, queue.queue_id, error=error.text)
    return Position(
        queue.topic, queue.broker_name, queue.queue_id, minimum, maximum, committed, at_time, source
    )


async def _committed(admin: Admin, group: str, queue: MessageQueue) -> int | None:
    return await admin.offsets.committed(group, queue, zero_if_young=False)
