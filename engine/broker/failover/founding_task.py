"""Whether a master that knows no group may found one. `judge` is pure; asking changes nothing.

A store that was emptied looks like a new one, and its broker.conf still says master. Founding then would make
a second group of the same name and take writes beside the first. So it happens only when a name server says
who bears this broker's name and none of those has a group. Whoever is in doubt waits, takes no writes and
says why. A name server that was just started has not heard of everybody: it is believed after some seconds,
and for a minute a founder that stayed alone asks again. Without name servers there is nobody to ask: whoever
runs a group like that must not empty a store and start it as master.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.broker.failover.members import Members
from engine.errors import EngineError, PeerError
from engine.protocol.bodies.brokers import GroupStatus
from engine.protocol.codes import ResponseCode

SETTLE_S = 6.0
"""Brokers come back to a name server within two seconds or so."""
ALONE_S = 60.0
"""How long a founder goes on asking."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What name servers and the brokers that they name said; by address."""

    statuses: Mapping[str, GroupStatus] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    """Who is named and did not say whether it has a group, and why."""
    unnamed: str = ""
    """Why nobody is named, if name servers were asked and none answered."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Neither: found the group."""

    master: GroupStatus | None = None
    """Follow it."""
    doubt: str = ""
    """Do neither, for now."""
    is_alone: bool = True
    """Nobody who answered has a group."""


class Founding:
    """One for as long as the broker runs: it remembers when name servers were silent."""

    def __init__(self, member_id: int, address: str, members: Members) -> None:
        self._member_id = member_id
        self._address = address
        self._members = members
        self._silent_at = float("-inf")

    async def ask(self, now_s: float) -> Verdict:
        heard = await hear(self._members, self._address)
        if heard.unnamed:
            self._silent_at = now_s
        return judge(self._member_id, heard, now_s - self._silent_at)


async def hear(members: Members, own_address: str) -> Heard:
    try:
        named = await members.others_named(own_address)
    except EngineError as error:
        return Heard(unnamed=error.text)
    answers = await asyncio.gather(*map(members.status, named), return_exceptions=True)
    statuses: dict[str, GroupStatus] = {}
    silent: dict[str, str] = {}
    for address, answer in zip(named, answers, strict=True):
        if isinstance(answer, GroupStatus):
            statuses[address] = answer
        elif not isinstance(answer, EngineError):
            raise answer
        elif not _is_stranger(answer):
            silent[address] = answer.text
    return Heard(statuses, silent)


def _is_stranger(answer: EngineError) -> bool:
    """A broker that does not know the question has no group of ours."""
    return isinstance(answer, PeerError) and answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


def judge(member_id: int, heard: Heard, named_for_s: float = float("inf")) -> Verdict:
    """`named_for_s`: since when name servers have answered."""
    for address, status in heard.statuses.items():
        if status.member_id == member_id:
            return Verdict(doubt=f"{address} is brokerId {member_id} of this group already")
    grouped = [status for status in heard.statuses.values() if status.epoch > 0]
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
    for address, reason in heard.silent.items():
        return Verdict(doubt=f"{address} may have a group of this name: {reason}")
    if heard.unnamed:
        return Verdict(doubt=f"no name server says whether there is a group of this name: {heard.unnamed}")
    if named_for_s < SETTLE_S:
        return Verdict(doubt="its name servers have just come back, and may not have heard of its group yet")
    return Verdict()
