"""What a member finds out by asking the others: where the master is, and whether this master was replaced.

The one that the group or a name server names is asked first; it may name another. Asking changes nothing, and
nobody must answer.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.members import Members
from engine.errors import EngineError, PeerError
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.codes import ResponseCode


@dataclass(frozen=True, slots=True)
class MasterPlace:
    """Where the master's streams are, and whether it is one of ours."""

    ha_address: str
    is_ours: bool


class MasterSearch:
    """`named_master`: the remoting and the HA address that name servers tell, as far as they do."""

    def __init__(
        self,
        member_id: int,
        file: GroupFile,
        members: Members,
        named_master: Callable[[], tuple[str | None, str | None]],
    ) -> None:
        self._member_id = member_id
        self._file = file
        self._members = members
        self._named_master = named_master

    async def find(self) -> MasterPlace | None:
        named, named_ha = self._named_master()
        state = self._file.known
        known = state.members.get(state.master_id) if state.master_id is not None else None
        for address in dict.fromkeys(filter(None, (known, named, *self.others().values()))):
            try:
                status = await self._members.status(address)
            except PeerError as error:
                if error.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED or not named_ha:
                    raise
                return MasterPlace(named_ha, is_ours=False)
            except EngineError:
                continue
            if status.role == "master" and status.ha_address and status.epoch >= state.epoch:
                return MasterPlace(status.ha_address, is_ours=True)
        return None

    async def find_successor(self, linked: Container[int]) -> GroupStatus | None:
        """Of a member that this master has lost sight of and that has promised a higher epoch."""
        epoch = self._file.known.epoch
        for member, address in self.others().items():
            if member in linked:
                continue
            try:
                status = await self._members.status(address)
            except EngineError:
                continue
            if status.epoch > epoch:
                return status
        return None

    def others(self) -> dict[int, str]:
        """The members that this one knows, without itself."""
        members = self._file.known.members
        return {member: address for member, address in members.items() if member != self._member_id}
