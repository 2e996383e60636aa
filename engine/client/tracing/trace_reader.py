"""The history of one message, as far as its producer and consumers traced it.

Traces are written a little later than the event, by clients with tracing on, and they can be lost:
`MessageTrace.doubts` lists what is therefore unknown. What is traced did happen. `join_traces` is pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.client.admin.messages import FOREVER_MS, MessageAdmin, SearchPlace
from engine.errors import NotFound
from engine.protocol.codes import ResponseCode
from engine.protocol.names import TRACE_TOPIC
from engine.protocol.traces import (
    EndTransactionTrace,
    PubTrace,
    RecallTrace,
    SubAfterTrace,
    SubBeforeTrace,
    Trace,
    decode_traces,
)

_MAX_PAGES = 16

UNSEEN_GROUPS = (
    "groups whose consumers do not trace are not seen here; whether they have passed the message is told by "
    "their offsets"
)
NO_SEND = "its sending is not traced: its producer does not trace, or the trace was lost, or deleted by age"
NO_CONSUMPTION = "no consumption is traced: nobody has got it yet, or those who have do not trace"
CUT = "only the newest traces were looked at: there may be more"


@dataclass(frozen=True, slots=True)
class Consumption:
    """One listener call with the message. None means: not traced, so not known."""

    request_id: str
    group: str | None = None
    began_ms: int | None = None
    ended_ms: int | None = None
    retry_times: int | None = None
    is_success: bool | None = None
    cost_ms: int | None = None
    context_code: int | None = None


@dataclass(frozen=True, slots=True)
class MessageTrace:
    """Everything is in the order of time, by the clients' clocks."""

    msg_id: str
    sends: tuple[PubTrace, ...] = ()
    transactions: tuple[EndTransactionTrace, ...] = ()
    consumptions: tuple[Consumption, ...] = ()
    recalls: tuple[RecallTrace, ...] = ()
    doubts: tuple[str, ...] = ()


class TraceReader:
    """`admin.traces.read(msg_id)`: the joined traces of one message.

    >>> async def main() -> None:
    ...     options = ProducerOptions(trace=True)
    ...     async with Producer("shop", namesrv=NAMESRV, options=options) as producer:
    ...         sent = await producer.send(Message("orders", b"17 teapots"))
    ...     async with Admin(namesrv=NAMESRV) as admin:
    ...         trace = await admin.traces.read(sent.msg_id)
    ...         print([send.topic for send in trace.sends], len(trace.consumptions))
    >>> asyncio.run(main())
    ['orders'] 0
    """

    def __init__(self, messages: MessageAdmin, topic: str = TRACE_TOPIC) -> None:
        self._messages = messages
        self._topic = topic

    async def read(self, msg_id: str, begin_ms: int = 0, end_ms: int = FOREVER_MS) -> MessageTrace:
        """NotFound when nothing at all is traced about the message."""
        traces: list[Trace] = []
        after: SearchPlace | None = None
        is_cut = True
        for _ in range(_MAX_PAGES):
            page = await self._messages.search(
                self._topic, msg_id, after=after, begin_ms=begin_ms, end_ms=end_ms
            )
            traces += [trace for message in page.messages for trace in decode_traces(message.body)]
            is_cut, after = page.is_cut, page.following
            if after is None:
                break
        joined = join_traces(msg_id, traces, is_cut=is_cut or after is not None)
        if not (joined.sends or joined.transactions or joined.consumptions or joined.recalls):
            raise NotFound(
                f"nothing is traced about {msg_id} in {self._topic}", code=ResponseCode.QUERY_NOT_FOUND
            )
        return joined


def join_traces(msg_id: str, traces: Iterable[Trace], *, is_cut: bool = False) -> MessageTrace:
    """The traces that are about this message, put together."""
    # A trace that was sent twice, because its answer was lost, is still one trace.
    about = list(dict.fromkeys(trace for trace in traces if msg_id in trace.msg_id.split(",")))
    sends = sorted((t for t in about if isinstance(t, PubTrace)), key=lambda t: t.timestamp)
    ended = sorted((t for t in about if isinstance(t, EndTransactionTrace)), key=lambda t: t.timestamp)
    recalls = sorted((t for t in about if isinstance(t, RecallTrace)), key=lambda t: t.timestamp)
    consumptions = _consumptions(about)
    doubts = [NO_SEND] * (not sends) + [NO_CONSUMPTION] * (not consumptions)
    doubts += [doubt for one in consumptions if (doubt := _doubt(one)) is not None]
    doubts += [CUT] * is_cut + [UNSEEN_GROUPS]
    return MessageTrace(
        msg_id, tuple(sends), tuple(ended), tuple(consumptions), tuple(recalls), tuple(doubts)
    )


def _consumptions(traces: Iterable[Trace]) -> list[Consumption]:
    begun: dict[str, SubBeforeTrace] = {}
    ended: dict[str, SubAfterTrace] = {}
    for trace in traces:
        if isinstance(trace, SubBeforeTrace):
            begun[trace.request_id] = trace
        elif isinstance(trace, SubAfterTrace):
            ended[trace.request_id] = trace
    calls = [_consumption(key, begun.get(key), ended.get(key)) for key in begun.keys() | ended.keys()]
    return sorted(calls, key=lambda call: (call.began_ms or call.ended_ms or 0, call.request_id))


def _consumption(request_id: str, begun: SubBeforeTrace | None, ended: SubAfterTrace | None) -> Consumption:
    group = (begun.group if begun is not None else "") or (ended.group if ended is not None else "")
    return Consumption(
        request_id,
        group or None,
        began_ms=None if begun is None else begun.timestamp,
        ended_ms=None if ended is None else ended.timestamp or None,
        retry_times=None if begun is None else begun.retry_times,
        is_success=None if ended is None else ended.is_success,
        cost_ms=None if ended is None else ended.cost_ms,
        context_code=None if ended is None else ended.context_code,
    )


def _doubt(call: Consumption) -> str | None:
    who = f"the call {call.request_id} of {call.group or 'an unnamed group'}"
    if call.is_success is None:
        return f"{who} has no traced end: it may still run, its client may have died, or the trace was lost"
    if call.began_ms is None:
        return f"{who} has no traced beginning: that trace was lost, or is not there yet"
    return None
