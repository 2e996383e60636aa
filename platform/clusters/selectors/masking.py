"""What of a message somebody may see: the rules that hold for them, put together, and applied. Pure but for
`rules_for`.

A message lies in one topic and may come from another (dead letters, retries): the rules of both hold. What
cannot be masked in part (a body that is not JSON, or too deep) is masked whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from clusters.models import MaskRule
from console.core.models.people import Role
from console.core.rights import fits
from engine.protocol.names import group_of

HIDDEN = "•••"
_PATH = re.compile(r"(?:[^.\[\]\s*]+|\*)(?:\[\*\])*(?:\.(?:[^.\[\]\s*]+|\*)(?:\[\*\])*)*")


@dataclass(frozen=True, slots=True)
class Mask:
    hides_body: bool = False
    json_paths: tuple[str, ...] = ()
    properties: frozenset[str] = frozenset()
    reveal_role: int = Role.VIEWER

    @property
    def touches_body(self) -> bool:
        return self.hides_body or bool(self.json_paths)

    def __bool__(self) -> bool:
        return self.touches_body or bool(self.properties)


OPEN = Mask()


class MayDo(Protocol):
    """Grants, or what is left of them."""

    def may(self, role: int, cluster: str = ..., name: str = ...) -> bool: ...


class Masks:
    """The masks of one caller on one cluster; the rules are read once."""

    def __init__(self, cluster: str, grants: MayDo) -> None:
        self._cluster = cluster
        self._grants = grants
        self._rules = rules_for(cluster)
        self._known: dict[tuple[str, ...], Mask] = {}

    def of(self, *topics: str) -> Mask:
        if topics not in self._known:
            self._known[topics] = mask_for(self._rules, self._grants, self._cluster, topics)
        return self._known[topics]


def subject_of(topic: str) -> str:
    """The name that rights are asked for: a retry or dead-letter topic belongs to its group."""
    return group_of(topic) or topic


def role_on(grants: MayDo, cluster: str, topic: str) -> int:
    """The highest role that they have there; 0: none."""
    name = subject_of(topic)
    return max((role for role in Role.values if grants.may(role, cluster, name)), default=0)


def rules_for(cluster: str) -> list[MaskRule]:
    """One query; the patterns are few and matched here."""
    return [rule for rule in MaskRule.objects.all() if fits(rule.cluster_pattern, cluster)]


def mask_for(rules: Iterable[MaskRule], grants: MayDo, cluster: str, topics: Iterable[str]) -> Mask:
    """For one message of these topics and one caller."""
    held: list[MaskRule] = []
    listed = list(rules)
    for topic in topics:
        role = role_on(grants, cluster, topic)
        held += [rule for rule in matching(listed, topic) if role <= rule.up_to_role]
    return combined(held)


def matching(rules: Iterable[MaskRule], topic: str) -> list[MaskRule]:
    """Rules that name the topic; only if there is none, the default ones."""
    found = [rule for rule in rules if fits(rule.topic_pattern, topic)]
    own = [rule for rule in found if not rule.is_default]
    return own or found


def combined(rules: Iterable[MaskRule]) -> Mask:
    hiding = [rule for rule in rules if rule.hides_body or rule.json_paths or rule.properties]
    if not hiding:
        return OPEN
    return Mask(
        any(rule.hides_body for rule in hiding),
        tuple(dict.fromkeys(path for rule in hiding for path in rule.json_paths)),
        frozenset(name for rule in hiding for name in rule.properties),
        max(rule.reveal_role for rule in hiding),
    )


def is_path(text: str) -> bool:
    return len(text) <= 255 and _PATH.fullmatch(text) is not None


def masked_properties(properties: dict[str, str], mask: Mask) -> dict[str, str]:
    return {name: HIDDEN if name in mask.properties else value for name, value in properties.items()}


def masked_body(body: bytes | None, mask: Mask) -> bytes | None:
    """What is left to see; None: nothing."""
    if body is None or mask.hides_body:
        return None
    if not mask.json_paths:
        return body
    try:
        document = json.loads(body)
        if not isinstance(document, (dict, list)):
            return None
        for path in mask.json_paths:
            document = _hide(document, path.replace("[*]", ".[*]").split("."))
        return json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None


def _hide(value: Any, path: list[str]) -> Any:
    """The value with everything at the path hidden; what is not there needs no hiding. A list on the way is
    gone through whether or not the path says so: a rule that is a little wrong hides too much, not less."""
    if not path:
        return HIDDEN
    name, *rest = path
    if isinstance(value, list):
        return [_hide(item, rest if name == "[*]" else path) for item in value]
    if isinstance(value, dict):
        if name == "[*]":
            return _hide(value, rest)
        return {key: _hide(inner, rest) if name in ("*", key) else inner for key, inner in value.items()}
    return HIDDEN if name == "[*]" and not rest else value
