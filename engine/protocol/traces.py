"""Message traces: what clients write to RMQ_SYS_TRACE_TOPIC about what they sent and consumed.

A trace message's body is contexts end to end, in UTF-8; its KEYS are the ids and keys of the messages that
the contexts are about, so that one message's traces are found by its id.

    Pub ␁ time ␁ region ␁ group ␁ topic ␁ msg id ␁ tags ␁ keys ␁ store host ␁ body length ␁ cost ␁ type
        ␁ offset msg id ␁ success ␂
    SubBefore ␁ time ␁ region ␁ group ␁ request id ␁ msg id ␁ retries ␁ keys ␂
    SubAfter ␁ request id ␁ msg id ␁ cost ␁ success ␁ keys ␁ code ␁ time ␁ group ␂
    EndTransaction ␁ time ␁ region ␁ group ␁ topic ␁ msg id ␁ tags ␁ keys ␁ store host ␁ type
        ␁ transaction id ␁ state ␁ from check ␂
    Recall ␁ time ␁ region ␁ group ␁ topic ␁ msg id ␁ success ␂

Each class lists its fields in that order: the order of fields is the layout. Missing values travel as "null".
Reading is lenient: older clients leave fields out at the end, and what cannot be read is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, ClassVar

FIELD_END, CONTEXT_END = "\x01", "\x02"
NULL = "null"
MAX_TRACE_BODY_BYTES = 128_000


class TraceMessageType(IntEnum):
    NORMAL = 0
    TRANS_HALF = 1
    TRANS_COMMIT = 2
    DELAY = 3
    ORDER = 4


class ConsumeCode(IntEnum):
    """How a listener call ended."""

    SUCCESS = 0
    TIME_OUT = 1
    EXCEPTION = 2
    RETURN_NULL = 3
    FAILED = 4


@dataclass(frozen=True, slots=True)
class PubTrace:
    """A message was sent. `client_host` is what some clients append; we do not."""

    name: ClassVar[str] = "Pub"

    timestamp: int
    region_id: str
    group: str
    topic: str
    msg_id: str
    tags: str = ""
    keys: str = ""
    store_host: str = ""
    body_length: int = 0
    cost_ms: int = 0
    message_type: int = TraceMessageType.NORMAL
    offset_msg_id: str = ""
    is_success: bool = True


@dataclass(frozen=True, slots=True)
class SubBeforeTrace:
    """A listener is about to get the message."""

    name: ClassVar[str] = "SubBefore"

    timestamp: int
    region_id: str
    group: str
    request_id: str
    msg_id: str
    retry_times: int = 0
    keys: str = ""


@dataclass(frozen=True, slots=True)
class SubAfterTrace:
    """A listener is done with it; `timestamp` and `group` are missing (0, "") in what some clients write."""

    name: ClassVar[str] = "SubAfter"

    request_id: str
    msg_id: str
    cost_ms: int
    is_success: bool
    keys: str = ""
    context_code: int = ConsumeCode.SUCCESS
    timestamp: int = 0
    group: str = ""


@dataclass(frozen=True, slots=True)
class EndTransactionTrace:
    name: ClassVar[str] = "EndTransaction"

    timestamp: int
    region_id: str
    group: str
    topic: str
    msg_id: str
    tags: str = ""
    keys: str = ""
    store_host: str = ""
    message_type: int = TraceMessageType.TRANS_COMMIT
    transaction_id: str = ""
    state: str = ""
    is_from_check: bool = False


@dataclass(frozen=True, slots=True)
class RecallTrace:
    name: ClassVar[str] = "Recall"

    timestamp: int
    region_id: str
    group: str
    topic: str
    msg_id: str
    is_success: bool


Trace = PubTrace | SubBeforeTrace | SubAfterTrace | EndTransactionTrace | RecallTrace

_CLASSES: dict[str, type[Trace]] = {
    cls.name: cls for cls in (PubTrace, SubBeforeTrace, SubAfterTrace, EndTransactionTrace, RecallTrace)
}
_REQUIRED = {PubTrace: 12, SubBeforeTrace: 7, SubAfterTrace: 5, EndTransactionTrace: 12, RecallTrace: 6}
"""How many fields behind the name there must be."""
_TYPES = {cls: tuple(item.type for item in fields(cls)) for cls in _CLASSES.values()}
_NAMES = {cls: tuple(item.name for item in fields(cls)) for cls in _CLASSES.values()}


def encode_trace(trace: Trace) -> str:
    values = [_write(getattr(trace, name)) for name in _NAMES[type(trace)]]
    return FIELD_END.join([trace.name, *values]) + CONTEXT_END


def _write(value: str | int | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    # A value with a separator inside would forge other fields.
    return value.replace(FIELD_END, " ").replace(CONTEXT_END, " ")


def trace_keys(traces: Iterable[Trace]) -> list[str]:
    """What a message with these traces must be found by: each once, in order."""
    found: dict[str, None] = {}
    for trace in traces:
        found.update(dict.fromkeys(trace.msg_id.split(",")))
        found.update(dict.fromkeys(getattr(trace, "keys", "").split()))
    found.pop("", None)
    return list(found)


def decode_traces(body: bytes) -> list[Trace]:
    text = body.decode("utf-8", "replace")
    return [trace for part in text.split(CONTEXT_END) if (trace := _decode(part)) is not None]


def _decode(text: str) -> Trace | None:
    name, *values = text.split(FIELD_END)
    cls = _CLASSES.get(name)
    if cls is None or len(values) < _REQUIRED[cls]:
        return None
    if cls is PubTrace and len(values) == _REQUIRED[PubTrace]:
        values.insert(-1, "")  # the oldest clients know no offset message id
    if cls is SubAfterTrace and len(values) == 7 and not values[-1]:
        values.pop()  # a cloud's clients end behind the code
    try:
        return cls(*map(_read, values, _TYPES[cls]))
    except ValueError:
        return None


def _read(text: str, kind: str | type) -> Any:
    if kind == "int":
        return int(text)
    if kind == "bool":
        return text == "true"
    return "" if text == NULL else text
