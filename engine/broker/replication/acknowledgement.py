"""What an acknowledged send waits for, and when it is refused instead. Decided before the append.

ASYNC_MASTER                    nothing
SYNC_MASTER                     inSyncReplicas members, the master among them (1: nothing, as RocketMQ 5)
  minInSyncReplicas             at least so many; a smaller in-sync set refuses the send with 1
  allAckInSyncStateSet          every member of the in-sync set
and only if the message wants it (waitStoreMsgOK, which is `acks=all` of our producer)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.broker.replication.replica_waits import ALL_IN_SYNC
from engine.errors import Refused


class Replicas(Protocol):
    """The in-sync set as a send sees it."""

    def is_enough(self) -> bool: ...

    def has_slaves(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class AckRule:
    in_sync_replicas: int = 1
    min_in_sync_replicas: int = 1
    all_ack: bool = False

    @property
    def count(self) -> int:
        """How many members must hold the message; ALL_IN_SYNC for the whole set, 1 for the master alone."""
        return ALL_IN_SYNC if self.all_ack else max(self.in_sync_replicas, self.min_in_sync_replicas)

    def check(self, replicas: Replicas | None) -> None:
        """Refuse what could not be acknowledged, before it is stored."""
        if self.min_in_sync_replicas > 1 and (replicas is None or not replicas.is_enough()):
            raise Refused(
                f"in-sync replicas not enough: minInSyncReplicas={self.min_in_sync_replicas} are wanted"
            )

    def needs_replicas(self) -> bool:
        return self.count != 1

    def finds_none(self, replicas: Replicas | None) -> bool:
        """No slave is there that could answer: waiting for it would be in vain (11)."""
        return self.needs_replicas() and not self.all_ack and (replicas is None or not replicas.has_slaves())
