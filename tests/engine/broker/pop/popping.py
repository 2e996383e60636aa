"""Popping over a bare connection: what was given, with its receipt handles."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.pop import AckMessageRequest, ChangeInvisibleTimeRequest, PopMessageRequest
from engine.protocol.pop_handles import NORMAL, PopHandle, parse_handle, parse_start_offsets, real_topic
from engine.protocol.properties import Property
from engine.protocol.records import Record
from tests.engine.broker.peers import Peer, records


@dataclass(frozen=True, slots=True)
class Popped:
    record: Record
    handle: PopHandle
    group: str

    @property
    def body(self) -> bytes:
        return self.record.body

    @property
    def topic(self) -> str:
        return real_topic(self.handle.retry_flag, self.record.topic, self.group)


def pop_header(topic: str, **changes: object) -> PopMessageRequest:
    """By default: all queues from their start, no waiting, a minute to acknowledge."""
    values: dict[str, object] = {
        "consumer_group": "poppers",
        "topic": topic,
        "queue_id": -1,
        "max_msg_nums": 32,
        "invisible_time": 60_000,
        "poll_time": 0,
        "born_time": 0,
        "init_mode": 0,
    }
    return PopMessageRequest(**{**values, **changes})  # type: ignore[arg-type]


async def ask_pop(peer: Peer, topic: str, **changes: object) -> Command:
    return await peer.ask(RequestCode.POP_MESSAGE, pop_header(topic, **changes).encode())


def popped_of(answer: Command, group: str = "poppers") -> list[Popped]:
    """As a client reads it: the handle of a retried message is given, the others are built."""
    if answer.code != 0:
        return []
    fields = answer.fields
    starts = parse_start_offsets(fields["startOffsetInfo"])
    found: list[Popped] = []
    for record in records(answer):
        given = record.properties.get(Property.POP_CK)
        handle = (
            parse_handle(given)
            if given is not None
            else PopHandle(
                starts[NORMAL, record.queue_id],
                int(fields["popTime"]),
                int(fields["invisibleTime"]),
                int(fields["reviveQid"]),
                NORMAL,
                "broker-a",
                record.queue_id,
                record.queue_offset,
            )
        )
        found.append(Popped(record, handle, group))
    return found


async def pop(peer: Peer, topic: str, **changes: object) -> list[Popped]:
    group = str(changes.get("consumer_group", "poppers"))
    return popped_of(await ask_pop(peer, topic, **changes), group)


async def ack(peer: Peer, popped: Popped, **changes: object) -> Command:
    values: dict[str, object] = {
        "consumer_group": popped.group,
        "topic": popped.topic,
        "queue_id": popped.handle.queue_id,
        "extra_info": popped.handle.encode(),
        "offset": popped.handle.queue_offset,
    }
    header = AckMessageRequest(**{**values, **changes})  # type: ignore[arg-type]
    return await peer.ask(RequestCode.ACK_MESSAGE, header.encode())


async def change(peer: Peer, popped: Popped, invisible_ms: int, **changes: object) -> Command:
    values: dict[str, object] = {
        "consumer_group": popped.group,
        "topic": popped.topic,
        "queue_id": popped.handle.queue_id,
        "extra_info": popped.handle.encode(),
        "offset": popped.handle.queue_offset,
        "invisible_time": invisible_ms,
    }
    header = ChangeInvisibleTimeRequest(**{**values, **changes})  # type: ignore[arg-type]
    return await peer.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header.encode())
