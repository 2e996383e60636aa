"""What rights are given on: a cluster, topics and groups, by name, by the start of a name, or any of them.

Written as RocketMQ 5 writes it: `Topic:orders`, `Topic:order*`, `Group:*`, `Cluster:DefaultCluster`, `*`.
Names of kinds, actions and decisions are read in any case and written in RocketMQ's. Pure values.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

from engine.errors import Refused

ANY_MARK = "*"


class Kind(StrEnum):
    CLUSTER = "Cluster"
    TOPIC = "Topic"
    GROUP = "Group"
    ANY = ANY_MARK


class Action(StrEnum):
    ALL = "All"
    PUB = "Pub"
    SUB = "Sub"
    CREATE = "Create"
    UPDATE = "Update"
    DELETE = "Delete"
    GET = "Get"
    LIST = "List"


class Decision(StrEnum):
    ALLOW = "Allow"
    DENY = "Deny"


class PolicyType(StrEnum):
    CUSTOM = "Custom"
    DEFAULT = "Default"


class Need(NamedTuple):
    """What a request needs: one of the actions on that resource. A plain tuple, because decisions are kept
    under it."""

    kind: Kind
    name: str
    actions: tuple[Action, ...]

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.name}"


_E = TypeVar("_E", bound=StrEnum)


def named_member(kind: type[_E], name: str | None, what: str) -> _E:
    """The member with that name in any case; Refused (16, as RocketMQ's) when there is none."""
    for member in kind:
        if name is not None and member.value.lower() == name.strip().lower():
            return member
    allowed = ", ".join(member.value for member in kind)
    raise not_valid(f"the {what} {name!r:.80} is none of {allowed}")


def not_valid(text: str) -> Refused:
    return Refused(text, code=16)


@dataclass(frozen=True, slots=True)
class Resource:
    """`name` None means any of the kind; `is_prefix` that names begin with it."""

    kind: Kind
    name: str | None
    is_prefix: bool = False

    def __str__(self) -> str:
        if self.kind is Kind.ANY:
            return ANY_MARK
        name = ANY_MARK if self.name is None else self.name + (ANY_MARK if self.is_prefix else "")
        return f"{self.kind.value}:{name}"

    @property
    def is_literal(self) -> bool:
        return self.name is not None and not self.is_prefix

    def matches(self, kind: Kind, name: str) -> bool:
        if self.kind is Kind.ANY:
            return True
        if self.kind is not kind:
            return False
        if self.name is None:
            return True
        return name.startswith(self.name) if self.is_prefix else name == self.name

    @property
    def vagueness(self) -> tuple[bool, int, int]:
        """Less is more specific: a literal, then the longer prefix, then any of the kind, then anything."""
        if self.kind is Kind.ANY:
            return True, 2, 0
        if self.name is None:
            return False, 2, 0
        return (False, 1, -len(self.name)) if self.is_prefix else (False, 0, 0)


def parse_resource(text: str | None) -> Resource:
    if text is not None and text.strip() == ANY_MARK:
        return Resource(Kind.ANY, None)
    kind_name, separator, name = (text or "").strip().partition(":")
    kind = named_member(Kind, kind_name, "resource type")
    if not separator or not name or kind is Kind.ANY:
        raise not_valid(f"the resource {text!r:.200} is not like Topic:name, Group:name*, Cluster:* or *")
    if name == ANY_MARK:
        return Resource(kind, None)
    # As RocketMQ: what stands before the first asterisk is the prefix.
    return Resource(kind, name.partition(ANY_MARK)[0], True) if name.endswith("*") else Resource(kind, name)
