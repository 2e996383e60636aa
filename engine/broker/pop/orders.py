"""Popping in order: a queue is blocked until its popped messages are acknowledged or their time has passed.

The group's offset stays before the first unacknowledged message, and a pop after the invisible time gives the
same messages again. The same attempt may pop again at once: its first answer was lost. Kept in
config/consumerOrderInfo.json. Pure: `now_ms` is passed in.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import field
from msgspec.structs import replace

from engine.protocol.names import is_valid_group, is_valid_topic
from engine.protocol.wire import Body, Int32, Int64

ORDER_FILE = "consumerOrderInfo.json"

_Key = tuple[str, str]
"""(topic, group)"""


class OrderInfo(Body, frozen=True):
    """One pop of one queue; `offsets` are the first and the distances from it, `acked` one bit for each."""

    pop_time: Int64 = 0
    invisible_time: Int64 = field(default=0, name="i")
    distances: tuple[Int64, ...] = field(default=(), name="o")
    visible_from: dict[Int64, Int64] = field(default_factory=dict, name="ot")
    counts: dict[Int64, Int64] = field(default_factory=dict, name="oc")
    last_consume: Int64 = field(default=0, name="l")
    acked: Int64 = field(default=0, name="cm")
    attempt_id: str | None = field(default=None, name="a")

    def offsets(self) -> list[int]:
        first, *rest = self.distances
        return [first, *(first + distance for distance in rest)]

    def unacked(self) -> list[int]:
        return [offset for bit, offset in enumerate(self.offsets()) if not self.acked >> bit & 1]

    def blocked_until_ms(self) -> int:
        """The latest moment at which one of the open messages may be seen again; 0: none is open."""
        usual = self.pop_time + self.invisible_time
        return max((self.visible_from.get(offset, usual) for offset in self.unacked()), default=0)


class OrderInfoWrapper(Body, frozen=True):
    """consumerOrderInfo.json: {"topic@group": {queue: info}}."""

    table: dict[str, dict[Int32, OrderInfo]] = field(default_factory=dict)


class OrderTable:
    def __init__(self, stored: OrderInfoWrapper | None = None) -> None:
        self._infos: dict[_Key, dict[int, OrderInfo]] = {}
        self.is_dirty = False
        self._load(stored or OrderInfoWrapper())

    def adopt(self, stored: OrderInfoWrapper) -> bool:
        """A slave takes its master's table; returns whether it differed."""
        if stored == self.wrapper():
            return False
        self._infos = {}
        self._load(stored)
        return True

    def _load(self, stored: OrderInfoWrapper) -> None:
        for key, queues in stored.table.items():
            topic, _, group = key.partition("@")
            if is_valid_topic(topic) and is_valid_group(group):
                known = {queue_id: info for queue_id, info in queues.items() if info.distances}
                self._infos[topic, group] = known

    def get(self, topic: str, group: str, queue_id: int) -> OrderInfo | None:
        return self._infos.get((topic, group), {}).get(queue_id)

    def blocked_until_ms(
        self, topic: str, group: str, queue_id: int, attempt_id: str | None, now_ms: int
    ) -> int | None:
        """None: the queue may be popped now."""
        info = self.get(topic, group, queue_id)
        if info is None or (attempt_id and attempt_id == info.attempt_id):
            return None
        until_ms = info.blocked_until_ms()
        return until_ms if until_ms > now_ms else None

    def popped(
        self,
        topic: str,
        group: str,
        queue_id: int,
        queue_offsets: Sequence[int],
        *,
        attempt_id: str | None,
        invisible_ms: int,
        now_ms: int,
    ) -> dict[int, int]:
        """Note what the queue gave; how often each message was given before."""
        before = self.get(topic, group, queue_id)
        counts = {} if before is None else _counts(before, attempt_id, queue_offsets)
        first = queue_offsets[0]
        distances = (first, *(offset - first for offset in queue_offsets[1:]))
        info = OrderInfo(now_ms, invisible_ms, distances, {}, counts, now_ms, 0, attempt_id)
        self._set(topic, group, queue_id, info)
        return {offset: counts.get(offset, 0) for offset in queue_offsets}

    def ack(self, topic: str, group: str, queue_id: int, queue_offset: int, pop_time_ms: int) -> int | None:
        """The group's next offset; None: the message does not belong to this pop (any more)."""
        info = self._of_pop(topic, group, queue_id, queue_offset, pop_time_ms)
        if info is None:
            return None
        offsets = info.offsets()
        info = replace(info, acked=info.acked | 1 << offsets.index(queue_offset))
        self._set(topic, group, queue_id, info)
        return next(iter(info.unacked()), offsets[-1] + 1)

    def show_at(
        self, topic: str, group: str, queue_id: int, queue_offset: int, pop_time_ms: int, visible_ms: int
    ) -> bool:
        """Change when the message is visible again. False: it does not belong to this pop."""
        info = self._of_pop(topic, group, queue_id, queue_offset, pop_time_ms)
        if info is None or queue_offset not in info.unacked():
            return False
        changed = {**info.visible_from, queue_offset: visible_ms}
        self._set(topic, group, queue_id, replace(info, visible_from=changed))
        return True

    def forget(self, topic: str, group: str, queue_id: int) -> None:
        """The group's offset was reset: earlier pops do not matter any more."""
        if self._infos.get((topic, group), {}).pop(queue_id, None) is not None:
            self.is_dirty = True

    def _of_pop(
        self, topic: str, group: str, queue_id: int, queue_offset: int, pop_time_ms: int
    ) -> OrderInfo | None:
        info = self.get(topic, group, queue_id)
        if info is None or info.pop_time != pop_time_ms or queue_offset not in info.offsets():
            return None
        return info

    def _set(self, topic: str, group: str, queue_id: int, info: OrderInfo) -> None:
        self._infos.setdefault((topic, group), {})[queue_id] = info
        self.is_dirty = True

    def snapshot(self) -> OrderInfoWrapper:
        self.is_dirty = False
        return self.wrapper()

    def wrapper(self) -> OrderInfoWrapper:
        return OrderInfoWrapper(
            {f"{topic}@{group}": dict(queues) for (topic, group), queues in self._infos.items() if queues}
        )

    def mark_dirty(self) -> None:
        self.is_dirty = True


def _counts(before: OrderInfo, attempt_id: str | None, queue_offsets: Sequence[int]) -> dict[int, int]:
    """A repeated attempt does not count as another delivery."""
    step = 0 if attempt_id and attempt_id == before.attempt_id else 1
    known = set(before.offsets())
    counts = {offset: before.counts.get(offset, 0) + step for offset in queue_offsets if offset in known}
    return {offset: count for offset, count in counts.items() if count}
