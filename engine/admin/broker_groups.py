"""Broker groups (a master and its slaves): the state of each member, and promotion."""

from __future__ import annotations

from engine.admin.arguments import id_number
from engine.admin.broker_targets import BROKER
from engine.admin.commands import Arguments, Option, command
from engine.admin.results import Facts, Result, Row, Table
from engine.client import Admin
from engine.errors import EngineError, NotFound, PeerUnreachable
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.codes import ResponseCode

_NAME = Option("m", "brokerName", "the group, by the brokerName of its members", "BROKER_NAME")
_ONE_OF = (BROKER.name, _NAME.name)
_COLUMNS = ("Member", "Addr", "Role", "Epoch", "Log start", "Log end", "Confirmed", "In sync", "Trouble")


@command(
    "groupStatus",
    "Members of a broker group: role, epoch, log ends, in-sync set",
    BROKER,
    _NAME,
    one_of=_ONE_OF,
)
async def group_status(admin: Admin, arguments: Arguments) -> Result:
    first = await _any_member(admin, arguments)
    members = {int(member): address for member, address in first.members.items()}
    members.setdefault(first.member_id, arguments.brokerAddr)
    rows: list[Row] = []
    for member, address in sorted(members.items()):
        in_sync = "yes" if member in first.in_sync.ids else "no"
        *state, trouble = await _state(admin, address, first if member == first.member_id else None)
        rows.append((member, address, *state, in_sync, trouble))
    return Table(_COLUMNS, rows, (_minimum(first),))


def _minimum(status: GroupStatus) -> str:
    needed, promised = status.in_sync.min_in_sync, status.promised_in_sync
    if promised <= needed:
        return f"minInSyncReplicas {needed}"
    return (
        f"minInSyncReplicas {needed}, where {promised} were promised: set it in broker.conf of every member"
    )


async def _state(admin: Admin, address: str, known: GroupStatus | None) -> Row:
    try:
        status = known or await admin.broker_groups.status(address)
    except EngineError as error:
        return (*("unknown",) * 5, f"does not answer: {error.text}")
    log = (status.log_start, status.log_end, status.confirmed_offset)
    return (status.role, status.epoch, *log, status.trouble or "-")


@command(
    "promote",
    "Make another member of a broker group its master, without losing acknowledged messages",
    BROKER,
    _NAME,
    Option("t", "to", "brokerId (of broker.conf) of the member to promote", "ID", id_number),
    Option("u", "unclean", "promote although too few members answer: acknowledged messages may be lost"),
    example="promote -b 127.0.0.1:10921 --to 1",
    one_of=_ONE_OF,
)
async def promote(admin: Admin, arguments: Arguments) -> Result:
    member = await _any_member(admin, arguments)
    address = arguments.brokerAddr or member.members.get(str(member.member_id), "")
    done = await admin.broker_groups.promote(
        address, wanted=arguments.to, unclean=arguments.unclean, epoch=member.epoch
    )
    line = f"member {done.master_id} at {done.master_address} is master of epoch {done.epoch}"
    if done.may_be_lost:
        line += f". MAY BE LOST: {done.may_be_lost}"
    if done.silent_members:
        silent = ", ".join(map(str, done.silent_members))
        line += f". Member {silent} does not answer and will follow when it is back"
    data = {
        "epoch": done.epoch,
        "masterId": done.master_id,
        "masterAddr": done.master_address,
        "mayBeLost": done.may_be_lost,
        "silentMembers": list(done.silent_members),
    }
    return Facts(data, line)


async def _any_member(admin: Admin, arguments: Arguments) -> GroupStatus:
    """The broker of -b, or the first of the named group that answers."""
    if arguments.brokerAddr:
        return await admin.broker_groups.status(arguments.brokerAddr)
    name = arguments.brokerName
    group = (await admin.cluster.info()).broker_addr_table.get(name)
    if group is None:
        raise NotFound(f"no broker is called {name}", code=ResponseCode.BROKER_NOT_EXIST)
    problem = "it has no members"
    for _, address in sorted(group.broker_addrs.items()):
        try:
            return await admin.broker_groups.status(address)
        except EngineError as error:
            problem = error.text
    raise PeerUnreachable(f"no member of {name} answers: {problem}")
