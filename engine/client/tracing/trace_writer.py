"""Traces of sends, listener calls and transactions, written to the trace topic.

A trace is put into a buffer and sent within half a second, many in one message. When the buffer is full, or
the brokers do not take a message, traces are lost and counted (`dropped_count`): a send or a listener call is
never delayed or failed by its trace. A broker that answers TRACE_ON=false (traceOn=false in its broker.conf)
wants no traces of its messages. Messages of the trace topic itself are never traced. Loop thread only.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import random
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from engine.client.consuming.listeners import Outcome
from engine.client.instance.instance import ClientInstance
from engine.client.instance.periodic import Periodic
from engine.client.messages import Message, ReceivedMessage, SendResult
from engine.client.options import ProducerOptions
from engine.client.sending.deliveries import Deliveries
from engine.client.sending.drafts import MessageKeys, draft
from engine.errors import EngineError
from engine.protocol.codes import ResponseCode
from engine.protocol.headers.send import EndTransactionRequest
from engine.protocol.properties import Property, find_property
from engine.protocol.sys_flags import TRANSACTION_COMMIT, TRANSACTION_NONE, TRANSACTION_ROLLBACK
from engine.protocol.traces import (
    MAX_TRACE_BODY_BYTES,
    ConsumeCode,
    EndTransactionTrace,
    PubTrace,
    SubAfterTrace,
    SubBeforeTrace,
    Trace,
    TraceMessageType,
    encode_trace,
    trace_keys,
)

if TYPE_CHECKING:
    from engine.client.sending.pending_sends import Send

log = logging.getLogger(__name__)

MAX_WAITING = 2_048
FLUSH_S = 0.5
CLOSE_TIMEOUT_S = 3.0
_MAX_TRACES = 100
_MAX_KEYS_BYTES = 24_000
_numbers = itertools.count(1)
_DELAYS = (Property.DELAY, Property.TIMER_DELAY_SEC, Property.TIMER_DELAY_MS, Property.TIMER_DELIVER_MS)
_OFF = "false"
_STATES = {
    TRANSACTION_COMMIT: "COMMIT_MESSAGE",
    TRANSACTION_ROLLBACK: "ROLLBACK_MESSAGE",
    TRANSACTION_NONE: "UNKNOW",
}
"""UNKNOW is the spelling on the wire."""


class Tracer:
    """`kind` is PRODUCE or CONSUME; `start`, `add` at any time, `close` sends what is left."""

    def __init__(self, instance: ClientInstance, group: str, kind: str, topic: str) -> None:
        self.group = group
        self.topic = topic
        self.dropped_count = 0
        inner_group = f"_INNER_TRACE_PRODUCER-{group}-{kind}-{next(_numbers)}"
        self._deliveries = Deliveries(instance, inner_group, ProducerOptions(send_timeout_ms=5_000))
        self._keys = MessageKeys(instance.ip, os.getpid(), random.getrandbits(32))
        self._waiting: deque[Trace] = deque()
        self._flushing = Periodic("traces", FLUSH_S, self._flush)

    def start(self) -> None:
        self._deliveries.start()
        self._flushing.start()

    def add(self, trace: Trace) -> None:
        if len(self._waiting) >= MAX_WAITING or not self._deliveries.is_running:
            self.dropped_count += 1
            return
        self._waiting.append(trace)
        if len(self._waiting) % _MAX_TRACES == 0:
            self._flushing.wake()

    def new_id(self) -> str:
        """A unique id, for a listener call."""
        return self._keys.next(int(time.time() * 1000))

    async def close(self) -> None:
        if not self._deliveries.is_running:
            return
        await self._flushing.stop()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._flush()
        except (TimeoutError, EngineError) as error:
            log.info("the last traces are lost: %s", error)
        await self._deliveries.close()

    # -- inside ---------------------------------------------------------------------------------------------

    async def _flush(self) -> None:
        if not self._waiting or not self._deliveries.is_running:
            return
        plan = await self._deliveries.plan_of(self.topic)
        for message in self._messages():
            if self._deliveries.window.is_full:
                await self._deliveries.window.room()
            now_ms = int(time.time() * 1000)
            ready = draft(message, self._keys.next(now_ms), False, (message.body, 0))
            target = plan.choose(self._deliveries.faults, now_ms)
            future = self._deliveries.launch(ready, plan, target, now_ms, is_batch=False, is_fixed=False)
            future.add_done_callback(self._sent)

    def _sent(self, future: asyncio.Future[SendResult]) -> None:
        if not future.cancelled() and isinstance(error := future.exception(), EngineError):
            self.dropped_count += 1
            log.info("traces are lost, a message to %s failed: %s", self.topic, error.text)

    def _messages(self) -> Iterator[Message]:
        """What waits, in messages within the limits of body and keys."""
        while self._waiting:
            taken = [self._waiting.popleft()]
            size, keys_size = _sizes(taken[0])
            while self._waiting and len(taken) < _MAX_TRACES:
                more, more_keys = _sizes(self._waiting[0])
                if size + more > MAX_TRACE_BODY_BYTES or keys_size + more_keys > _MAX_KEYS_BYTES:
                    break
                size, keys_size = size + more, keys_size + more_keys
                taken.append(self._waiting.popleft())
            if size > MAX_TRACE_BODY_BYTES or keys_size > _MAX_KEYS_BYTES:
                self.dropped_count += 1
                continue
            yield Message(self.topic, "".join(map(encode_trace, taken)).encode(), keys=trace_keys(taken))


def _sizes(trace: Trace) -> tuple[int, int]:
    """Bytes of a trace in the body and, with the blanks between, in the keys."""
    keys = trace_keys([trace])
    return len(encode_trace(trace).encode()), len(" ".join(keys).encode()) + 1


class SendTracing:
    """Traces of the answered sends and ended transactions of one producer."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def sent(self, send: Send, code: int, fields: Mapping[str, str], elapsed_ms: float) -> None:
        if fields.get(Property.TRACE_ON) == _OFF or send.plan.topic == self.tracer.topic:
            return
        properties = "" if send.is_batch else orjson.loads(send.draft.properties)
        self.tracer.add(
            PubTrace(
                timestamp=send.born_ms,
                region_id=fields.get(Property.MSG_REGION, ""),
                group=self.tracer.group,
                topic=send.plan.topic,
                msg_id=fields.get("batchUniqId") or send.draft.msg_id,
                tags=find_property(properties, Property.TAGS) or "",
                keys=find_property(properties, Property.KEYS) or "",
                store_host=send.target.address,
                body_length=len(send.draft.body),
                cost_ms=round(elapsed_ms),
                message_type=_message_type(properties),
                offset_msg_id=fields.get("msgId", ""),
                is_success=code == ResponseCode.SUCCESS,
            )
        )

    def ended(self, header: EndTransactionRequest, store_host: str) -> None:
        """A commit or rollback was sent."""
        self.tracer.add(
            EndTransactionTrace(
                timestamp=int(time.time() * 1000),
                region_id="",
                group=self.tracer.group,
                topic=header.topic or "",
                msg_id=header.msg_id,
                store_host=store_host,
                transaction_id=header.transaction_id or "",
                state=_STATES[header.commit_or_rollback],
                is_from_check=bool(header.from_transaction_check),
            )
        )


