"""How one group gets on with one topic: lag, age of the oldest unread, rate, when it will be done. Pure.

What a group will read of a queue that it has committed nothing on is not known: its clients decide where they
begin. Such a queue counts as nothing where it holds no messages; else the lag is that of the other queues and
marked as partial, or not known at all when those have none: a zero is never a guess. A queue with unread
messages whose age is not known makes the age of the whole unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.collecting.clearing import NEVER, Eta, LagTrend, Progress, QueueKey
from clusters.collecting.findings import SubscriptionRow
from clusters.collecting.known_broker import dumps, moment
from clusters.collecting.meters import Meter
from clusters.selectors.live import known_lag

Pair = tuple[str, str]
"""Topic and group."""


class PairMemory:
    __slots__ = ("meter", "trend")

    def __init__(self) -> None:
        self.meter = Meter()
        self.trend: LagTrend | None = None
        """Only while there is a lag: of most groups there is none."""


def work_out_pair(
    pair: Pair,
    offsets: Mapping[str, Any],
    topics: Mapping[str, Any],
    expression: str,
    memory: PairMemory,
    now_s: float,
    quiet_until_s: float = 0.0,
) -> SubscriptionRow:
    topic, group = pair
    unknown = _uncommitted(offsets, topics)
    if not offsets:
        is_counted = not any(part.get("isPartial") for part in topics.values())
        lag = 0 if is_counted and not unknown else None
        return SubscriptionRow(
            group, topic, lag, lag is None, None, None, None, False, expression, dumps(unknown)
        )
    queues, progress = _queues(offsets, topics)
    memory.meter.feed(now_s, sum(committed for committed, _ in progress.values()), quiet_until_s)
    lag = sum(end - committed for committed, end in progress.values())
    whole: Eta = 0.0
    if lag:
        memory.trend = memory.trend or LagTrend()
        memory.trend.feed(now_s, progress)
        clearing = memory.trend.clearing()
        whole = clearing.whole
        for queue in queues:
            eta = clearing.queues[(queue["broker"], queue["queue"])]
            queue["eta_s"] = eta.value if eta is NEVER else eta
    else:
        memory.trend = None
    oldest_ms = _oldest(queues) if lag else None
    return SubscriptionRow(
        group=group,
        topic=topic,
        lag=known_lag(lag, len(unknown)),
        lag_is_partial=bool(unknown),
        oldest_unread_at=None if oldest_ms is None else moment(oldest_ms),
        consume_rate=memory.meter.rate(),
        eta_s=None if whole is NEVER or unknown else whole,
        never_clears=whole is NEVER,
        expression=expression,
        queues=dumps(queues + unknown),
    )


def _uncommitted(offsets: Mapping[str, Any], topics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Queues with messages that the group has committed nothing on."""
    found = []
    for broker, part in topics.items():
        entries, queues = offsets.get(broker, ()), part.get("queues", ())
        if len(entries) == len(queues):
            continue
        committed = {entry[0] for entry in entries}
        for queue_id, least, end in queues:
            if queue_id not in committed and end > (least or 0):
                found.append({"broker": broker, "queue": queue_id, "committed": None, "max": end})
    return found


def _queues(
    offsets: Mapping[str, Any], topics: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], dict[QueueKey, Progress]]:
    queues: list[dict[str, Any]] = []
    progress: dict[QueueKey, Progress] = {}
    for broker, committed_list in offsets.items():
        ends = {queue[0]: queue[2] for queue in topics.get(broker, {}).get("queues", ())}
        for queue_id, committed, *oldest in committed_list:
            # Offsets are sampled before queues' ends: a group may be one message "ahead".
            end = max(ends.get(queue_id, 0), committed)
            queue = {"broker": broker, "queue": queue_id, "committed": committed, "max": end}
            if oldest and end > committed:
                queue["oldest_ms"] = oldest[0]
            queues.append(queue)
            progress[(broker, queue_id)] = (committed, end)
    return queues, progress


def _oldest(queues: list[dict[str, Any]]) -> int | None:
    times = [queue.get("oldest_ms") for queue in queues if queue["max"] > queue["committed"]]
    known = [time for time in times if time is not None]
    return min(known) if len(known) == len(times) else None
