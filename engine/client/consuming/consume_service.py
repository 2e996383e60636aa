"""Handing a message that could not be consumed back to its broker, which delivers it again later.

The broker puts it into the group's retry topic with a delay that grows, and into its dead-letter topic when
it has come back too often. Loop thread only.
"""

from __future__ import annotations

from engine.client.instance.instance import ClientInstance
from engine.client.messages import ReceivedMessage
from engine.protocol.codes import RequestCode
from engine.protocol.headers.send import ConsumerSendMsgBackRequest

DELAY_BY_BROKER = 0
TO_DEAD_LETTERS = -1
LEVEL_AFTER_TIMEOUT = 3
DEFAULT_MAX_RECONSUME_TIMES = 16


class SendBacks:
    """`send_back` raises when the broker did not take the message: it is then still ours to consume."""

    def __init__(self, instance: ClientInstance, group: str, max_reconsume_times: int) -> None:
        self._instance = instance
        self._group = group
        self._max_reconsume_times = (
            DEFAULT_MAX_RECONSUME_TIMES if max_reconsume_times < 0 else max_reconsume_times
        )

    async def send_back(self, message: ReceivedMessage, delay_level: int = DELAY_BY_BROKER) -> None:
        header = ConsumerSendMsgBackRequest(
            offset=message.commit_log_offset,
            group=self._group,
            delay_level=delay_level,
            origin_msg_id=message.msg_id,
            origin_topic=message.record.topic,
            max_reconsume_times=self._max_reconsume_times,
        )
        address = self._instance.master_address(message.queue.broker_name)
        await self._instance.call(address, RequestCode.CONSUMER_SEND_MSG_BACK, header)
