"""Which requests a broker that is not the master declines, and with which code. Pure.

Every code that a broker serves is in one of two lists: what reads (or is a broker's own business) is
served whatever the role, what writes is declined the way RocketMQ's slaves do it. A test fails for a code
that is in neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.broker.failover.role import Role, RoleKind
from engine.errors import Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command

Refusal = Callable[[Role], Refused]


def _not_taken(role: Role) -> Refused:
    """The client goes on to another broker of the topic."""
    return role.refusal() or Refused("try again")


def _not_decided(role: Role) -> Refused:
    text = f"this broker is not the master of its group: that is {role.master_name()}"
    return Refused(text, code=ResponseCode.SLAVE_NOT_AVAILABLE)


def _not_changed(role: Role) -> Refused:
    if role.kind is RoleKind.SEEKING:
        return _not_taken(role)
    return Refused(
        "Can't modify topic or subscription group from slave broker, please execute it from master broker "
        f"({role.master_name()})"
    )


def _not_reset(role: Role) -> Refused:
    return Refused(f"Can not reset offset in slave broker: ask the master, {role.master_name()}")


DECLINED: dict[int, Refusal] = {
    RequestCode.SEND_MESSAGE: _not_taken,
    RequestCode.SEND_MESSAGE_V2: _not_taken,
    RequestCode.SEND_BATCH_MESSAGE: _not_taken,
    RequestCode.SEND_REPLY_MESSAGE: _not_taken,
    RequestCode.SEND_REPLY_MESSAGE_V2: _not_taken,
    RequestCode.CONSUMER_SEND_MSG_BACK: _not_taken,
    RequestCode.POP_MESSAGE: _not_taken,
    RequestCode.NOTIFICATION: _not_taken,
    RequestCode.ACK_MESSAGE: _not_taken,
    RequestCode.BATCH_ACK_MESSAGE: _not_taken,
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: _not_taken,
    RequestCode.END_TRANSACTION: _not_decided,
    RequestCode.RECALL_MESSAGE: _not_decided,
    RequestCode.RESUME_CHECK_HALF_MESSAGE: _not_decided,
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: _not_reset,
    RequestCode.UPDATE_AND_CREATE_TOPIC: _not_changed,
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: _not_changed,
    RequestCode.DELETE_TOPIC_IN_BROKER: _not_changed,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: _not_changed,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: _not_changed,
    RequestCode.DELETE_SUBSCRIPTIONGROUP: _not_changed,
    RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: _not_changed,
    RequestCode.SET_MESSAGE_REQUEST_MODE: _not_changed,
    RequestCode.CLONE_GROUP_OFFSET: _not_changed,
    RequestCode.CLEAN_UNUSED_TOPIC: _not_changed,
}


def routes_of(role: Role, routes: Mapping[int, Handler]) -> dict[int, Handler]:
    """The table that a broker in this role answers by."""
    if role.is_master:
        return dict(routes)
    return {
        code: _declining(role, DECLINED[code]) if code in DECLINED else handler
        for code, handler in routes.items()
    }


def _declining(role: Role, refusal: Refusal) -> Handler:
    def decline(request: Command, client: Connection) -> Outcome:
        raise refusal(role)

    return decline
