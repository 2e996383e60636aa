"""What a push consumer does with pulled messages: the base of `concurrent` and `orderly`, and sending back.

A message that the listener fails on is sent back to its broker, which puts it into the group's retry topic
with a delay that grows, and into its dead-letter topic once it has come back too often. Loop thread only.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from engine.client.consuming.listeners import ListenerCalls
from engine.client.consuming.offsets import OffsetStore
from engine.client.instance.instance import ClientInstance
from engine.client.messages import ReceivedMessage
from engine.client.options import ConsumerOptions
from engine.protocol.codes import RequestCode
from engine.protocol.headers.send import ConsumerSendMsgBackRequest

if TYPE_CHECKING:
    from engine.client.consuming.consumed_queues import QueueWork

DELAY_BY_BROKER = 0
TO_DEAD_LETTERS = -1
LEVEL_AFTER_TIMEOUT = 3
DEFAULT_MAX_RECONSUME_TIMES = 16
_DRAIN_POLL_S = 0.01


class SendBacks:
    """`send_back` raises when the broker did not take the message: it is then still ours to consume."""

    def __init__(self, instance: ClientInstance, group: str, max_reconsume_times: int) -> None:
        self._instance = instance
        self._group = group
        is_default = max_reconsume_times < 0
        self.max_reconsume_times = DEFAULT_MAX_RECONSUME_TIMES if is_default else max_reconsume_times

    async def send_back(self, message: ReceivedMessage, delay_level: int = DELAY_BY_BROKER) -> None:
        header = ConsumerSendMsgBackRequest(
            offset=message.commit_log_offset,
            group=self._group,
            delay_level=delay_level,
            origin_msg_id=message.msg_id,
            origin_topic=message.record.topic,
            max_reconsume_times=self.max_reconsume_times,
        )
        address = self._instance.master_address(message.queue.broker_name)
        await self._instance.call(address, RequestCode.CONSUMER_SEND_MSG_BACK, header)


class ConsumeService:
    """Calls the listener with the messages of all queues. `send_backs=None` means broadcasting."""

    def __init__(
        self,
        calls: ListenerCalls,
        offsets: OffsetStore,
        send_backs: SendBacks | None,
        options: ConsumerOptions,
    ) -> None:
        self._calls = calls
        self._offsets = offsets
        self._send_backs = send_backs
        self._options = options
        self._batch_size = options.consume_batch_size or 1
        self._is_draining = False

    def start(self) -> None:
        raise NotImplementedError

    async def admit(self, work: QueueWork) -> None:
        """Returns when this queue may be pulled."""

    def accept(self, work: QueueWork, messages: list[ReceivedMessage]) -> None:
        raise NotImplementedError

    def commit(self, work: QueueWork, offset: int | None) -> None:
        """Everything before this offset is consumed; ignored once the queue is dropped."""
        if offset is not None and not work.process.is_dropped:
            self._offsets.update(work.queue, offset)

    def finish(self, work: QueueWork, offset: int | None) -> None:
        """Messages left the queue's window, everything before this offset is consumed."""
        work.on_consumed()
        self.commit(work, offset)

    async def release(self, work: QueueWork) -> None:
        """The queue was dropped: returns when another member may consume it."""

    def is_calling(self) -> bool:
        raise NotImplementedError

    async def drain(self, timeout_s: float) -> None:
        """Begin no new call, wait for those that run."""
        self._is_draining = True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while self.is_calling() and loop.time() < deadline:
            await asyncio.sleep(_DRAIN_POLL_S)

    async def close(self) -> None:
        raise NotImplementedError