def _message_type(properties: str) -> TraceMessageType:
    if find_property(properties, Property.TRAN_MSG) == "true":
        return TraceMessageType.TRANS_HALF
    if any(find_property(properties, name) for name in _DELAYS):
        return TraceMessageType.DELAY
    return TraceMessageType.NORMAL


class ConsumeTracing:
    """Traces of the listener calls of one consumer, one before and one after each call."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def before(self, messages: Sequence[ReceivedMessage]) -> str:
        """The id of this call, for `after`."""
        request_id = self.tracer.new_id()
        now_ms = int(time.time() * 1000)
        for message in self._traced(messages):
            self.tracer.add(
                SubBeforeTrace(
                    now_ms,
                    message.properties.get(Property.MSG_REGION, ""),
                    self.tracer.group,
                    request_id,
                    message.msg_id,
                    message.reconsume_times,
                    " ".join(message.keys),
                )
            )
        return request_id

    def after(self, request_id: str, messages: Sequence[ReceivedMessage], outcome: Outcome) -> None:
        now_ms = int(time.time() * 1000)
        cost_ms = round(outcome.elapsed_ms / len(messages))
        for message in self._traced(messages):
            self.tracer.add(
                SubAfterTrace(
                    request_id,
                    message.msg_id,
                    cost_ms,
                    outcome.is_success,
                    " ".join(message.keys),
                    _consume_code(outcome),
                    now_ms,
                    self.tracer.group,
                )
            )

    def _traced(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        return [
            message
            for message in messages
            if message.topic != self.tracer.topic and message.properties.get(Property.TRACE_ON) != _OFF
        ]


def _consume_code(outcome: Outcome) -> ConsumeCode:
    if outcome.is_success:
        return ConsumeCode.SUCCESS
    return ConsumeCode.FAILED if outcome.error is None else ConsumeCode.EXCEPTION
