"""A topic's row from what each broker group says of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from clusters.collecting.findings import TopicRow
from clusters.collecting.known_broker import dumps
from clusters.collecting.meters import Meter
from engine.protocol.names import is_dlq_topic, is_retry_topic, is_system_topic


class TopicMemory:
    __slots__ = ("is_counted", "meter", "total")

    def __init__(self) -> None:
        self.meter = Meter()
        self.total: int | None = None
        self.is_counted = False
        """Whether all queues' ends are known, so that a rate will be."""


def kind_of(topic: str, cluster: str, brokers: Mapping[str, Any]) -> str:
    if is_retry_topic(topic):
        return "retry"
    if is_dlq_topic(topic):
        return "dlq"
    is_system = any(is_system_topic(topic, cluster, broker) for broker in brokers)
    return "system" if is_system else "normal"


def work_out_topic(
    topic: str,
    parts: Mapping[str, Any],
    memory: TopicMemory,
    before: TopicRow | None,
    lags: Sequence[int | None],
    cluster: str,
    now: datetime,
    quiet_until_s: float = 0.0,
) -> TopicRow:
    """`lags`: of the groups that read it."""
    queues = [queue for part in parts.values() for queue in part["queues"]]
    memory.is_counted = not any(part.get("isPartial") for part in parts.values())
    end = sum(queue[2] for queue in queues)
    has_grown = memory.total is not None and end > memory.total
    memory.total = end
    memory.meter.feed(now.timestamp(), end, quiet_until_s)
    is_bounded = memory.is_counted and all(queue[1] is not None for queue in queues)
    perms = [part["perm"] for part in parts.values()]
    return TopicRow(
        name=topic,
        kind=kind_of(topic, cluster, parts) if before is None else before.kind,
        read_queues=sum(part["readQueues"] for part in parts.values()),
        write_queues=sum(part["writeQueues"] for part in parts.values()),
        perm=_any_of(perms),
        is_ordered=any(part["isOrdered"] for part in parts.values()),
        brokers=dumps(parts),
        messages=end - sum(queue[1] for queue in queues) if is_bounded else None,
        put_rate=memory.meter.rate() if memory.is_counted else None,
        last_write_at=now if has_grown else before.last_write_at if before is not None else None,
        group_count=len(lags),
        lag=None if None in lags else sum(lag for lag in lags if lag is not None),
    )


def _any_of(perms: list[int]) -> int:
    together = 0
    for perm in perms:
        together |= perm
    return together
