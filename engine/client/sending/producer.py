"""The producer: sends messages, one by one, in batches or one-way, and retries where another try may help.

`send` waits for the answer. `send_async` returns a future as soon as the message is on its way (it waits only
while too many are in flight), so that a loop of `send_async` fills the connection: all frames of one turn of
the event loop leave in one write. A send that ends with an error was refused or is in doubt; the error's
text and code tell the two apart. Loop thread only; `engine.client.blocking` has the same for threads.

What `acks` means exactly:

    0      one-way: no answer is requested; the status is HANDED_OVER, and whether it is stored is unknown
    1      answered once the master has it in its log (property WAIT=false), flushed and replicated or not
    "all"  answered once the broker's flushDiskType and brokerRole are fulfilled (WAIT=true); when the broker
           waited in vain, the status is FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT or SLAVE_NOT_AVAILABLE
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Unpack

import orjson

from engine.client.instance.instance import Client
from engine.client.messages import Message, ReceivedMessage, SendResult
from engine.client.options import Acks, ClientArguments, ProducerOptions
from engine.client.sending.deliveries import Deliveries
from engine.client.sending.drafts import MessageKeys, batch_drafts, check_body, draft, marked_draft, pack_body
from engine.client.sending.replies import reply_message, wait_for_reply
from engine.client.sending.send_plans import Select, SendPlan, SendTarget, by_sharding_key
from engine.client.tracing.trace_writer import SendTracing, Tracer
from engine.errors import BadInput, EngineError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.codes import RequestCode
from engine.protocol.headers.send import RecallMessageRequest, SendMessageRequest
from engine.protocol.message_ids import decode_recall_handle
from engine.protocol.names import check_group, retry_topic
from engine.protocol.properties import Property

COMPRESS_IN_THREAD_ABOVE_BYTES = 64 * 1024
_INTRODUCED = "client.introduced."


class Producer(Client):
    """Sends messages for a producer group.

    >>> async def main() -> None:
    ...     async with Producer("shop", namesrv=NAMESRV) as producer:
    ...         result = await producer.send(Message("orders", b"17 teapots", tags="paid", keys="order-17"))
    ...         print(result.status.name, result.queue.topic)
    >>> asyncio.run(main())
    SEND_OK orders

    `queue`, `select` or `sharding_key` fixes the queue of a message. Such a message is not retried: another
    queue would be wrong, and on its own queue a later message may have arrived meanwhile.
    """

    def __init__(
        self,
        group: str,
        *,
        acks: Acks | None = None,
        options: ProducerOptions | None = None,
        **arguments: Unpack[ClientArguments],
    ) -> None:
        check_group(group)
        self.group = group
        base = options or ProducerOptions()
        self.options = base if acks is None else replace(base, acks=acks)
        super().__init__(**arguments)
        self._waits = self.options.acks == "all"
        self._keys = MessageKeys(self.instance.ip, os.getpid(), random.getrandbits(32))
        self._deliveries = Deliveries(self.instance, group, self.options)
        self._tracing: SendTracing | None = None

    # -- life -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        await super().start()
        if self.options.trace:
            tracer = Tracer(self.instance, self.group, "PRODUCE", self.options.trace_topic)
            tracer.start()
            self._tracing = SendTracing(tracer)
        self._deliveries.start(self._tracing)
        self.instance.join_producer_group(self.group)

    async def close(self) -> None:
        """Wait for what is in flight (each send has its own time-out), then leave."""
        if not self._deliveries.is_running:
            return
        await self._deliveries.close()
        if self._tracing is not None:
            await self._tracing.tracer.close()
        await self.instance.leave_producer_group(self.group)
        await super().close()

    # -- sending --------------------------------------------------------------------------------------------

    async def send(
        self,
        message: Message,
        *,
        select: Select | None = None,
        sharding_key: str | None = None,
        queue: MessageQueue | None = None,
    ) -> SendResult:
        """Send and wait for the result.

        Raises PeerError when it was refused, PeerTimeout or PeerUnreachable when it is in doubt.
        """
        future = await self._send(message, self.options.acks, select, sharding_key, queue)
        return await future

    def send_async(
        self,
        message: Message,
        *,
        select: Select | None = None,
        sharding_key: str | None = None,
        queue: MessageQueue | None = None,
    ) -> Coroutine[None, None, asyncio.Future[SendResult]]:
        """To be awaited: send and return a future of the result; waits for nothing but room in the window."""
        return self._send(message, self.options.acks, select, sharding_key, queue)

    async def send_oneway(
        self,
        message: Message,
        *,
        select: Select | None = None,
        sharding_key: str | None = None,
        queue: MessageQueue | None = None,
    ) -> None:
        """Write the message to the connection, whatever `acks` is; whether it is stored is unknown."""
        await self._send(message, 0, select, sharding_key, queue)

    async def _send(
        self,
        message: Message,
        acks: Acks,
        select: Select | None,
        sharding_key: str | None,
        queue: MessageQueue | None,
        marks: Mapping[str, str] | None = None,
        flag_bits: int = 0,
    ) -> asyncio.Future[SendResult]:
        body = message.body
        options = self.options
        check_body(body, options.max_message_bytes)
        packed = (body, 0) if len(body) < options.compress_above_bytes else await self._pack(body)
        deliveries = self._running()
        plan = deliveries.plans.known(message.topic) or await deliveries.plans.make(message.topic)
        if deliveries.window.is_full:
            await deliveries.window.room()
        now_ms = int(time.time() * 1000)
        msg_id = message.msg_id or self._keys.next(now_ms)
        if marks is None:
            ready = draft(message, msg_id, self._waits, packed)
        else:
            ready = marked_draft(message, msg_id, packed, marks, flag_bits)
        fixed = self._fixed_target(plan, message, select, sharding_key, queue)
        target = fixed or plan.choose(deliveries.faults, now_ms)
        if acks == 0:
            return await deliveries.hand_over(ready, target, now_ms, is_batch=False)
        is_fixed = fixed is not None or marks is not None
        return deliveries.launch(ready, plan, target, now_ms, is_batch=False, is_fixed=is_fixed)

    def new_msg_id(self) -> str:
        """For `Message.msg_id`: when the answer of a send is lost, `admin.messages.by_unique_key` finds out
        with it whether the message is stored."""
        return self._keys.next(int(time.time() * 1000))

    async def send_to_group(self, message: Message, group: str, origin_msg_id: str) -> SendResult:
        """To one group only, through the group's retry topic, as if it had failed there once: other groups of
        the topic do not get it. Members get it as a message of `message.topic`. Never retried."""
        marks = {Property.RETRY_TOPIC: message.topic, Property.ORIGIN_MESSAGE_ID: origin_msg_id}
        return await self._send_marked(replace(message, topic=retry_topic(group)), marks, 0, None)

    async def send_batch(
        self,
        messages: Iterable[Message],
        *,
        select: Select | None = None,
        sharding_key: str | None = None,
        queue: MessageQueue | None = None,
    ) -> list[SendResult]:
        """Send messages of one topic in as few requests as `max_batch_bytes` allows; one result per request.

        Each request is stored all or nothing. If one fails, its error is raised once all have ended; the
        results of the others are then in `error.data["results"]`.
        """
        futures = await self.send_batch_async(messages, select=select, sharding_key=sharding_key, queue=queue)
        await asyncio.wait(futures)
        failures = [error for future in futures if isinstance(error := future.exception(), EngineError)]
        results = [future.result() for future in futures if future.exception() is None]
        if failures:
            failures[0].data["results"] = results
            raise failures[0]
        return results

    async def send_batch_async(
        self,
        messages: Iterable[Message],
        *,
        select: Select | None = None,
        sharding_key: str | None = None,
        queue: MessageQueue | None = None,
    ) -> list[asyncio.Future[SendResult]]:
        """`send_batch` without waiting for the answers: a future per request."""
        batch = list(messages)
        if not batch:
            raise BadInput("a batch holds at least one message")
        deliveries = self._running()
        plan = await self._deliveries.plan_of(batch[0].topic)
        now_ms = int(time.time() * 1000)
        fixed = self._fixed_target(plan, batch[0], select, sharding_key, queue)
        futures: list[asyncio.Future[SendResult]] = []
        for ready in batch_drafts(batch, self._keys, now_ms, self._waits, self.options):
            if deliveries.window.is_full:
                await deliveries.window.room()
            target = fixed or plan.choose(deliveries.faults, now_ms)
            if self.options.acks == 0:
                futures.append(await deliveries.hand_over(ready, target, now_ms, is_batch=True))
            else:
                is_fixed = fixed is not None
                futures.append(
                    deliveries.launch(ready, plan, target, now_ms, is_batch=True, is_fixed=is_fixed)
                )
        return futures

    # -- request and reply ----------------------------------------------------------------------------------

    async def request(
        self, message: Message, *, timeout_ms: int = 3_000, queue: MessageQueue | None = None
    ) -> ReceivedMessage:
        """Send a message and wait for its consumer's reply; PeerTimeout when none comes."""
        deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        plan = await self._deliveries.plan_of(message.topic)
        await self._introduce(plan)
        marks, reply = self.instance.server_requests.replies.expect(self.instance.client_id, timeout_ms)
        try:
            await self._send_marked(message, marks, 0, queue)
            left_s = deadline - asyncio.get_running_loop().time()
            return await wait_for_reply(reply, left_s, message.topic)
        finally:
            reply.cancel()

    async def reply(
        self,
        request: ReceivedMessage,
        body: bytes,
        *,
        tags: str | None = None,
        properties: dict[str, str] | None = None,
    ) -> None:
        """Answer a consumed request. PeerError when its sender is no longer connected."""
        message, marks = reply_message(request, body, tags=tags, properties=properties or {})
        check_body(body, self.options.max_message_bytes)
        plan = await self._deliveries.plan_of(message.topic)
        near = [queue for queue in plan.queues if queue.broker_name == request.queue.broker_name]
        queue = (near or plan.queues)[0]
        now_ms = int(time.time() * 1000)
        packed = (body, 0) if len(body) < self.options.compress_above_bytes else await self._pack(body)
        ready = marked_draft(message, self._keys.next(now_ms), packed, marks, 0)
        header = SendMessageRequest(
            self.group,
            queue.topic,
            self.options.default_topic,
            self.options.default_topic_queue_nums,
            queue.queue_id,
            ready.sys_flag,
            now_ms,
            ready.flag,
            orjson.loads(ready.properties),
            broker_name=queue.broker_name,
        )
        await self.instance.call(
            self.instance.master_address(queue.broker_name),
            RequestCode.SEND_REPLY_MESSAGE_V2,
            header.to_v2(),
            ready.body,
            timeout_ms=self.options.send_timeout_ms,
        )

    async def _introduce(self, plan: SendPlan) -> None:
        """A broker can push a reply only to a client whose heartbeat it has."""
        for broker_name in {queue.broker_name for queue in plan.queues}:
            connection = await self.instance.requester.connect(self.instance.master_address(broker_name))
            mark = _INTRODUCED + self.group
            if mark not in connection.tags:
                await self.instance.heartbeat()
                connection.tags[mark] = True

    async def _send_marked(
        self, message: Message, marks: Mapping[str, str], flag_bits: int, queue: MessageQueue | None
    ) -> SendResult:
        """Send with system properties; always answered, never tried twice."""
        return await (await self._send(message, "all", None, None, queue, marks, flag_bits))

    async def flush(self) -> None:
        """Wait until everything that `send_async` has taken is answered or given up."""
        await self._running().window.drained()

    async def recall(self, handle: str) -> str:
        """Call back a message that waits for its time (`SendResult.recall_handle`); the id of the message.

        Raises PeerError when it is too late (604) or the broker does not allow it (recallMessageEnable).
        """
        where = decode_recall_handle(handle)
        await self.queues(where.topic)
        address = self.instance.master_address(where.broker_name)
        header = RecallMessageRequest(where.topic, handle, self.group)
        answer = await self.instance.call(address, RequestCode.RECALL_MESSAGE, header)
        return answer.fields.get("msgId", "")

    async def queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """The queues that messages of this topic may go to, in the order that selectors see."""
        return (await self._deliveries.plan_of(topic)).queues

    # -- inside ---------------------------------------------------------------------------------------------

    def _fixed_target(
        self,
        plan: SendPlan,
        message: Message,
        select: Select | None,
        sharding_key: str | None,
        queue: MessageQueue | None,
    ) -> SendTarget | None:
        if queue is not None:
            return plan.target_of(queue)
        if select is None and sharding_key is not None:
            select = by_sharding_key(sharding_key)
        return plan.target_of(select(plan.queues, message)) if select is not None else None

    async def _pack(self, body: bytes) -> tuple[bytes, int]:
        kind, level = self.options.compression, self.options.compression_level
        if len(body) < COMPRESS_IN_THREAD_ABOVE_BYTES:
            return pack_body(body, kind, level)
        return await asyncio.to_thread(pack_body, body, kind, level)

    def _running(self) -> Deliveries:
        if not self._deliveries.is_running:
            raise BadInput(f"the producer of group {self.group} is not started, or is closed")
        return self._deliveries
