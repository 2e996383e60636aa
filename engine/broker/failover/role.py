"""What this broker is within its group: master, slave, or seeking (a master that may not write yet).

Only `role_changes` and, for what name servers and the master report, `update_master` change a `Role`;
every other part reads it. The member id is the brokerId of broker.conf and never changes. On the wire the
master is 0, a slave is its member id, and the slave whose member id is 0 gets another. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from enum import Enum
from typing import Any

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
        """The id that clients and name servers see."""
        self.epoch = 0
        self.master_address: str | None = None
        self.master_ha_address: str | None = None
        self.is_master_alive = False
        """As far as a slave knows."""
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

    def update_master(self, address: str | None, ha_address: str | None) -> None:
        """As a name server reports it. A master that the group has elected takes precedence."""
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
    """The role at the start. A master in a group may have been replaced while it was down, even when its
    store was emptied, so it seeks first."""
    if is_slave:
        return Role(RoleKind.SLAVE, member_id)
    return Role(RoleKind.SEEKING if is_in_group else RoleKind.MASTER, member_id)


@dataclass(frozen=True, slots=True)
class RoleHooks:
    """What the broker does when its role changes; each returns when it is done."""

    become_master: Callable[[int], Coroutine[Any, Any, None]]
    """Returns once writes are taken (the confirmed offset may delay it) or another role was asked for."""
    become_slave: Callable[[str | None, int, int], Awaitable[None]]
    seek: Callable[[int], Awaitable[None]]
    cut_log: Callable[[int], Awaitable[None]]
    """Drop the log from this record boundary on."""
    keep_unexpired: Callable[[], bool]
    """The group has promised more than this master's settings do: delete nothing that has not expired, unless
    broker.conf or an operator has set otherwise. Returns whether it may still be deleted."""


@dataclass(frozen=True, slots=True)
class GroupRules:
    min_in_sync: int
    catch_up_ms: int
