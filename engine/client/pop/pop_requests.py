"""The requests of consumers that pop: pop, acknowledge, change the invisible time. Loop thread only."""

from __future__ import annotations

import time

from engine.client.consuming.subscriptions import accepts
from engine.client.instance.answers import all_of, peer_error
from engine.client.instance.instance import ClientInstance
from engine.client.pop.pop_messages import PoppedMessage, batch_acks, popped_messages
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import ConsumeFromWhere, SubscriptionData
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.pop import (
    AckMessageRequest,
    ChangeInvisibleTimeRequest,
    ChangeInvisibleTimeResponse,
    PopMessageRequest,
)

ALL_QUEUES = -1
MOST = 32
"""Messages that a broker returns per pop."""
_FROM_MIN, _FROM_MAX = 0, 1
_NOTHING = (ResponseCode.POLLING_TIMEOUT, ResponseCode.POLLING_FULL, ResponseCode.PULL_NOT_FOUND)
_ANSWER_MARGIN_MS = 5_000


class Pops:
    def __init__(self, instance: ClientInstance, group: str, from_where: ConsumeFromWhere) -> None:
        self._instance = instance
        self._group = group
        is_last = from_where is ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
        self._init_mode = _FROM_MAX if is_last else _FROM_MIN

    async def pop(
        self,
        queue: MessageQueue,
        wanted: SubscriptionData,
        count: int,
        *,
        invisible_ms: int,
        poll_ms: int,
        order: bool = False,
    ) -> list[PoppedMessage]:
        """Messages of this queue (id -1: of all of the broker's), or none when none came in time."""
        header = PopMessageRequest(
            self._group,
            queue.topic,
            queue.queue_id,
            count,
            invisible_ms,
            poll_ms,
            int(time.time() * 1000),
            self._init_mode,
            wanted.expression_type,
            wanted.sub_string,
            order or None,
        )
        command = Command(RequestCode.POP_MESSAGE, fields=header.encode())
        address = self._instance.master_address(queue.broker_name)
        answer = await self._instance.requester.request(address, command, poll_ms + _ANSWER_MARGIN_MS)
        if answer.code in _NOTHING:
            return []
        if answer.code != ResponseCode.SUCCESS:
            raise peer_error(answer)
        messages = popped_messages(answer.fields, bytes(answer.body), queue.broker_name, self._group)
        unwanted = [message for message in messages if not accepts(wanted, message.tags)]
        if unwanted:
            # Other tags with the same hash: acknowledged, so that no member gets them again.
            await self.ack(*unwanted)
        return [message for message in messages if message not in unwanted]

    async def ack(self, *messages: PoppedMessage) -> None:
        if len(messages) == 1:
            await self._ack_one(messages[0])
            return
        await all_of(
            self._instance.call(
                self._instance.master_address(name), RequestCode.BATCH_ACK_MESSAGE, body=body.encode()
            )
            for name, body in batch_acks(messages).items()
        )

    async def _ack_one(self, message: PoppedMessage) -> None:
        handle = message.handle
        header = AckMessageRequest(
            self._group, message.stored_topic, handle.queue_id, handle.encode(), handle.queue_offset
        )
        address = self._instance.master_address(handle.broker_name)
        await self._instance.call(address, RequestCode.ACK_MESSAGE, header)

    async def change_invisible(self, message: PoppedMessage, invisible_ms: int) -> None:
        handle = message.handle
        header = ChangeInvisibleTimeRequest(
            self._group,
            message.stored_topic,
            handle.queue_id,
            handle.encode(),
            handle.queue_offset,
            invisible_ms,
        )
        address = self._instance.master_address(handle.broker_name)
        answer = await self._instance.call(address, RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header)
        changed = ChangeInvisibleTimeResponse.decode(answer.fields)
        message.renewed(changed.pop_time, changed.invisible_time, changed.revive_qid)
