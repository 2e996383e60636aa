"""Producer and consumers for code without an event loop. Safe from any thread."""

from __future__ import annotations

import concurrent.futures
import threading
from types import TracebackType
from typing import Unpack

from engine.client.blocking.loop_thread import BlockingClient, LoopThread, on_loop, waiting
from engine.client.consuming import lite_pull_consumer, push_consumer
from engine.client.consuming.listeners import Listener
from engine.client.messages import Message, SendResult
from engine.client.options import (
    Acks,
    ConsumerOptions,
    LitePullOptions,
    PopOptions,
    ProducerOptions,
    ServerAccess,
)
from engine.client.pop import pop_consumer
from engine.client.sending import producer, transaction_producer
from engine.client.sending.send_plans import Select
from engine.client.sending.transaction_producer import Check
from engine.protocol.bodies.basics import MessageQueue


class Producer(BlockingClient):
    """`engine.client.Producer` without await.

    >>> with blocking.Producer("shop", namesrv=NAMESRV) as producer:
    ...     result = producer.send(Message("orders", b"17 teapots"))
    >>> result.status.name
    'SEND_OK'
    """

    def __init__(
        self,
        group: str,
        *,
        acks: Acks | None = None,
        options: ProducerOptions | None = None,
        loop: LoopThread | None = None,
        **access: Unpack[ServerAccess],
    ) -> None:
        super().__init__(loop, lambda: producer.Producer(group, acks=acks, options=options, **access))
        self._room = threading.BoundedSemaphore(self._inner.options.max_in_flight)

    def send_async(
        self,
        message: Message,
        *,
        select: Select | None = None,
        sharding_key: str | None = None,
        queue: MessageQueue | None = None,
    ) -> concurrent.futures.Future[SendResult]:
        """Send without waiting for the answer; waits only while `max_in_flight` sends are under way."""
        self._room.acquire()
        sent = self._inner.send(message, select=select, sharding_key=sharding_key, queue=queue)
        future: concurrent.futures.Future[SendResult] = self._loop.submit(sent)
        future.add_done_callback(lambda _: self._room.release())
        return future

    send = waiting(producer.Producer.send)
    send_oneway = waiting(producer.Producer.send_oneway)
    send_batch = waiting(producer.Producer.send_batch)
    send_to_group = waiting(producer.Producer.send_to_group)
    new_msg_id = on_loop(producer.Producer.new_msg_id)
    request = waiting(producer.Producer.request)
    reply = waiting(producer.Producer.reply)
    recall = waiting(producer.Producer.recall)
    flush = waiting(producer.Producer.flush)
    queues = waiting(producer.Producer.queues)


class TransactionProducer(Producer):
    """`engine.client.TransactionProducer` without await; plain `execute` and `check` run in threads.

    >>> check = lambda message: TransactionState.COMMIT
    >>> with blocking.TransactionProducer("shop-tx", check, namesrv=NAMESRV) as shop:
    ...     result = shop.send_in_transaction(Message("orders", b"17 teapots"), lambda m: print("paid"))
    paid
    >>> result.state.name
    'COMMIT'
    """

    def __init__(
        self,
        group: str,
        check: Check,
        *,
        options: ProducerOptions | None = None,
        loop: LoopThread | None = None,
        **access: Unpack[ServerAccess],
    ) -> None:
        BlockingClient.__init__(
            self,
            loop,
            lambda: transaction_producer.TransactionProducer(group, check, options=options, **access),
        )
        self._room = threading.BoundedSemaphore(self._inner.options.max_in_flight)

    send_in_transaction = waiting(transaction_producer.TransactionProducer.send_in_transaction)


