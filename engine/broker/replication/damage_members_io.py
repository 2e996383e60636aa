"""Asks the other members of the group for the bytes of a damaged part of the log; tells the master of skips.

The master is asked first. Only members of this epoch and reign answer, and only with what is confirmed: equal
offsets hold equal bytes there. A slave without a cluster secret (of an Apache master, say) asks its master
for the message at that offset, as any client may: it takes the whole log from there, too. (It cannot tell it
of skips: that needs the secret.) Loop thread only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import GroupState
from engine.broker.failover.member_requests_io import MemberRequests
from engine.errors import EngineError, PeerError
from engine.protocol.codes import ResponseCode
from engine.store.recovery.record_repair import LogRange

log = logging.getLogger(__name__)

_HAS_IT_NOT = (ResponseCode.QUERY_NOT_FOUND, ResponseCode.REQUEST_CODE_NOT_SUPPORTED)


def members_to_ask(state: GroupState, member_id: int) -> list[str]:
    """The addresses of the others, the master's first. Pure."""
    others = [number for number in sorted(state.members) if number != member_id]
    others.sort(key=lambda number: number != state.master_id)
    return [state.members[number] for number in others]


def is_final(error: EngineError) -> bool:
    """Whether the member has not got it: it is not just away, or in another epoch for the moment. Pure."""
    return isinstance(error, PeerError) and error.code in _HAS_IT_NOT


@dataclass(frozen=True, slots=True)
class DamageMembers:
    member_id: int
    file: GroupFile
    requests: MemberRequests
    plain_master: Callable[[], str | None]
    """The address of the master, on a slave."""

    async def fetch(self, place: LogRange) -> tuple[bytes, bool]:
        """The bytes (empty: none), and whether everybody who might have them has answered."""
        if self.requests.secret is None:
            master = self.plain_master()
            return await self._first_good(place, [master] if master else [])
        return await self._first_good(place, members_to_ask(self.file.known, self.member_id))

    async def tell_skips(self, rows: bytes) -> None:
        """Of a slave: its master may not know that groups have skipped these records. Tried again later."""
        state, master = self.file.known, self.plain_master()
        if self.requests.secret is None or master is None:
            return
        try:
            await self.requests.skips(master, state.epoch, state.reign, rows)
        except EngineError as error:
            log.info("the master at %s cannot be told of skipped records: %s", master, error)

    async def _first_good(self, place: LogRange, addresses: list[str]) -> tuple[bytes, bool]:
        have_all_answered = True
        for address in addresses:
            try:
                data = await self._ask(address, place)
            except PeerError as error:
                log.info(
                    "%s has no copy of commit-log offset %d: %s", address, place.commit_log_offset, error
                )
            except EngineError as error:
                log.info("%s cannot be asked about damage: %s", address, error)
                have_all_answered = False
            else:
                if place.accepts(data):
                    return data, True
                log.warning(
                    "%s sent other bytes than whole records for %d bytes at commit-log offset %d",
                    address,
                    place.size,
                    place.commit_log_offset,
                )
        return b"", have_all_answered

    async def _ask(self, address: str, place: LogRange) -> bytes:
        if self.requests.secret is None:
            return await self.requests.viewed_record(address, place.commit_log_offset)
        state = self.file.known
        where = place.commit_log_offset, place.size
        return await self.requests.record(address, state.epoch, state.reign, *where)
