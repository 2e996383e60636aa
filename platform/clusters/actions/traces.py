"""What became of one message: its stored copies, what clients traced, and where its groups stand.

`timeline` is pure. What nobody traced is not guessed: `doubts` say what is open.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from clusters.actions.reading import Reader, Shown, note_reading, show_all
from clusters.gateway.messages import by_unique_key
from clusters.gateway.stored import StoredMessage
from clusters.gateway.traces import Traced, read_trace
from clusters.models import LiveSubscription
from clusters.selectors.masking import HIDDEN
from console.core.models.people import Role
from console.core.problems import not_found
from engine.protocol.properties import Property


@dataclass(frozen=True, slots=True)
class Event:
    at_ms: int
    kind: str
    """send, store, transaction, wait, try"""
    group: str | None
    is_ok: bool | None
    took_ms: int | None
    text: str
    attempt: int | None = None
    """Of a try: which one, from 1 on."""
    code: str | None = None
    """How it ended, in the client's word."""
    host: str | None = None


@dataclass(frozen=True, slots=True)
class GroupStand:
    """Whether a group's committed offset lies behind the message; None: not known."""

    group: str
    has_passed: bool | None


@dataclass(frozen=True, slots=True)
class Story:
    msg_id: str
    copies: list[Shown]
    events: list[Event]
    groups: list[GroupStand]
    doubts: list[str]


def do_trace_message(reader: Reader, topic: str, msg_id: str, *, now: datetime) -> Story:
    reader.require(Role.VIEWER, topic)
    address = reader.address
    found = by_unique_key(address, topic, msg_id)
    traced = read_trace(address, msg_id)
    if not found and not traced.sends and not traced.tries:
        raise not_found("message", msg_id)
    # A trace names its topic: one of another topic is none of this caller's business.
    if any(send.topic != topic for send in traced.sends):
        traced = replace(traced, sends=tuple(send for send in traced.sends if send.topic == topic))
    if not found and not traced.sends:
        raise not_found("message", msg_id)
    if Property.KEYS in reader.masks.of(topic).properties:
        traced = replace(traced, sends=tuple(replace(send, keys=HIDDEN) for send in traced.sends))
    shown = show_all(reader, found)
    note_reading(reader, shown, target=topic, how="trace", now=now, msg_id=msg_id)
    stands = [stand for message in found for stand in _stands(reader, message)]
    return Story(msg_id, shown, timeline(found, traced), stands, list(traced.doubts))


def timeline(stored: Iterable[StoredMessage], traced: Traced) -> list[Event]:
    """In the order of time, as several clocks tell it."""
    events = [
        Event(
            send.at_ms,
            "send",
            send.group,
            send.is_ok,
            send.cost_ms,
            f"sent to {send.store_host}",
            host=send.store_host,
        )
        for send in traced.sends
    ]
    for copy in stored:
        where = f"queue {copy.queue} of {copy.broker} at {copy.queue_offset}"
        events.append(Event(copy.stored_ms, "store", None, True, None, f"stored in {where}"))
    events += [
        Event(
            end.at_ms,
            "transaction",
            end.group,
            end.state == "COMMIT_MESSAGE",
            None,
            end.state,
            code=end.state,
        )
        for end in traced.ends
    ]
    events += _tries(traced, min((event.at_ms for event in events if event.kind == "store"), default=None))
    return sorted(events, key=lambda event: event.at_ms)


def _tries(traced: Traced, stored_ms: int | None) -> list[Event]:
    """Each group's tries, and how long the message waited for its first one."""
    events: list[Event] = []
    begun: set[str | None] = set()
    for call in traced.tries:
        at_ms = call.began_ms or call.ended_ms
        if at_ms is None:
            continue
        if stored_ms is not None and call.group not in begun and call.began_ms is not None:
            waited = max(0, call.began_ms - stored_ms)
            events.append(Event(stored_ms, "wait", call.group, None, waited, "waited for its first try"))
        begun.add(call.group)
        attempt = None if call.retry is None else call.retry + 1
        which = "a try" if attempt is None else f"try {attempt}"
        end = "its end is not traced" if call.is_ok is None else (call.code or "ended")
        events.append(
            Event(at_ms, "try", call.group, call.is_ok, call.cost_ms, f"{which}: {end}", attempt, call.code)
        )
    return events


def _stands(reader: Reader, message: StoredMessage) -> list[GroupStand]:
    rows = LiveSubscription.objects.filter(cluster=reader.cluster, topic=message.topic)
    return [
        GroupStand(row.group, _has_passed(row, message))
        for row in rows.filter(reader.grants.names_filter(reader.cluster.name, "group"))
    ]


def _has_passed(row: LiveSubscription, message: StoredMessage) -> bool | None:
    for queue in row.queues:
        if (queue["broker"], queue["queue"]) == (message.broker, message.queue):
            committed = queue.get("committed")
            return None if committed is None else int(committed) > message.queue_offset
    return None
