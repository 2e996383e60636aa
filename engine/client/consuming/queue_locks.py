"""Locks on queues: an orderly consumer works on a queue only while its broker says that it is the one.

A broker keeps a lock for 60 s; we ask again every 20 s and trust an answer for 30 s, so that two consumers
never both believe to hold one. Loop thread only.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from engine.client.instance.instance import ClientInstance
from engine.errors import EngineError
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.groups import LockBatchRequestBody, LockBatchResponseBody
from engine.protocol.codes import RequestCode

log = logging.getLogger(__name__)


class QueueLocks:
    """`lock` and `unlock` ask each broker once for all its queues."""

    def __init__(self, instance: ClientInstance, group: str) -> None:
        self._instance = instance
        self._group = group

    async def lock(self, queues: Iterable[MessageQueue]) -> set[MessageQueue]:
        """The queues that are ours now. A broker that does not answer grants nothing."""
        granted: set[MessageQueue] = set()
        for broker_name, wanted in _by_broker(queues).items():
            try:
                address = self._instance.master_address(broker_name)
                answer = await self._instance.call(
                    address, RequestCode.LOCK_BATCH_MQ, body=self._body(wanted)
                )
                granted |= set(LockBatchResponseBody.decode(answer.body).lock_ok_mq_set)
            except EngineError as error:
                log.warning("locks of %s: %s", broker_name, error.text)
        return granted

    async def unlock(self, queues: Iterable[MessageQueue]) -> None:
        for broker_name, wanted in _by_broker(queues).items():
            try:
                address = self._instance.master_address(broker_name)
                await self._instance.call(address, RequestCode.UNLOCK_BATCH_MQ, body=self._body(wanted))
            except EngineError as error:
                log.info("locks of %s end by themselves: %s", broker_name, error.text)

    def _body(self, queues: list[MessageQueue]) -> bytes:
        return LockBatchRequestBody(self._group, self._instance.client_id, tuple(queues)).encode()


def _by_broker(queues: Iterable[MessageQueue]) -> dict[str, list[MessageQueue]]:
    grouped: dict[str, list[MessageQueue]] = {}
    for queue in sorted(queues):
        grouped.setdefault(queue.broker_name, []).append(queue)
    return grouped
