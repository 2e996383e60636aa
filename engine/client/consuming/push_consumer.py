"""The consumer that calls: it pulls the queues that are its share, and hands their messages to a listener.

Clustering shares the queues out among the group's members and keeps offsets at the brokers (which may do the
sharing themselves, and have them popped: `pop_work`); broadcasting reads every queue and keeps its own
offsets in a file. A message is committed once the listener succeeded on
it (or its broker took it back for a retry); what was not committed when a consumer dies is delivered again.
Loop thread only; a plain listener runs in threads of its own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Self

from engine.client.consuming.concurrent import ConcurrentConsuming
from engine.client.consuming.consume_rates import ConsumeRates
from engine.client.consuming.listeners import Listener, ListenerCalls
from engine.client.consuming.membership import Membership
from engine.client.consuming.offset_stores import LocalOffsets, OffsetStore, RemoteOffsets, local_offsets_path
from engine.client.consuming.orderly import OrderlyConsuming
from engine.client.consuming.pull_requests import PullResult, Pulls
from engine.client.consuming.queue_locks import QueueLocks
from engine.client.consuming.queue_offsets import QueueOffsets
from engine.client.consuming.queue_pulls import Consuming, QueueWork
from engine.client.consuming.running_info import describe
from engine.client.consuming.send_backs import SendBacks
from engine.client.consuming.start_offsets import HALF_AN_HOUR_MS, StartOffsets
from engine.client.instance.instance import ClientInstance, own_or_given
from engine.client.instance.periodic import Periodic
from engine.client.messages import ReceivedMessage
from engine.client.options import ClientOptions, ConsumerOptions, Tls
from engine.client.pop.pop_requests import Pops
from engine.client.pop.pop_work import PopWork
from engine.client.tracing.trace_points import ConsumeTracing
from engine.client.tracing.trace_writer import Tracer
from engine.errors import BadInput, EngineError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import (
    TAG_EXPRESSION,
    ConsumeMessageDirectlyResult,
    ConsumeResult,
    ConsumerRunningInfo,
    ConsumeType,
    MessageModel,
)
from engine.protocol.names import check_group
from engine.protocol.records import Record
from engine.protocol.signing import Credentials

log = logging.getLogger(__name__)


class PushConsumer:
    """Calls a listener with the messages of a consumer group.

    >>> async def main() -> None:
    ...     arrived = asyncio.Event()
    ...     async def listener(message: ReceivedMessage) -> None:
    ...         print(message.tags, message.body)
    ...         arrived.set()
    ...     consumer = PushConsumer("billing", listener, namesrv=NAMESRV)
    ...     consumer.subscribe("payments", "card || cash")
    ...     async with consumer, Producer("shop", namesrv=NAMESRV) as producer:
    ...         await producer.send(Message("payments", b"17.50", tags="cash"))
    ...         await asyncio.wait_for(arrived.wait(), 30)
    >>> asyncio.run(main())
    cash b'17.50'
    """

    def __init__(
        self,
        group: str,
        listener: Listener,
        *,
        namesrv: str | None = None,
        options: ConsumerOptions | None = None,
        instance: ClientInstance | None = None,
        tls: Tls = None,
        credentials: Credentials | None = None,
    ) -> None:
        check_group(group)
        self.group = group
        self.options = options or ConsumerOptions()
        self._is_broadcast = self.options.model is MessageModel.BROADCASTING
        # A broadcasting client must be itself again after a restart: its offsets are filed under its id.
        client_options = ClientOptions(
            instance_name="DEFAULT" if self._is_broadcast else None, tls=tls, credentials=credentials
        )
        self.instance = own_or_given(instance, namesrv, client_options)
        self._owns_instance = instance is None
        self._queue_offsets = QueueOffsets(self.instance)
        self._offsets = self._make_offset_store()
        self._pulls = Pulls(self.instance, group, self.options.pull)
        self._rates = ConsumeRates()
        takes_list = self.options.consume_batch_size is not None
        self._tracing = self._make_tracing()
        self._calls = ListenerCalls(
            listener, takes_list=takes_list, threads=self.options.threads, tracing=self._tracing
        )
        self._consuming = self._make_consuming()
        self._works: dict[MessageQueue, QueueWork] = {}
        self._releasing: dict[MessageQueue, asyncio.Task[None]] = {}
        self._moving: set[asyncio.Task[None]] = set()
        self._started_ms = int(time.time() * 1000)
        self._membership = Membership(
            self.instance,
            group,
            self,
            model=self.options.model,
            from_where=self.options.from_where,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            allocate=self.options.allocate,
            rebalance_s=self.options.rebalance_s,
            server_strategy=self.options.allocation_name if self.options.server_side_balance else None,
        )
        self._pops = Pops(self.instance, group, self.options.from_where)
        self._pop_works: dict[MessageQueue, PopWork] = {}
        self._start_offsets = self._make_start_offsets()
        self._committing = Periodic("offset commit", self.options.commit_interval_s, self._offsets.persist)

    def _make_offset_store(self) -> OffsetStore:
        if not self._is_broadcast:
            return RemoteOffsets(self.group, self._queue_offsets)
        return LocalOffsets(
            local_offsets_path(self.options.offsets_folder, self.instance.client_id, self.group)
        )

    def _make_tracing(self) -> ConsumeTracing | None:
        if not self.options.trace:
            return None
        tracer = Tracer(self.instance, self.group, "CONSUME", self.options.trace_topic)
        return ConsumeTracing(tracer, self.group)

    def _make_consuming(self) -> Consuming:
        send_backs = SendBacks(self.instance, self.group, self.options.max_reconsume_times)
        shared = None if self._is_broadcast else send_backs
        if not self.options.orderly:
            return ConcurrentConsuming(self._calls, self._offsets, shared, self._rates, self.options)
        locks = None if self._is_broadcast else QueueLocks(self.instance, self.group)
        return OrderlyConsuming(self._calls, self._offsets, locks, shared, self._rates, self.options)

    def _make_start_offsets(self) -> StartOffsets:
        timestamp_ms = self.options.consume_from_timestamp_ms
        if timestamp_ms is None:
            timestamp_ms = self._started_ms - HALF_AN_HOUR_MS
        return StartOffsets(self._offsets, self._queue_offsets, self.options.from_where, timestamp_ms)

    # -- life -----------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        if not self._membership.subscriptions:
            raise BadInput(f"the consumer of group {self.group} subscribes to nothing")
        if self._owns_instance:
            self.instance.start()
        if self._tracing is not None:
            self._tracing.tracer.start()
        self._consuming.start()
        self._committing.start()
        try:
            await self._membership.start()
        except EngineError:
            await self.close()
            raise

    async def close(self) -> None:
        """Stop pulling, let the calls that run end, commit, leave the group."""
        await asyncio.gather(*(work.stop_pulling() for work in self._works.values()))
        await self._consuming.drain(self.options.close_timeout_s)
        await self._membership.close()
        if self._releasing:
            await asyncio.wait(self._releasing.values())
        await self._committing.stop()
        await self._consuming.close()
        self._calls.close()
        await self._offsets.persist()
        if self._tracing is not None:
            await self._tracing.tracer.close()
        if self._owns_instance:
            await self.instance.close()

    def subscribe(self, topic: str, expression: str = "*", kind: str = TAG_EXPRESSION) -> None:
        """Want a topic: all of it, messages by tag (`a || b`), or by an SQL92 expression (`kind="SQL92"`)."""
        self._membership.subscribe(topic, expression, kind)

    def unsubscribe(self, topic: str) -> None:
        self._membership.unsubscribe(topic)

    def assignment(self) -> list[MessageQueue]:
        """The queues that are this consumer's share now."""
        return sorted(self.held())

    # -- what the membership asks ---------------------------------------------------------------------------

    def held(self) -> Collection[MessageQueue]:
        return [*self._works, *self._pop_works]

    def take(self, queue: MessageQueue) -> None:
        if self._membership.is_popped(queue):
            self._take_to_pop(queue)
            return
        work = QueueWork(queue, self, self._consuming, self.options.pull)
        self._works[queue] = work
        # The same queue may have just been let go of: its last call must end before the first new one.
        work.start(after=self._releasing.get(queue))

    def _take_to_pop(self, queue: MessageQueue) -> None:
        work = PopWork(
            queue,
            self._membership.subscription_of(queue.topic),
            self._pops,
            self._calls,
            SendBacks(self.instance, self.group, self.options.max_reconsume_times),
            self._rates,
            invisible_ms=self.options.pop_invisible_ms,
            threads=self.options.threads,
            max_reconsume_times=self.options.max_reconsume_times,
        )
        self._pop_works[queue] = work
        work.start()

    async def drop(self, queue: MessageQueue) -> None:
        popping = self._pop_works.pop(queue, None)
        if popping is not None:
            await popping.stop(self.options.close_timeout_s)
            return
        work = self._works.pop(queue, None)
        if work is None:
            return
        await work.stop_pulling()
        work.process.is_dropped = True
        self._release(work)
        await self._offsets.persist([queue])
        self._offsets.forget(queue)

    def _release(self, work: QueueWork) -> None:
        task = asyncio.get_running_loop().create_task(self._consuming.release(work))
        self._releasing[work.queue] = task
        task.add_done_callback(lambda done: self._released(work.queue, done))

    def _released(self, queue: MessageQueue, task: asyncio.Task[None]) -> None:
        if self._releasing.get(queue) is task:
            del self._releasing[queue]

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Go on at these offsets: what was pulled is thrown away, the queues are taken anew."""
        for queue, offset in offsets.items():
            if queue.topic == topic and queue in self._works:
                await self._move(self._works[queue], offset)
        self._membership.on_members_changed()

    async def _move(self, work: QueueWork, offset: int) -> None:
        # Dropped first: a call that ends meanwhile must not bring the old offset back.
        work.process.is_dropped = True
        self._offsets.update(work.queue, offset)
        await self.drop(work.queue)

    def offsets_of(self, topic: str) -> dict[MessageQueue, int]:
        return {queue: offset for queue, offset in self._offsets.all().items() if queue.topic == topic}

    def running_info(self) -> ConsumerRunningInfo:
        return describe(
            self.options,
            self.instance.name_servers.addresses,
            self._started_ms,
            self._membership.subscriptions,
            {queue: (work.process, self._offsets.get(queue)) for queue, work in self._works.items()},
            self._rates.status(),
        )

    async def consume_directly(self, record: Record, broker_name: str) -> ConsumeMessageDirectlyResult:
        message = ReceivedMessage(record, MessageQueue(record.topic, broker_name, record.queue_id))
        outcome = await self._calls.call([message])
        result = ConsumeResult.CR_SUCCESS if outcome.is_success else ConsumeResult.CR_LATER
        if outcome.error is not None:
            result = ConsumeResult.CR_THROW_EXCEPTION
        return ConsumeMessageDirectlyResult(
            order=self.options.orderly,
            auto_commit=True,
            consume_result=result,
            remark=repr(outcome.error) if outcome.error is not None else None,
            spent_time_mills=int(outcome.elapsed_ms),
        )

    # -- what a queue's work asks ---------------------------------------------------------------------------

    async def find_start(self, queue: MessageQueue) -> int:
        return await self._start_offsets.of(queue)

    async def pull(self, queue: MessageQueue, offset: int) -> PullResult:
        commit_offset = None if self._is_broadcast else self._offsets.get(queue)
        wanted = self._membership.subscription_of(queue.topic)
        return await self._pulls.pull(queue, offset, wanted, commit_offset=commit_offset)

    def on_passed_over(self, queue: MessageQueue, offset: int) -> None:
        if queue in self._works:
            self._offsets.update(queue, offset)

    def on_illegal_offset(self, work: QueueWork, offset: int) -> None:
        """The broker says where to go on: commit that, let go, take the queue anew."""
        log.warning("%s goes on at %d, the broker says", work.queue, offset)
        task = asyncio.get_running_loop().create_task(self._move_and_retake(work, offset))
        self._moving.add(task)
        task.add_done_callback(self._moving.discard)

    async def _move_and_retake(self, work: QueueWork, offset: int) -> None:
        await self._move(work, offset)
        self._membership.on_members_changed()
