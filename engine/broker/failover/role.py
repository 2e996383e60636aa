"""What this broker is within its group at the moment: master, slave, or a master that may not write yet.

One small object that whoever depends on it looks at when it needs to; only `role_changes` and (for what name
servers and the master tell) `hear_master` change it. The member id is the brokerId of broker.conf for good.
On the wire the master is 0 whoever it is; a slave is its member id, and the slave whose member id is 0 is
given another. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from engine.errors import Refused
from engine.protocol.codes import ResponseCode

MASTER_ID = 0


class RoleKind(Enum):
    MASTER = "master"
    SLAVE = "slave"
    SEEKING = "seeking"
    """A master by its configuration or by an election that does not take writes yet."""


class Role:
    def __init__(self, kind: RoleKind, member_id: int) -> None:
        self.kind = kind
        self.member_id = member_id
        self.broker_id = member_id
        """What clients and name servers know this broker by."""
        self.epoch = 0
        self.master_address: str | None = None
        self.master_ha_address: str | None = None
        self.is_master_alive = False
        """As far as a slave knows: it was heard of lately."""
        self.lacks_front: Callable[[], bool] = lambda: False
        """Whether this member's log starts behind messages that have not expired; its group knows."""

    @property
    def is_master(self) -> bool:
        return self.kind is RoleKind.MASTER

    def become(self, kind: RoleKind, broker_id: int, epoch: int, master_address: str | None) -> None:
        if master_address != self.master_address:
            self.master_ha_address = None
            self.is_master_alive = master_address is not None
        self.kind, self.broker_id, self.epoch = kind, broker_id, epoch
        self.master_address = master_address

    def hear_master(self, address: str | None, ha_address: str | None) -> None:
        """A name server's word. A master that the group has chosen counts for more."""
        if self.kind is not RoleKind.SLAVE:
            return
        if address is None:
            self.is_master_alive = False
        elif self.epoch == 0 or self.master_address in (None, address):
            self.master_address = address
            self.master_ha_address = ha_address or self.master_ha_address
            self.is_master_alive = True

    def refusal(self) -> Refused | None:
        """Why nothing may be written here; None on a master."""
        if self.kind is RoleKind.MASTER:
            return None
        if self.kind is RoleKind.SEEKING:
            text = "the broker asks its group who is master and takes no writes yet"
            return Refused(text, code=ResponseCode.SERVICE_NOT_AVAILABLE)
        text = f"[REJECTREQUEST]this broker is a slave of {self.master_name()}"
        return Refused(text, code=ResponseCode.SYSTEM_BUSY)

    def master_name(self) -> str:
        return self.master_address or "a master that it does not know yet"


def role_name(configured: str, role: Role) -> str:
    """As RocketMQ's brokerRole. One that was promoted waits for its slaves."""
    if not role.is_master:
        return "SLAVE"
    return "SYNC_MASTER" if configured == "SLAVE" else configured


def first_role(is_slave: bool, member_id: int, is_in_group: bool) -> Role:
    """The role of the start; who is in a group may have been replaced while it was down, also when its store
    knows nothing of it any more."""
    if is_slave:
        return Role(RoleKind.SLAVE, member_id)
    return Role(RoleKind.SEEKING if is_in_group else RoleKind.MASTER, member_id)