class PushConsumer(BlockingClient):
    """`engine.client.PushConsumer` without await; a plain listener runs in a thread pool.

    >>> import queue
    >>> bodies: queue.Queue[bytes] = queue.Queue()
    >>> consumer = blocking.PushConsumer("mail-room", lambda m: bodies.put(m.body), namesrv=NAMESRV)
    >>> consumer.subscribe("mail")
    >>> with consumer, blocking.Producer("shop", namesrv=NAMESRV) as producer:
    ...     _ = producer.send(Message("mail", b"a letter"))
    ...     bodies.get(timeout=30)
    b'a letter'
    """

    def __init__(
        self,
        group: str,
        listener: Listener,
        *,
        options: ConsumerOptions | None = None,
        loop: LoopThread | None = None,
        **access: Unpack[ServerAccess],
    ) -> None:
        super().__init__(loop, lambda: push_consumer.PushConsumer(group, listener, options=options, **access))

    subscribe = on_loop(push_consumer.PushConsumer.subscribe)
    unsubscribe = on_loop(push_consumer.PushConsumer.unsubscribe)
    assignment = on_loop(push_consumer.PushConsumer.assignment)


class LitePullConsumer(BlockingClient):
    """`engine.client.LitePullConsumer` without await."""

    def __init__(
        self,
        group: str,
        *,
        options: LitePullOptions | None = None,
        loop: LoopThread | None = None,
        **access: Unpack[ServerAccess],
    ) -> None:
        super().__init__(loop, lambda: lite_pull_consumer.LitePullConsumer(group, options=options, **access))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(commit=kind is None)

    def close(self, *, commit: bool = True) -> None:
        self._close(commit=commit)

    subscribe = on_loop(lite_pull_consumer.LitePullConsumer.subscribe)
    unsubscribe = on_loop(lite_pull_consumer.LitePullConsumer.unsubscribe)
    assign = waiting(lite_pull_consumer.LitePullConsumer.assign)
    assignment = on_loop(lite_pull_consumer.LitePullConsumer.assignment)
    queues = waiting(lite_pull_consumer.LitePullConsumer.queues)
    pause = on_loop(lite_pull_consumer.LitePullConsumer.pause)
    resume = on_loop(lite_pull_consumer.LitePullConsumer.resume)
    poll = waiting(lite_pull_consumer.LitePullConsumer.poll)
    seek = waiting(lite_pull_consumer.LitePullConsumer.seek)
    seek_to_begin = waiting(lite_pull_consumer.LitePullConsumer.seek_to_begin)
    seek_to_end = waiting(lite_pull_consumer.LitePullConsumer.seek_to_end)
    seek_to_time = waiting(lite_pull_consumer.LitePullConsumer.seek_to_time)
    commit = waiting(lite_pull_consumer.LitePullConsumer.commit)
    committed = waiting(lite_pull_consumer.LitePullConsumer.committed)
    position = on_loop(lite_pull_consumer.LitePullConsumer.position)


class PopConsumer(BlockingClient):
    """`engine.client.PopConsumer` without await.

    >>> with blocking.Producer("shop", namesrv=NAMESRV) as producer:
    ...     _ = producer.send(Message("crates", b"a crate"))
    >>> with blocking.PopConsumer("porters", namesrv=NAMESRV) as consumer:
    ...     consumer.subscribe("crates")
    ...     for message in consumer.receive(wait_ms=10_000):
    ...         print(message.body)
    ...         consumer.ack(message)
    b'a crate'
    """

    def __init__(
        self,
        group: str,
        *,
        options: PopOptions | None = None,
        loop: LoopThread | None = None,
        **access: Unpack[ServerAccess],
    ) -> None:
        super().__init__(loop, lambda: pop_consumer.PopConsumer(group, options=options, **access))

    subscribe = on_loop(pop_consumer.PopConsumer.subscribe)
    unsubscribe = on_loop(pop_consumer.PopConsumer.unsubscribe)
    receive = waiting(pop_consumer.PopConsumer.receive)
    ack = waiting(pop_consumer.PopConsumer.ack)
    change_invisible = waiting(pop_consumer.PopConsumer.change_invisible)
