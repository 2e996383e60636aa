"""Which messages a read wants: what options say, and what Spark pushes down from filters.

    topic, kind          =, IN, and LIKE 'prefix%' for topics: decided once for each topic
    store_time           =, <, <=, >, >=: half-open in milliseconds, as records are stored
    commit_log_offset    =, <, <=, >, >=: which ranges are looked at  }
    queue_id             =, IN: which queues are looked at             } Spark looks again
    queue_offset         =, <, <=, >, >=: which of their units         }
    cluster, broker,     =, IN: whole stores are left out
    store

Everything here narrows: a filter that is understood in part, or not at all, is left to Spark. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from engine.errors import BadInput
from spark.schemas import kind_of
from spark.sources.stores import Store

__all__ = ["FIRST", "LAST", "Span", "Wanted", "moment_ms", "narrow", "wanted_by_options"]

FIRST, LAST = -(1 << 63), (1 << 63) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
Names = frozenset[str] | None
"""None: all of them."""


@dataclass(frozen=True, slots=True)
class Span:
    """[start, end)."""

    start: int = FIRST
    end: int = LAST

    def within(self, start: int, end: int) -> Span:
        return Span(max(self.start, start), min(self.end, end))

    @property
    def is_empty(self) -> bool:
        return self.start >= self.end


@dataclass(frozen=True, slots=True)
class Wanted:
    topics: Names = None
    topic_prefixes: tuple[str, ...] = ()
    kinds: Names = None
    clusters: Names = None
    brokers: Names = None
    stores: Names = None
    queue_ids: frozenset[int] | None = None
    times_ms: Span = Span()
    offsets: Span = Span()
    """Commit log offsets of where records begin."""
    queue_offsets: Span = Span()

    def wants_store(self, store: Store) -> bool:
        pairs = ((self.clusters, store.cluster), (self.brokers, store.broker), (self.stores, store.place))
        return all(names is None or name in names for names, name in pairs)

    def wants_topic(self, topic: str, cluster: str, broker: str) -> bool:
        if self.topics is not None and topic not in self.topics:
            return False
        if not all(topic.startswith(prefix) for prefix in self.topic_prefixes):
            return False
        return self.kinds is None or kind_of(topic, cluster, broker) in self.kinds


def wanted_by_options(options: Mapping[str, str]) -> Wanted:
    """`topics` (a comma list), `from` and `to` (ISO times, UTC unless they say otherwise; `to` is behind the
    last)."""
    topics = frozenset(part.strip() for part in (options.get("topics") or "").split(",") if part.strip())
    start = moment_ms(options["from"]) if options.get("from") else FIRST
    end = moment_ms(options["to"]) if options.get("to") else LAST
    if start >= end:
        raise BadInput(f"wrong time range: from {options.get('from')} is not before to {options.get('to')}")
    return Wanted(topics=topics or None, times_ms=Span(start, end))


def moment_ms(text: str) -> int:
    """The first millisecond that is not before the time."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(f"not a time: {text!r} (as 2024-05-31 or 2024-05-31T12:00:00+02:00)") from None
    return _ceiling_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _ceiling_ms(moment: datetime) -> int:
    return -((_EPOCH - moment) // _MILLISECOND)


def narrow(wanted: Wanted, filters: Iterable[Filter]) -> tuple[Wanted, list[Filter]]:
    """What is still wanted, and the filters that Spark must apply all the same."""
    rest = []
    for pushed in filters:
        narrowed = _narrow_by(wanted, pushed)
        if narrowed is None:
            rest.append(pushed)
        else:
            wanted = narrowed
            if _attribute(pushed) in _LEFT_TO_SPARK:
                rest.append(pushed)
    return wanted, rest


def _attribute(pushed: Filter) -> str:
    """The column that a filter is about; of none of ours when it is about a part of one."""
    path: tuple[str, ...] = getattr(pushed, "attribute", ())
    return path[0] if len(path) == 1 else ""


def _narrow_by(wanted: Wanted, pushed: Filter) -> Wanted | None:
    """None: not understood."""
    name, value = _attribute(pushed), getattr(pushed, "value", None)
    if value is None:
        return None
    if isinstance(pushed, StringStartsWith):
        return replace(wanted, topic_prefixes=(*wanted.topic_prefixes, value)) if name == "topic" else None
    if name in _SETS:
        return _narrow_set(wanted, _SETS[name], pushed, value)
    if name in _SPANS:
        return _narrow_span(wanted, *_SPANS[name], pushed, value)
    return None


_LEFT_TO_SPARK = ("commit_log_offset", "queue_id", "queue_offset")
"""What only says which ranges are looked at; whether a message of these is wanted, Spark decides."""
_SETS = {
    "topic": "topics",
    "kind": "kinds",
    "cluster": "clusters",
    "broker": "brokers",
    "store": "stores",
    "queue_id": "queue_ids",
}


def _narrow_set(wanted: Wanted, field: str, pushed: Filter, value: Any) -> Wanted | None:
    if isinstance(pushed, EqualTo | EqualNullSafe):
        values = frozenset([value])
    elif isinstance(pushed, In):
        values = frozenset(part for part in value if part is not None)
    else:
        return None
    before = getattr(wanted, field)
    changes: dict[str, Any] = {field: values if before is None else before & values}
    return replace(wanted, **changes)


def _next_ms(value: Any) -> int | None:
    """The first millisecond that is not before a pushed moment; Spark's literals may have no zone: UTC."""
    if not isinstance(value, datetime):
        return None
    return _ceiling_ms(value if value.tzinfo else value.replace(tzinfo=UTC))


def _is_whole_ms(value: datetime) -> bool:
    return value.microsecond % 1000 == 0


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_SPANS: dict[str, tuple[str, Callable[[Any], int | None]]] = {
    "store_time": ("times_ms", _next_ms),
    "commit_log_offset": ("offsets", _whole),
    "queue_offset": ("queue_offsets", _whole),
}


def _narrow_span(
    wanted: Wanted, field: str, number: Callable[[Any], int | None], pushed: Filter, value: Any
) -> Wanted | None:
    """`first` is the first number not before the value, `behind` the first behind it: the same when the value
    lies between two milliseconds."""
    first = number(value)
    if first is None:
        return None
    behind = first + 1 if not isinstance(value, datetime) or _is_whole_ms(value) else first
    if isinstance(pushed, EqualTo | EqualNullSafe):
        start, end = first, behind
    elif isinstance(pushed, GreaterThan):
        start, end = behind, LAST
    elif isinstance(pushed, GreaterThanOrEqual):
        start, end = first, LAST
    elif isinstance(pushed, LessThan):
        start, end = FIRST, first
    elif isinstance(pushed, LessThanOrEqual):
        start, end = FIRST, behind
    else:
        return None
    changes: dict[str, Any] = {field: getattr(wanted, field).within(start, end)}
    return replace(wanted, **changes)
