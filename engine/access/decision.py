"""Whether policies allow a need: the one place that decides. Pure.

RocketMQ 5's order: custom entries that match resource, action and source address; if there is none, default
entries; of those the most specific resource counts; none at all means no. Where two entries of equal
specificity disagree, the allowing one counts, as in RocketMQ (only accounts of ACL 1.0 have such pairs).

System topics (delays, transactions, timers, pop's log) hold everybody's messages: only an entry that names
one reaches it, never `*` or a prefix.
"""

from __future__ import annotations

from engine.access.policies import Acl, PolicyEntry
from engine.access.resources import Action, Decision, Kind, Need
from engine.protocol.names import SEND_FORBIDDEN_TOPICS, SYSTEM_GROUP_PREFIX, SYSTEM_TOPIC_PREFIX

NO_POLICY = "no matched policies."
DENIED = "the decision is deny."


def refusal(acl: Acl, need: Need, ip: str) -> str | None:
    """Why the need is refused; None when it is allowed."""
    best = deciding_entry(acl, need, ip)
    if best is None:
        return NO_POLICY
    return DENIED if best.decision is Decision.DENY else None


def deciding_entry(acl: Acl, need: Need, ip: str) -> PolicyEntry | None:
    """The one entry that counts; None when none matches."""
    entries = _matching(acl.custom, need, ip) or _matching(acl.default, need, ip)
    return min(entries, key=_order) if entries else None


def _order(entry: PolicyEntry) -> tuple[tuple[bool, int, int], bool]:
    return entry.resource.vagueness, entry.decision is Decision.DENY


def _matching(entries: tuple[PolicyEntry, ...], need: Need, ip: str) -> list[PolicyEntry]:
    is_guarded = is_guarded_name(need.kind, need.name)
    return [
        entry
        for entry in entries
        if entry.resource.matches(need.kind, need.name)
        and (Action.ALL in entry.actions or not entry.actions.isdisjoint(need.actions))
        and entry.is_for_address(ip)
        and (not is_guarded or entry.resource.is_literal or entry.decision is Decision.DENY)
    ]


def is_guarded_name(kind: Kind, name: str) -> bool:
    """Topics and groups of the broker's own machinery."""
    if kind is Kind.TOPIC:
        return name in SEND_FORBIDDEN_TOPICS or name.startswith(SYSTEM_TOPIC_PREFIX)
    return kind is Kind.GROUP and name.startswith(SYSTEM_GROUP_PREFIX)
