"""POP_MESSAGE (200050): give a consumer messages that are invisible to its group for a while.

The queues are read one by one until there are enough messages. Before a queue's messages are given, a
checkpoint stands in the revive log and the group's offset moves: what is not acknowledged in time comes back
from there. All this happens in one turn of the loop, so no two pops get the same message; a cold read takes
longer, and is used only if the group's offset has not moved since it began. Popping in order writes no
checkpoint: see `orders`. A pop that finds nothing is parked under all queues of the topic and of its retry
topics; an arrival wakes one of a group's parked pops.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from engine.broker.damage.damaged_reads_io import DamagedReads
from engine.broker.pop.handlers_acks import PopAckHandlers
from engine.broker.pop.pop_reads import PopAnswer, queue_offsets
from engine.broker.pop.pop_requests import (
    ALL_POPS,
    Place,
    admitted_attempt,
    check_invisible,
    places_of,
    poll_deadline_ms,
    queues_of,
    retry_topics,
    waited_for,
    waiting_key,
)
from engine.broker.pop.revive_log import REVIVE_QUEUES
from engine.broker.pulling.filters import NO_FILTER, FilteredRead, MessageFilter, subscription_filter
from engine.broker.sending.admission import not_stored
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Hold, Outcome, Reply, WaitFlush
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.pop import PopMessageRequest
from engine.protocol.pop_handles import ORDER_REVIVE_QUEUE
from engine.store.results import Arrival, Damage, GetResult, PutStatus


class PopRequest(Struct, frozen=True, eq=False, gc=False):
    """A pop as admitted, and the long poll while it waits (`outcomes.Poll`). Small, because many may wait."""

    handlers: PopHandlers
    client: Connection
    topic: str
    group: str
    queue_id: int
    count: int
    invisible_ms: int
    init_mode: int
    is_ordered: bool
    attempt_id: str | None
    wanted: MessageFilter
    deadline_ms: int
    repaired_at: int = -1
    """The commit-log offset of a damaged record that this pop has waited for."""

    @property
    def waiting_key(self) -> Hashable:
        return waiting_key(self.topic, self.group, self.queue_id)

    @property
    def shared(self) -> MessageFilter | None:
        return self.wanted if self.wanted.weight else None

    def parked_under(self) -> tuple[Hashable, ...]:
        places = waited_for(self.topic, self.group, self.queue_id)
        # A group that pops in order has no retry topics.
        return (*(places[:1] if self.is_ordered else places), self.waiting_key, ALL_POPS)

    def accepts(self, arrival: object, /) -> bool:
        return self.handlers.accepts(self, arrival)

    def resume(self) -> Outcome:
        return self.handlers.attempt(self)


@dataclass(eq=False, repr=False)
class PopHandlers(PopAckHandlers):
    """All requests of pop consumers: this module adds POP_MESSAGE to those of the other two."""

    damaged: DamagedReads
    allows_sql: bool
    _pops: int = field(default=0, init=False)
    _claimed: dict[tuple[str, str], object] = field(default_factory=dict, init=False)

    def routes(self) -> dict[int, Handler]:
        return super().routes() | {RequestCode.POP_MESSAGE: self.pop}

    def pop(self, request: Command, client: Connection) -> Outcome:
        header = PopMessageRequest.decode(request.fields)
        topic, group, host = header.topic, header.consumer_group, client.remote[0]
        self.admission.admit(topic, header.queue_id, group, host, header.max_msg_nums)
        check_invisible(header.invisible_time)
        wanted = NO_FILTER
        if header.exp:
            wanted = subscription_filter(header.exp, header.exp_type, allows_sql=self.allows_sql)
        asked = PopRequest(
            self,
            client,
            sys.intern(topic),
            sys.intern(group),
            header.queue_id,
            max(1, header.max_msg_nums),
            header.invisible_time,
            header.init_mode,
            bool(header.order),
            admitted_attempt(header.attempt_id, is_ordered=bool(header.order)),
            wanted,
            poll_deadline_ms(header.poll_time, self.now_ms()) if header.poll_time > 0 else 0,
        )
        return self.attempt(asked)

    # -- reading --------------------------------------------------------------------------------------------

    def attempt(self, asked: PopRequest) -> Outcome:
        config = self.topics.get(asked.topic)
        answer = self._new_answer(asked)
        if config is not None:
            retries = [] if asked.is_ordered else self._retry_queues(asked)
            for place in places_of(asked.topic, asked.queue_id, config.read_queue_nums, retries, self.draw):
                cold = self._take(asked, place, answer)
                if cold is not None:
                    return cold
        if answer.count == 0:
            return self._wait(asked, answer)
        return self._give(asked, answer)

    def _new_answer(self, asked: PopRequest) -> PopAnswer:
        self._pops += 1
        return PopAnswer(
            asked.topic,
            asked.group,
            self.broker_name,
            pop_time_ms=self.now_ms(),
            invisible_ms=asked.invisible_ms,
            revive_queue_id=ORDER_REVIVE_QUEUE if asked.is_ordered else self._pops % REVIVE_QUEUES,
        )

    def _retry_queues(self, asked: PopRequest) -> list[Place]:
        found: list[Place] = []
        for topic in retry_topics(asked.topic, asked.group):
            config = self.topics.get(topic)
            if config is not None:
                found += queues_of(topic, -1, config.read_queue_nums)
        return found

    def _take(self, asked: PopRequest, place: Place, answer: PopAnswer) -> Outcome | None:
        """Add the messages of this queue; returns the cold read that is needed first, if any."""
        (topic, queue_id), group = place, asked.group
        if asked.is_ordered and self._is_blocked(asked, queue_id):
            return None
        missing = asked.count - answer.count
        if missing > 0:
            # A message in a retry topic has passed its filter before.
            wanted = asked.wanted if topic == asked.topic else NO_FILTER
            begin, result = self.reads.read(topic, group, queue_id, missing, wanted, asked.init_mode)
            if result is not None and result.damage is not None:
                if answer.count == 0:
                    return self._damaged_first(asked, place, begin, result.damage, answer)
            elif result is not None and result.cold is None:
                self._add(asked, place, begin, result.next_begin_offset, result.body, answer)
            elif result is not None and answer.count == 0:
                return self._read_cold(asked, place, begin, result)
        answer.rest += self.reads.rest(topic, group, queue_id)
        return None

    def _is_blocked(self, asked: PopRequest, queue_id: int) -> bool:
        # A pending reset is taken first: it frees the queue.
        self.reads.position(asked.topic, asked.group, queue_id, asked.init_mode)
        return (
            self.orders.blocked_until_ms(asked.topic, asked.group, queue_id, asked.attempt_id, self.now_ms())
            is not None
        )

    def _add(
        self, asked: PopRequest, place: Place, begin: int, next_offset: int, body: bytes, answer: PopAnswer
    ) -> None:
        (topic, queue_id), group = place, asked.group
        offsets = queue_offsets(body)
        counts: dict[int, int] | None = None
        if asked.is_ordered:
            counts = self.orders.popped(
                topic,
                group,
                queue_id,
                offsets,
                attempt_id=asked.attempt_id,
                invisible_ms=asked.invisible_ms,
                now_ms=answer.pop_time_ms,
            )
        else:
            stored = self.revive_log.checkpoint(
                topic,
                group,
                queue_id,
                begin,
                offsets,
                revive_queue_id=answer.revive_queue_id,
                invisible_ms=asked.invisible_ms,
                now_ms=answer.pop_time_ms,
            )
            if stored.status is not PutStatus.PUT_OK:
                # Without a checkpoint the messages could be lost; those of other queues are still given.
                if answer.count == 0:
                    raise not_stored(stored)
                return
            self.traffic.checkpoint(topic, group)
            self.reads.advance(topic, group, queue_id, next_offset)
        answer.add(topic, queue_id, begin, offsets, body, counts)
        self.traffic.got(topic, group, len(offsets), len(body))

    def _read_cold(self, asked: PopRequest, place: Place, begin: int, result: GetResult) -> ColdRead:
        assert result.cold is not None
        topic, queue_id = place
        cold = FilteredRead(
            self.store.queues, result.cold, asked.wanted.wanted if topic == asked.topic else None
        )

        def finish(body: bytes) -> Outcome:
            is_ours = self.reads.position(topic, asked.group, queue_id, asked.init_mode) == begin
            if not is_ours or (asked.is_ordered and self._is_blocked(asked, queue_id)):
                return self.attempt(asked)
            next_offset = result.next_begin_offset
            if cold.damage is not None:
                next_offset = cold.damage.queue_offset
                if next_offset == begin:
                    return self._damaged_first(asked, place, begin, cold.damage, self._new_answer(asked))
            if not body:
                self.reads.advance(topic, asked.group, queue_id, next_offset)
                return self.attempt(asked)
            answer = self._new_answer(asked)
            self._add(asked, place, begin, next_offset, body, answer)
            answer.rest = self.reads.rest(topic, asked.group, queue_id)
            return self._give(asked, answer)

        return ColdRead(cold.read, finish)

    def _damaged_first(
        self,
        asked: PopRequest,
        place: Place,
        begin: int,
        damage: Damage,
        answer: PopAnswer,
    ) -> Outcome:
        """The next message is damaged: the pop continues after its repair, or after the message."""
        topic, queue_id = place
        is_second = asked.repaired_at == damage.commit_log_offset

        def skip() -> Outcome:
            if self.reads.position(topic, asked.group, queue_id, asked.init_mode) == begin:
                self.reads.advance(topic, asked.group, queue_id, damage.queue_offset + 1)
            return self.attempt(asked)

        def again() -> Outcome:
            return self.attempt(replace(asked, repaired_at=damage.commit_log_offset))

        return self.damaged.answer(
            damage,
            asked.group,
            "pop",
            again=None if is_second else again,
            later=lambda: self._nothing(answer, ResponseCode.POLLING_TIMEOUT),
            skip=skip,
        )

    def _give(self, asked: PopRequest, answer: PopAnswer) -> Outcome:
        if answer.rest > 0:
            self.wake(waiting_key(asked.topic, asked.group, asked.queue_id))
        reply = answer.reply()
        if not self.is_sync_flush or asked.is_ordered:
            return reply
        # The same answer in time or late: if the checkpoint is lost, the group gets the messages again.
        return WaitFlush(self.store.log.max_offset, self.live.sync_flush_timeout, reply, reply)

    # -- waiting --------------------------------------------------------------------------------------------

    def _wait(self, asked: PopRequest, answer: PopAnswer) -> Outcome:
        now_ms = self.now_ms()
        if asked.deadline_ms <= now_ms or not self.can_park(asked.client):
            return self._nothing(answer, ResponseCode.POLLING_TIMEOUT)
        if (
            self.holds.count_at(ALL_POPS) >= self.live.max_pop_polling_size
            or self.holds.count_at(asked.waiting_key) >= self.live.pop_polling_size
        ):
            return self._nothing(answer, ResponseCode.POLLING_FULL)
        until_ms = asked.deadline_ms
        if asked.is_ordered:
            until_ms = min([until_ms, *self._free_at_ms(asked, now_ms)])
        return Hold(asked, max(1, until_ms - now_ms))

    def _free_at_ms(self, asked: PopRequest, now_ms: int) -> list[int]:
        """When each of its blocked queues is free again."""
        config = self.topics.get(asked.topic)
        places = queues_of(asked.topic, asked.queue_id, config.read_queue_nums if config else 1)
        until, group, attempt = self.orders.blocked_until_ms, asked.group, asked.attempt_id
        blocked = [until(topic, group, queue_id, attempt, now_ms) for topic, queue_id in places]
        return [at for at in blocked if at is not None]

    def accepts(self, asked: PopRequest, arrival: object) -> bool:
        if isinstance(arrival, Arrival):
            tags = asked.wanted.tags
            if tags is not None and arrival.topic == asked.topic and not tags(arrival.tags_code):
                return False
        owner = asked.topic, asked.group
        if self._claimed.get(owner) is arrival:
            return False
        self._claimed[owner] = arrival
        return True

    def _nothing(self, answer: PopAnswer, code: ResponseCode) -> Reply:
        self.traffic.pulls_missed += 1
        return answer.nothing(code)
