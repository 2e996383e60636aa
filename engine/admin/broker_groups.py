"""Broker groups: who holds what, and who becomes master."""

from __future__ import annotations

from engine.admin.commands import BROKER, Arguments, Facts, Option, Result, Table, command, whole_number
from engine.client.admin import Admin
from engine.errors import BadInput, EngineError
from engine.protocol.bodies.broker_groups import GroupStatus

_NAME = Option("m", "brokerName", "the group: brokerName of its members", "NAME")
_TO = Option("t", "to", "brokerId (of broker.conf) of the member that shall be master", "ID", whole_number)
_UNCLEAN = Option(
    "u", "unclean", "go on although too few members answer: acknowledged messages may be lost for good"
)


@command(
    "groupStatus",
    "Members of a broker group: role, epoch, log ends, in-sync set",
    BROKER,
    _NAME,
    example="groupStatus -b 127.0.0.1:10911",
    one_of=("brokerAddr", "brokerName"),
)
async def group_status(admin: Admin, arguments: Arguments) -> Result:
    first = await _any_member(admin, arguments)
    rows = [_row(first.member_id, _address(first) or arguments.brokerAddr, first, first)]
    for member, address in sorted(first.members.items()):
        if member != str(first.member_id):
            rows.append(await _asked_row(admin, int(member), address, first))
    columns = ("Member", "Addr", "Role", "Epoch", "Log start", "Log end", "Confirmed", "In sync", "Trouble")
    needed = first.in_sync.min_in_sync
    return Table(columns, sorted(rows, key=str), (f"minInSyncReplicas {needed}",))


async def _asked_row(admin: Admin, member: int, address: str, first: GroupStatus) -> tuple[object, ...]:
    try:
        return _row(member, address, await admin.broker_groups.status(address), first)
    except EngineError as error:
        is_in_sync = "yes" if member in first.in_sync.ids else "no"
        return (member, address, *("unknown",) * 5, is_in_sync, f"does not answer: {error.text}")


def _row(member: int, address: str, status: GroupStatus, first: GroupStatus) -> tuple[object, ...]:
    return (
        member,
        address,
        status.role,
        status.epoch,
        status.log_start,
        status.log_end,
        status.confirmed_offset,
        "yes" if member in first.in_sync.ids else "no",
        status.trouble or "-",
    )


def _address(status: GroupStatus) -> str:
    return status.members.get(str(status.member_id), "")


@command(
    "promote",
    "Make another member of a broker group its master, losing nothing that was acknowledged",
    BROKER,
    _NAME,
    _TO,
    _UNCLEAN,
    example="promote -b 127.0.0.1:10921 --to 1",
    one_of=("brokerAddr", "brokerName"),
)
async def promote(admin: Admin, arguments: Arguments) -> Result:
    member = await _any_member(admin, arguments)
    address = arguments.brokerAddr or _address(member)
    done = await admin.broker_groups.promote(
        address, wanted=arguments.to, unclean=arguments.unclean, epoch=member.epoch
    )
    line = f"member {done.master_id} at {done.master_address} is master of epoch {done.epoch}"
    if done.may_be_lost:
        line += f". MAY BE LOST: {done.may_be_lost}"
    if done.silent_members:
        silent = ", ".join(map(str, done.silent_members))
        line += f". Member {silent} does not answer and will follow when it is back"
    return Facts(
        {
            "epoch": done.epoch,
            "masterId": done.master_id,
            "masterAddr": done.master_address,
            "mayBeLost": done.may_be_lost,
            "silentMembers": list(done.silent_members),
        },
        line,
    )


async def _any_member(admin: Admin, arguments: Arguments) -> GroupStatus:
    """Of -b, or the first of the named group that answers."""
    if arguments.brokerAddr:
        return await admin.broker_groups.status(arguments.brokerAddr)
    info = await admin.cluster.info()
    data = info.broker_addr_table.get(arguments.brokerName)
    if data is None:
        raise BadInput(f"no name server knows a broker named {arguments.brokerName}")
    trouble = "it has no members"
    for _, address in sorted(data.broker_addrs.items()):
        try:
            return await admin.broker_groups.status(address)
        except EngineError as error:
            trouble = error.text
    raise BadInput(f"no member of {arguments.brokerName} answers: {trouble}")
