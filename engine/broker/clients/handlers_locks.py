"""Queue locks of orderly consumers: 41 lock, 42 unlock."""

from __future__ import annotations

from collections.abc import Callable

from engine.broker.clients.queue_assignment import QueueLocks
from engine.errors import BadRequest
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.bodies.groups import LockBatchRequestBody, LockBatchResponseBody
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.names import check_group, check_topic

MAX_QUEUES_PER_REQUEST = 65_536


class LockHandlers:
    def __init__(self, locks: QueueLocks, *, now_ms: Callable[[], int]) -> None:
        self._locks = locks
        self._now_ms = now_ms

    def routes(self) -> dict[int, Handler]:
        return {RequestCode.LOCK_BATCH_MQ: self.lock, RequestCode.UNLOCK_BATCH_MQ: self.unlock}

    def lock(self, request: Command, client: Connection) -> Outcome:
        asked = _decode(request)
        held = self._locks.lock(asked.consumer_group, asked.client_id, asked.mq_set, self._now_ms())
        return Reply(body=LockBatchResponseBody(tuple(held)).encode())

    def unlock(self, request: Command, client: Connection) -> Outcome:
        asked = _decode(request)
        self._locks.unlock(asked.consumer_group, asked.client_id, asked.mq_set)
        return Reply()


def _decode(request: Command) -> LockBatchRequestBody:
    asked = LockBatchRequestBody.decode(request.body)
    check_group(asked.consumer_group)
    if not asked.client_id:
        raise BadRequest("clientId is missing", code=ResponseCode.INVALID_PARAMETER)
    if len(asked.mq_set) > MAX_QUEUES_PER_REQUEST:
        raise BadRequest("too many queues in one request", code=ResponseCode.INVALID_PARAMETER)
    for topic in {queue.topic for queue in asked.mq_set}:
        check_topic(topic)
    return asked
