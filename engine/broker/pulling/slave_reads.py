"""What a slave answers to a pull, and which broker it sends the consumer to next. Pure.

RocketMQ's rules, as of 5.x: without slaveReadEnable a slave serves no pull. With it, it serves what it finds;
as long as its master is alive everything else sends the consumer there (20), because the slave may simply not
have it yet. Without the master it serves as one, but for an offset beyond its own end: a master would correct
that, a slave that is behind would make the consumer read again, so the pull waits. It also waits where this
slave's log lacks unexpired messages at its front: other members have them, and a consumer that is moved past
them never comes back.
"""

from __future__ import annotations

from engine.broker.failover.role import MASTER_ID, Role
from engine.errors import Refused
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.codes import ResponseCode
from engine.store.results import GetStatus

_PASSED_OVER = (GetStatus.NO_MATCHED_MESSAGE, GetStatus.MESSAGE_WAS_REMOVING)


def check_slave_readable(role: Role, slave_read_enable: bool) -> None:
    if not slave_read_enable and not role.is_master:
        text = f"[REJECTREQUEST]a slave of {role.master_name()} serves no pulls (slaveReadEnable=false)"
        raise Refused(text, code=ResponseCode.SYSTEM_BUSY)


def slave_code(
    status: GetStatus, code: ResponseCode, is_master_alive: bool, *, lacks_front: bool = False
) -> ResponseCode:
    """The code instead of a master's."""
    if status is GetStatus.FOUND:
        return code
    if is_master_alive:
        return ResponseCode.PULL_RETRY_IMMEDIATELY
    if code is ResponseCode.PULL_OFFSET_MOVED and (lacks_front or status is not GetStatus.OFFSET_TOO_SMALL):
        return ResponseCode.PULL_NOT_FOUND
    return code


def is_corrected(status: GetStatus, is_master_alive: bool, *, lacks_front: bool = False) -> bool:
    """Whether the answer moves the consumer to another offset than it asked for."""
    if status is GetStatus.OFFSET_TOO_SMALL:
        return not (is_master_alive or lacks_front)
    return status is GetStatus.FOUND or status in _PASSED_OVER


def suggested_broker(role: Role, group: SubscriptionGroupConfig, *, is_slow: bool) -> int:
    """The broker to pull from next, if slaves may be read. `is_slow`: it reads messages that are no longer in
    memory."""
    if is_slow:
        return group.which_broker_when_consume_slowly
    if role.is_master:
        return group.broker_id
    # Without a master the consumer stays: it may still know the master's old address.
    return MASTER_ID if role.is_master_alive else role.broker_id
