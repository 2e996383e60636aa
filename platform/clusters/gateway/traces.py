"""What clients traced of one message, as values; nothing traced is an answer too."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import DEADLINE_S, ask
from engine.client.admin import Admin
from engine.client.tracing.trace_reader import NO_CONSUMPTION, NO_SEND, UNSEEN_GROUPS, Consumption
from engine.errors import NotFound, PeerError
from engine.protocol.traces import ConsumeCode, EndTransactionTrace, PubTrace

_AT_ONCE = 8
NO_TRACE_TOPIC = "this cluster keeps no traces (traceTopicEnable=false), or nobody has traced anything yet"


@dataclass(frozen=True, slots=True)
class TracedSend:
    at_ms: int
    group: str
    topic: str
    store_host: str
    cost_ms: int
    is_ok: bool
    keys: str


@dataclass(frozen=True, slots=True)
class TracedTry:
    group: str | None
    began_ms: int | None
    ended_ms: int | None
    retry: int | None
    is_ok: bool | None
    cost_ms: int | None
    code: str | None
    """SUCCESS, TIME_OUT, EXCEPTION, RETURN_NULL, FAILED; None: not traced."""


@dataclass(frozen=True, slots=True)
class TracedEnd:
    at_ms: int
    group: str
    state: str
    is_from_check: bool


@dataclass(frozen=True, slots=True)
class Traced:
    sends: tuple[TracedSend, ...]
    ends: tuple[TracedEnd, ...]
    tries: tuple[TracedTry, ...]
    doubts: tuple[str, ...]


def read_trace(address: ClusterAddress, msg_id: str) -> Traced:
    async def asked(admin: Admin) -> Traced:
        try:
            trace = await admin.traces.read(msg_id)
        except (NotFound, PeerError) as error:
            reason = NO_TRACE_TOPIC if "no broker has the topic" in error.text else error.text
            return Traced((), (), (), (reason, NO_SEND, NO_CONSUMPTION, UNSEEN_GROUPS))
        return Traced(
            tuple(map(_send, trace.sends)),
            tuple(map(_end, trace.transactions)),
            tuple(map(_try, trace.consumptions)),
            trace.doubts,
        )

    return ask(address, asked, deadline_s=DEADLINE_S * 2)


def _send(trace: PubTrace) -> TracedSend:
    return TracedSend(
        trace.timestamp,
        trace.group,
        trace.topic,
        trace.store_host,
        trace.cost_ms,
        trace.is_success,
        trace.keys,
    )


def _end(trace: EndTransactionTrace) -> TracedEnd:
    return TracedEnd(trace.timestamp, trace.group, trace.state, trace.is_from_check)


def _try(call: Consumption) -> TracedTry:
    return TracedTry(
        call.group,
        call.began_ms,
        call.ended_ms,
        call.retry_times,
        call.is_success,
        call.cost_ms,
        _code(call.context_code),
    )


def _code(number: int | None) -> str | None:
    if number is None:
        return None
    try:
        return ConsumeCode(number).name
    except ValueError:
        return str(number)


def last_codes(address: ClusterAddress, msg_ids: Sequence[str], group: str) -> dict[str, str]:
    """How the last traced try of a group ended, of those messages of which it is known."""

    async def asked(admin: Admin) -> dict[str, str]:
        gate = asyncio.Semaphore(_AT_ONCE)

        async def one(msg_id: str) -> tuple[str, str | None]:
            async with gate:
                try:
                    trace = await admin.traces.read(msg_id)
                except (NotFound, PeerError):
                    return msg_id, None
            codes = [_code(call.context_code) for call in trace.consumptions if call.group == group]
            return msg_id, next((code for code in reversed(codes) if code is not None), None)

        found = await asyncio.gather(*map(one, msg_ids))
        return {msg_id: code for msg_id, code in found if code is not None}

    return ask(address, asked, deadline_s=DEADLINE_S * 2)
