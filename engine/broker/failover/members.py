"""The members of a broker group as promotion asks them: the others over the wire, this one directly."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.protocol.bodies.brokers import GroupStatus


class Members(Protocol):
    """The other members, over the wire; each raises EngineError when a member does not do as asked."""

    async def others_named(self, own_address: str) -> Sequence[str]:
        """Where the others of this group's name are, by the name servers; raises when none of them answers,
        and nobody is named where there are none."""

    async def status(self, address: str) -> GroupStatus: ...

    async def count_messages(self, address: str, begin: int, end: int) -> int | None:
        """How many messages of its log lie between two commit-log offsets; None where it cannot say."""

    async def promise(self, address: str, epoch: int, reign: int) -> GroupStatus: ...

    async def crown(self, address: str, epoch: int, reign: int) -> None: ...

    async def follow(self, address: str, epoch: int, reign: int, master_id: int, master: str) -> None: ...

    async def hand_over(self, address: str, epoch: int, member_id: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Self:
    """This member, asked without the wire."""

    member_id: int
    status: Callable[[], GroupStatus]
    promise: Callable[[int, int], Awaitable[GroupStatus]]
    crown: Callable[[int, int], Awaitable[None]]
    follow: Callable[[int, int, int, str], Awaitable[None]]
    count_messages: Callable[[int, int], Awaitable[int]]
