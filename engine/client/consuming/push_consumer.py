"""PushConsumer: pulls the queues that are its share, and calls a listener with their messages.

Clustering shares the queues out among the group's members and keeps offsets at the brokers (with
`server_side_balance` the brokers share them out, and may have them popped: `pop_work`). Broadcasting reads
every queue and keeps its own offsets in a file. A message is committed once the listener succeeded on it, or
its broker took it back for a retry; what was not committed when a consumer dies is delivered again. Loop
thread only; a plain listener runs in a thread pool.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import Unpack

from engine.client.consuming.concurrent import ConcurrentService
from engine.client.consuming.consume_service import ConsumeService, SendBacks
from engine.client.consuming.consumed_queues import QueueSource, QueueWork
from engine.client.consuming.listeners import Listener, ListenerCalls
from engine.client.consuming.orderly import OrderlyService, QueueLocks
from engine.client.consuming.pull_requests import PullResult
from engine.client.consuming.rebalance import BalancedConsumer
from engine.client.instance.periodic import Periodic
from engine.client.messages import ReceivedMessage
from engine.client.options import ClientArguments, ConsumerOptions
from engine.client.pop.pop_requests import Pops
from engine.client.pop.pop_work import PopWork
from engine.client.tracing.trace_writer import ConsumeTracing, Tracer
from engine.errors import BadInput
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import (
    PROP_CLIENT_VERSION,
    PROP_CONSUME_ORDERLY,
    PROP_CONSUME_TYPE,
    PROP_CONSUMER_START_TIMESTAMP,
    PROP_NAMESERVER_ADDR,
    PROP_THREADPOOL_CORE_SIZE,
    ConsumeMessageDirectlyResult,
    ConsumeResult,
    ConsumerRunningInfo,
    ConsumeType,
)
from engine.protocol.codes import MQ_VERSION_NAME
from engine.protocol.records import Record

log = logging.getLogger(__name__)


class PushConsumer(BalancedConsumer):
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
        options: ConsumerOptions | None = None,
        **arguments: Unpack[ClientArguments],
    ) -> None:
        self.options = options or ConsumerOptions()
        strategy = self.options.allocation_name if self.options.server_side_balance else None
        super().__init__(
            group, self.options, ConsumeType.CONSUME_PASSIVELY, server_strategy=strategy, **arguments
        )
        self._tracing: ConsumeTracing | None = None
        if self.options.trace:
            self._tracing = ConsumeTracing(Tracer(self.instance, group, "CONSUME", self.options.trace_topic))
        self._calls = ListenerCalls(
            listener,
            takes_list=self.options.consume_batch_size is not None,
            threads=self.options.threads,
            tracing=self._tracing,
        )
        self._send_backs = SendBacks(self.instance, group, self.options.max_reconsume_times)
        self._service = self._make_service()
        self._source = QueueSource(self._start_offsets.of, self._pull, self.options.pull)
        self._works: dict[MessageQueue, QueueWork] = {}
        self._releasing: dict[MessageQueue, asyncio.Task[None]] = {}
        self._moving: set[asyncio.Task[None]] = set()
        self._pops = Pops(self.instance, group, self.options.from_where)
        self._pop_works: dict[MessageQueue, PopWork] = {}
        self._committing = Periodic("offset commit", self.options.commit_interval_s, self._offsets.persist)

    def _make_service(self) -> ConsumeService:
        send_backs = None if self._is_broadcast else self._send_backs
        if not self.options.orderly:
            return ConcurrentService(self._calls, self._offsets, send_backs, self.options)
        locks = None if self._is_broadcast else QueueLocks(self.instance, self.group)
        return OrderlyService(self._calls, self._offsets, locks, send_backs, self.options)

    # -- life -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        if not self.subscriptions:
            raise BadInput(f"the consumer of group {self.group} subscribes to nothing")
        if self._tracing is not None:
            self._tracing.tracer.start()
        self._service.start()
        self._committing.start()
        await super().start()

    async def close(self) -> None:
        """Stop pulling, wait for the calls that run, commit, leave the group."""
        await asyncio.gather(*(work.stop_pulling() for work in self._works.values()))
        await self._service.drain(self.options.close_timeout_s)
        await self._leave()
        if self._releasing:
            await asyncio.wait(self._releasing.values())
        await self._committing.stop()
        await self._service.close()
        self._calls.close()
        await self._offsets.persist()
        if self._tracing is not None:
            await self._tracing.tracer.close()
        await super().close()

    # -- its queues -----------------------------------------------------------------------------------------

    def held(self) -> Collection[MessageQueue]:
        return [*self._works, *self._pop_works]

    def take(self, queue: MessageQueue) -> None:
        if queue in self._assignments.popped:
            self._take_to_pop(queue)
            return
        work = QueueWork(queue, self._source, self._service, self._on_illegal_offset)
        self._works[queue] = work
        # The same queue may just have been dropped: its last call must end before the first new one.
        work.start(after=self._releasing.get(queue))

    def _take_to_pop(self, queue: MessageQueue) -> None:
        work = PopWork(
            queue,
            self._subscription_of(queue.topic),
            self._pops,
            self._calls,
            self._send_backs,
            invisible_ms=self.options.pop_invisible_ms,
            threads=self.options.threads,
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
        task = asyncio.get_running_loop().create_task(self._service.release(work))
        self._releasing[work.queue] = task
        task.add_done_callback(lambda done: self._released(work.queue, done))

    def _released(self, queue: MessageQueue, task: asyncio.Task[None]) -> None:
        if self._releasing.get(queue) is task:
            del self._releasing[queue]

    async def reset_offsets(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Drop the queues and take them again at these offsets."""
        for queue, offset in offsets.items():
            if queue.topic == topic and queue in self._works:
                await self._move(self._works[queue], offset)
        self.on_members_changed()

    async def _move(self, work: QueueWork, offset: int) -> None:
        # Dropped first: a call that ends meanwhile must not bring the old offset back.
        work.process.is_dropped = True
        self._offsets.update(work.queue, offset)
        await self.drop(work.queue)

    def running_info(self) -> ConsumerRunningInfo:
        options = self.options
        properties = {
            "messageModel": options.model.name,
            "consumeFromWhere": options.from_where.name,
            "consumeMessageBatchMaxSize": str(options.consume_batch_size or 1),
            "consumeThreadMax": str(options.threads),
            "pullBatchSize": str(options.pull.batch_size),
            "pullThresholdForQueue": str(options.pull.max_messages_per_queue),
            "maxReconsumeTimes": str(options.max_reconsume_times),
            PROP_NAMESERVER_ADDR: ";".join(self.instance.name_servers.addresses),
            PROP_THREADPOOL_CORE_SIZE: str(options.threads),
            PROP_CONSUME_ORDERLY: "true" if options.orderly else "false",
            PROP_CONSUME_TYPE: self._consume_type.name,
            PROP_CLIENT_VERSION: MQ_VERSION_NAME,
            PROP_CONSUMER_START_TIMESTAMP: str(self._started_ms),
        }
        return ConsumerRunningInfo(
            properties=properties,
            subscription_set=tuple(self.subscriptions.values()),
            mq_table={queue: work.info(self._offsets.get(queue)) for queue, work in self._works.items()},
            status_table=self._calls.rates.status(),
        )

    async def consume_directly(self, record: Record, broker_name: str) -> ConsumeMessageDirectlyResult:
        message = ReceivedMessage(record, MessageQueue(record.topic, broker_name, record.queue_id))
        outcome = await self._calls.call_uncounted([message])
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

    # -- called by the queues -------------------------------------------------------------------------------

    async def _pull(self, queue: MessageQueue, offset: int) -> PullResult:
        commit_offset = None if self._is_broadcast else self._offsets.get(queue)
        wanted = self._subscription_of(queue.topic)
        return await self._pulls.pull(queue, offset, wanted, commit_offset=commit_offset)

    def _on_illegal_offset(self, work: QueueWork, offset: int) -> None:
        """Commit the offset that the broker gave, drop the queue, take it again."""
        log.warning("the broker moves group %s on %s to offset %d", self.group, work.queue, offset)
        task = asyncio.get_running_loop().create_task(self._move_and_retake(work, offset))
        self._moving.add(task)
        task.add_done_callback(self._moving.discard)

    async def _move_and_retake(self, work: QueueWork, offset: int) -> None:
        await self._move(work, offset)
        self.on_members_changed()
