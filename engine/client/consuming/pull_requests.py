"""One pull: the request for the next messages of a queue, and what its answer means.

The subscription travels with every pull, so an answer never depends on whether a heartbeat has arrived. The
broker may suggest reading from a slave next time. When a broker cannot be reached, the next pull goes to
another member of its group: to a slave when the master is gone, and back to the master when a slave suggests
it.
Loop thread only.
"""

from __future__ import annotations

import contextlib
import logging
from enum import Enum
from typing import NamedTuple

from engine.client.consuming.subscriptions import accepts
from engine.client.instance.answers import peer_error
from engine.client.instance.instance import ClientInstance
from engine.client.messages import ReceivedMessage
from engine.client.options import PullOptions
from engine.errors import EngineError, PeerTimeout, PeerUnreachable
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import SubscriptionData
from engine.protocol.bodies.routes import MASTER_ID
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.pull import (
    PULL_COMMIT_OFFSET,
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    PullMessageRequest,
    PullMessageResponse,
)
from engine.protocol.records import decode_records

log = logging.getLogger(__name__)


class PullStatus(Enum):
    FOUND = "FOUND"
    NO_NEW_MSG = "NO_NEW_MSG"
    NO_MATCHED_MSG = "NO_MATCHED_MSG"
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"
    """The requested offset is outside the queue, or was reset; go on at `next_offset`."""


_STATUS_OF_CODE = {
    int(ResponseCode.SUCCESS): PullStatus.FOUND,
    int(ResponseCode.PULL_NOT_FOUND): PullStatus.NO_NEW_MSG,
    int(ResponseCode.PULL_RETRY_IMMEDIATELY): PullStatus.NO_MATCHED_MSG,
    int(ResponseCode.PULL_OFFSET_MOVED): PullStatus.OFFSET_ILLEGAL,
}


class PullResult(NamedTuple):
    status: PullStatus
    next_offset: int
    min_offset: int
    max_offset: int
    messages: list[ReceivedMessage]


class RawPull(NamedTuple):
    status: PullStatus
    next_offset: int
    offset_delta: int
    """To be added to the queue offsets in the records."""
    records: bytes
    """End to end, as they are stored; none unless FOUND."""


class Pulls:
    """`pull` waits as long as the broker holds the request. `pull_raw` leaves the records as bytes, for
    callers that decode many at once."""

    def __init__(self, instance: ClientInstance, group: str, options: PullOptions) -> None:
        self._instance = instance
        self._group = group
        self._options = options
        self._read_from: dict[MessageQueue, int] = {}

    async def pull(
        self,
        queue: MessageQueue,
        offset: int,
        subscription: SubscriptionData,
        *,
        commit_offset: int | None = None,
        suspend_ms: int | None = None,
        max_messages: int | None = None,
    ) -> PullResult:
        """`suspend_ms=0` does not wait for messages; the broker also commits `commit_offset`."""
        suspend_ms = self._options.suspend_ms if suspend_ms is None else suspend_ms
        answer = await self._ask(queue, offset, subscription, commit_offset, suspend_ms, max_messages)
        status, header = self._status_and_header(queue, answer)
        messages: list[ReceivedMessage] = []
        if status is PullStatus.FOUND:
            for record in decode_records(answer.body):
                if header.offset_delta:
                    record.queue_offset += header.offset_delta
                if accepts(subscription, record.tags):
                    messages.append(ReceivedMessage(record, queue))
        return PullResult(status, header.next_begin_offset, header.min_offset, header.max_offset, messages)

    async def pull_raw(
        self, queue: MessageQueue, offset: int, subscription: SubscriptionData, *, max_messages: int
    ) -> RawPull:
        """What is there now, without the exact comparison of tags."""
        answer = await self._ask(queue, offset, subscription, None, 0, max_messages)
        status, header = self._status_and_header(queue, answer)
        found = bytes(answer.body) if status is PullStatus.FOUND else b""
        return RawPull(status, header.next_begin_offset, header.offset_delta or 0, found)

    async def _ask(
        self,
        queue: MessageQueue,
        offset: int,
        subscription: SubscriptionData,
        commit_offset: int | None,
        suspend_ms: int,
        max_messages: int | None,
    ) -> Command:
        flags = PULL_SUBSCRIPTION | (PULL_SUSPEND if suspend_ms else 0)
        broker_id, address = await self._place(queue)
        # A slave does not commit the offset that comes with a pull.
        if commit_offset and broker_id == MASTER_ID:
            flags |= PULL_COMMIT_OFFSET
        header = PullMessageRequest(
            self._group,
            queue.topic,
            queue.queue_id,
            offset,
            max_messages or self._options.batch_size,
            flags,
            commit_offset or 0,
            suspend_ms,
            subscription.sub_version,
            subscription.sub_string,
            subscription.expression_type,
        )
        command = Command(RequestCode.PULL_MESSAGE, fields=header.encode())
        try:
            return await self._instance.requester.request(address, command, self._options.timeout_ms)
        except (PeerUnreachable, PeerTimeout):
            await self._move_on(queue, broker_id)
            raise

    async def _place(self, queue: MessageQueue) -> tuple[int, str]:
        """Id and address of the broker to ask."""
        wanted = self._read_from.get(queue, MASTER_ID)
        members = await self._instance.find_members(queue)
        broker_id = wanted if wanted in members else min(members)
        return broker_id, members[broker_id]

    async def _move_on(self, queue: MessageQueue, failed_id: int) -> None:
        """The next pull goes to the next member of the group. A master that is gone is not in a new route."""
        with contextlib.suppress(EngineError):
            await self._instance.routes.refresh(queue.topic)
        others = sorted(self._instance.members(queue.broker_name).keys() - {failed_id})
        self._read_from[queue] = next(
            (broker_id for broker_id in others if broker_id > failed_id), others[0] if others else MASTER_ID
        )

    def _status_and_header(
        self, queue: MessageQueue, answer: Command
    ) -> tuple[PullStatus, PullMessageResponse]:
        status = _STATUS_OF_CODE.get(answer.code)
        if status is None:
            self._read_from.pop(queue, None)
            raise peer_error(answer)
        header = PullMessageResponse.decode(answer.fields)
        if header.suggest_which_broker_id == MASTER_ID:
            self._read_from.pop(queue, None)
        else:
            self._read_from[queue] = header.suggest_which_broker_id
        return status, header
