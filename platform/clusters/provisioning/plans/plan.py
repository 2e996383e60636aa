"""A plan and what it is made from. Steps of one position run side by side, positions one after another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class StepSpec:
    kind: str
    summary: str
    host: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Plan:
    kind: str
    summary: str
    sentences: list[str] = field(default_factory=list)
    positions: list[list[StepSpec]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """What may be lost or interrupted."""

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)

    def then(self, steps: Iterable[StepSpec]) -> None:
        """One position; nothing for an empty one."""
        listed = list(steps)
        if listed:
            self.positions.append(listed)

    @property
    def steps(self) -> list[tuple[int, StepSpec]]:
        return [(number, step) for number, steps in enumerate(self.positions) for step in steps]


@dataclass(frozen=True, slots=True)
class MemberState:
    """A broker as a plan sees it."""

    label: str
    member: int
    host: str
    address: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class GroupState:
    name: str
    master: int
    members: tuple[MemberState, ...]

    @property
    def slaves(self) -> tuple[MemberState, ...]:
        return tuple(each for each in self.members if each.member != self.master)

    @property
    def master_member(self) -> MemberState:
        return next(each for each in self.members if each.member == self.master)


@dataclass(frozen=True, slots=True)
class ServerState:
    label: str
    number: int
    host: str
    address: str


@dataclass(frozen=True, slots=True)
class ClusterState:
    name: str
    name_servers: tuple[ServerState, ...]
    groups: tuple[GroupState, ...]

    @property
    def hosts(self) -> list[str]:
        names = {server.host for server in self.name_servers}
        return sorted(names | {member.host for group in self.groups for member in group.members})

    def group(self, name: str) -> GroupState | None:
        return next((each for each in self.groups if each.name == name), None)
