"""Single messages and many: by id, by key, by place, by looking through; what is new at the end of a topic.

Every answer is of values. An id that names an address outside of the cluster is not followed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import DEADLINE_S, ask
from clusters.gateway.scanning import Budget, Scanned, Stretch, Wanted, scan, stretches_between
from clusters.gateway.stored import StoredMessage, stored
from console.core.problems import Problem
from engine.client.admin import Admin
from engine.client.admin.messages import FOREVER_MS, SearchPlace
from engine.errors import BadInput, EngineError, NotFound, PeerError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.message_ids import parse_offset_msg_id

_TAIL_PAUSE_S = 0.2
MAX_TAILED_QUEUES = 256


def by_offset_id(address: ClusterAddress, offset_id: str) -> StoredMessage:
    """The message at the place that the id names. Whoever asks must still look at its topic."""

    async def asked(admin: Admin) -> StoredMessage:
        return stored(await _at_id(admin, address, offset_id))

    return ask(address, asked)


async def _at_id(admin: Admin, address: ClusterAddress, offset_id: str):  # type: ignore[no-untyped-def]
    try:
        (host, port), _ = parse_offset_msg_id(offset_id)
        if (f"[{host}]:{port}" if ":" in host else f"{host}:{port}") not in address.brokers:
            raise BadInput("the message id names an address that is not a broker of this cluster")
        return await admin.messages.by_offset_id(offset_id)
    except BadInput as error:
        raise Problem("message_id", error.text, 400, field="id") from None
    except PeerError:
        # A place between two records, or one that was deleted by age.
        raise NotFound(f"there is no message {offset_id} now") from None


def by_unique_key(address: ClusterAddress, topic: str, msg_id: str) -> list[StoredMessage]:
    async def asked(admin: Admin) -> list[StoredMessage]:
        return [stored(message) for message in await admin.messages.by_unique_key(topic, msg_id)]

    return ask(address, asked)


@dataclass(frozen=True, slots=True)
class KeyPage:
    messages: list[StoredMessage]
    following: SearchPlace | None
    is_cut: bool
    """There may be more, and this make of broker cannot go on."""


def by_key(
    address: ClusterAddress,
    topic: str,
    key: str,
    *,
    after: SearchPlace | None = None,
    from_ms: int = 0,
    to_ms: int | None = None,
) -> KeyPage:
    async def asked(admin: Admin) -> KeyPage:
        page = await admin.messages.search(
            topic, key, after=after, begin_ms=from_ms, end_ms=FOREVER_MS if to_ms is None else to_ms
        )
        return KeyPage([stored(message) for message in page.messages], page.following, page.is_cut)

    return ask(address, asked)


def find_stretches(
    address: ClusterAddress, topics: Sequence[str], from_ms: int, to_ms: int | None
) -> list[Stretch]:
    async def asked(admin: Admin) -> list[Stretch]:
        found = [await stretches_between(admin, topic, from_ms, to_ms) for topic in topics]
        return [stretch for some in found for stretch in some]

    return ask(address, asked, deadline_s=DEADLINE_S * 2)


def scan_stretches(
    address: ClusterAddress,
    stretches: Iterable[Stretch],
    wanted: Wanted,
    budget: Budget,
    *,
    backwards: bool = False,
    is_hidden: Callable[[StoredMessage], bool] | None = None,
) -> Scanned:
    async def asked(admin: Admin) -> Scanned:
        return await scan(
            admin,
            stretches,
            wanted,
            budget,
            clock=time.monotonic,
            backwards=backwards,
            is_hidden=is_hidden,
        )

    return ask(address, asked, deadline_s=budget.seconds + DEADLINE_S * 2)


def queue_stretch(address: ClusterAddress, topic: str, broker: str, queue: int) -> Stretch:
    """What one queue keeps now."""

    async def asked(admin: Admin) -> Stretch:
        place = MessageQueue(topic, broker, queue)
        if place not in await admin.messages.queues(topic):
            raise NotFound(f"{topic} has no queue {queue} on {broker}")
        low, high = await asyncio.gather(admin.offsets.min_offset(place), admin.offsets.max_offset(place))
        return Stretch(topic, broker, queue, low, high)

    return ask(address, asked)


Ends = dict[tuple[str, int], int]
"""(broker, queue) → the next offset to read."""


def ends_of(address: ClusterAddress, topic: str) -> Ends:
    async def asked(admin: Admin) -> Ends:
        queues = await admin.messages.queues(topic)
        if len(queues) > MAX_TAILED_QUEUES:
            raise Problem("too_wide", f"a topic of {len(queues)} queues cannot be followed", 422)
        tops = await asyncio.gather(*map(admin.offsets.max_offset, queues))
        return {(queue.broker_name, queue.queue_id): top for queue, top in zip(queues, tops, strict=True)}

    return ask(address, asked)


def follow(
    address: ClusterAddress, topic: str, ends: Ends, *, tag: str, most: int, wait_s: float
) -> tuple[list[StoredMessage], Ends, list[str]]:
    """What came since, waiting a little for it; where to go on; what could not be read."""

    async def asked(admin: Admin) -> tuple[list[StoredMessage], Ends, list[str]]:
        until = time.monotonic() + wait_s
        places = dict(ends)
        while True:
            found, problems = await _read_new(admin, topic, places, tag, most)
            if found or problems or time.monotonic() + _TAIL_PAUSE_S >= until:
                return sorted(found, key=lambda message: message.stored_ms), places, problems
            await asyncio.sleep(_TAIL_PAUSE_S)

    return ask(address, asked, deadline_s=wait_s + DEADLINE_S)


async def _read_new(
    admin: Admin, topic: str, places: Ends, tag: str, most: int
) -> tuple[list[StoredMessage], list[str]]:
    """One pull of every queue that has more; `places` moves on behind what is returned."""
    found: list[StoredMessage] = []
    problems: list[str] = []
    for (broker, queue), offset in list(places.items()):
        if len(found) >= most:
            break
        try:
            result = await admin.messages.read(
                MessageQueue(topic, broker, queue), offset, max_messages=most - len(found), tags=tag
            )
        except EngineError as error:
            problems.append(f"queue {queue} of {broker}: {error.text}")
            continue
        found += [stored(message) for message in result.messages]
        places[broker, queue] = max(offset, result.next_offset)
    return found, problems


def by_offset_ids(address: ClusterAddress, offset_ids: Sequence[str]) -> list[StoredMessage | str]:
    """Each message, or why it cannot be had."""

    async def asked(admin: Admin) -> list[StoredMessage | str]:
        async def one(offset_id: str) -> StoredMessage | str:
            try:
                return stored(await _at_id(admin, address, offset_id))
            except Problem as problem:
                return problem.detail
            except NotFound as error:
                return error.text

        return list(await asyncio.gather(*map(one, offset_ids)))

    return ask(address, asked, deadline_s=DEADLINE_S * 2)
