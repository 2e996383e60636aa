"""Where traces come from: answered sends, listener calls, ended transactions.

A broker that says TRACE_ON=false (traceOn=false in its broker.conf) wants no traces of its messages. Messages
of the trace topic itself are never traced. Loop thread only.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from engine.client.consuming.listeners import Outcome
from engine.client.messages import ReceivedMessage
from engine.client.tracing.trace_writer import Tracer
from engine.protocol.codes import ResponseCode
from engine.protocol.headers.send import EndTransactionRequest
from engine.protocol.properties import Property, find_property
from engine.protocol.sys_flags import TRANSACTION_COMMIT, TRANSACTION_NONE, TRANSACTION_ROLLBACK
from engine.protocol.traces import (
    ConsumeCode,
    EndTransactionTrace,
    PubTrace,
    SubAfterTrace,
    SubBeforeTrace,
    TraceMessageType,
)

if TYPE_CHECKING:
    from engine.client.sending.pending_sends import Send

_DELAYS = (Property.DELAY, Property.TIMER_DELAY_SEC, Property.TIMER_DELAY_MS, Property.TIMER_DELIVER_MS)
_OFF = "false"
_STATES = {
    TRANSACTION_COMMIT: "COMMIT_MESSAGE",
    TRANSACTION_ROLLBACK: "ROLLBACK_MESSAGE",
    TRANSACTION_NONE: "UNKNOW",
}
"""The last one is spelt so on the wire."""


class SendTracing:
    """Told of every answered send of one producer."""

    def __init__(self, tracer: Tracer, group: str) -> None:
        self.tracer = tracer
        self._group = group

    def sent(self, send: Send, code: int, fields: Mapping[str, str], elapsed_ms: float) -> None:
        if fields.get(Property.TRACE_ON) == _OFF or send.plan.topic == self.tracer.topic:
            return
        properties = "" if send.is_batch else orjson.loads(send.draft.properties)
        self.tracer.add(
            PubTrace(
                timestamp=send.born_ms,
                region_id=fields.get(Property.MSG_REGION, ""),
                group=self._group,
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
        """A decision about a transaction was sent."""
        self.tracer.add(
            EndTransactionTrace(
                timestamp=int(time.time() * 1000),
                region_id="",
                group=self._group,
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
    """Told before and after every listener call of one consumer."""

    def __init__(self, tracer: Tracer, group: str) -> None:
        self.tracer = tracer
        self._group = group

    def before(self, messages: Sequence[ReceivedMessage]) -> str:
        """The id of this call, for `after`."""
        request_id = self.tracer.new_id()
        now_ms = int(time.time() * 1000)
        for message in self._traced(messages):
            self.tracer.add(
                SubBeforeTrace(
                    now_ms,
                    message.properties.get(Property.MSG_REGION, ""),
                    self._group,
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
                    self._group,
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
