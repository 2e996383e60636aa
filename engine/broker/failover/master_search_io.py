"""What a member learns by asking the others: the master's address, whether this master was replaced, and
whether a master without a group may create one.

The member that the group or a name server names is asked first; it may name another. Asking changes
nothing, and no member has to answer.

A store that was emptied looks like a new one, and its broker.conf still says master. If it created a
group, two groups of one name would take writes. So it does only when a name server lists the brokers of
this name and none of them has a group; in doubt it waits, takes no writes and reports why. A name server
that was just started may not list every broker: it is trusted after some seconds, and a new master
without slaves asks again for a minute. Without name servers it cannot ask: do not empty a store
and start it as master there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass, field

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.member_requests_io import MemberRequests, ask_all
from engine.errors import EngineError, PeerError
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.codes import ResponseCode

SETTLE_S = 6.0
"""Brokers register again with a restarted name server within two seconds or so."""
ALONE_S = 60.0
"""How long a new master without slaves goes on asking for an older group."""


@dataclass(frozen=True, slots=True)
class Self:
    """This member, asked directly."""

    member_id: int
    status: Callable[[], GroupStatus]
    promise: Callable[[int, int], Awaitable[GroupStatus]]
    become_master: Callable[[int, int], Awaitable[None]]
    follow: Callable[[int, int, int, str], Awaitable[None]]
    count_messages: Callable[[int, int], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class MasterPlace:
    """The master's HA address, and whether it is a Signalbox broker."""

    ha_address: str
    is_ours: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """The answers of name servers and of the brokers that they list; by address."""

    statuses: Mapping[str, GroupStatus] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    """The brokers that did not answer whether they have a group, and why."""
    unnamed: str = ""
    """Why no broker is listed, if name servers were asked and none answered."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """With neither a master nor a doubt: create the group."""

    master: GroupStatus | None = None
    """Follow it."""
    doubt: str = ""
    """Do neither, for now."""
    is_alone: bool = True
    """No broker that answered has a group."""


@dataclass(eq=False, repr=False)
class MasterSearch:
    """`named_master`: the remoting and the HA address that name servers know, as far as they do."""

    member_id: int
    address: str
    file: GroupFile
    members: MemberRequests
    named_master: Callable[[], tuple[str | None, str | None]]
    _silent_at: float = field(default=float("-inf"), init=False)
    """When name servers were last silent."""

    async def find(self) -> MasterPlace | None:
        named, named_ha = self.named_master()
        state = self.file.known
        known = state.members.get(state.master_id) if state.master_id is not None else None
        for address in dict.fromkeys(filter(None, (known, named, *self.others().values()))):
            try:
                status = await self.members.status(address)
            except PeerError as error:
                if not has_no_groups(error) or not named_ha:
                    raise
                return MasterPlace(named_ha, is_ours=False)
            except EngineError:
                continue
            if status.role == "master" and status.ha_address and status.epoch >= state.epoch:
                return MasterPlace(status.ha_address, is_ours=True)
        return None

    async def find_successor(self, linked: Container[int]) -> GroupStatus | None:
        """The status of a member that is not connected and has promised a higher epoch."""
        epoch = self.file.known.epoch
        for member, address in self.others().items():
            if member in linked:
                continue
            try:
                status = await self.members.status(address)
            except EngineError:
                continue
            if status.epoch > epoch:
                return status
        return None

    def others(self) -> dict[int, str]:
        """The members that this one knows, without itself."""
        members = self.file.known.members
        return {member: address for member, address in members.items() if member != self.member_id}

    async def may_create_group(self, now_s: float) -> Verdict:
        found = await survey(self.members, self.address)
        if found.unnamed:
            self._silent_at = now_s
        return judge(self.member_id, found, now_s - self._silent_at)


async def survey(members: MemberRequests, own_address: str) -> Survey:
    try:
        named = await members.others_named(own_address)
    except EngineError as error:
        return Survey(unnamed=error.text)
    answers, errors = await ask_all({address: members.status(address) for address in named})
    silent = {address: str(error) for address, error in errors.items() if not has_no_groups(error)}
    return Survey(answers, silent)


def has_no_groups(answer: Exception) -> bool:
    """A broker that does not know the request (Apache's) has no group of ours."""
    return isinstance(answer, PeerError) and answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


def judge(member_id: int, found: Survey, named_for_s: float = float("inf")) -> Verdict:
    """`named_for_s`: how long name servers have answered."""
    for address, status in found.statuses.items():
        if status.member_id == member_id:
            return Verdict(doubt=f"{address} is brokerId {member_id} of this group already")
    grouped = [status for status in found.statuses.values() if status.epoch > 0]
    masters = [status for status in grouped if status.role == "master"]
    if masters:
        return Verdict(max(masters, key=lambda status: status.epoch), is_alone=False)
    if grouped:
        newest = max(grouped, key=lambda status: status.epoch)
        doubt = (
            f"there is a group of this name, at epoch {newest.epoch} and without a master: promote "
            f"member {newest.member_id}, or another that has the group's log"
        )
        return Verdict(doubt=doubt, is_alone=False)
    for address, reason in found.silent.items():
        return Verdict(doubt=f"{address} may have a group of this name: {reason}")
    if found.unnamed:
        return Verdict(doubt=f"no name server says whether there is a group of this name: {found.unnamed}")
    if named_for_s < SETTLE_S:
        return Verdict(doubt="its name servers have just come back, and may not have heard of its group yet")
    return Verdict()
