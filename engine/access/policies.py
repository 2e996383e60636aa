"""What a user may do: entries of allowed or denied actions on resources, in a custom and a default policy.
`refusal` is the one place that decides whether they allow a need. Pure.

Entries are found by their resource: later ones for the same resource replace them, in their policy. The
decision follows RocketMQ 5's order: custom entries that match resource, action and source address; if there
is none, default entries; of those the most specific resource counts; none at all means no. Where two entries
of equal specificity disagree, the allowing one counts, as in RocketMQ (only accounts of ACL 1.0 have such
pairs). System topics (delays, transactions, timers, pop's log) hold everybody's messages: only an entry that
names one reaches it, never `*` or a prefix.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from engine.access.resources import (
    Action,
    Decision,
    Kind,
    Need,
    PolicyType,
    Resource,
    named_member,
    not_valid,
    parse_resource,
)
from engine.protocol.bodies.auth import PolicyEntryInfo, PolicyInfo
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


MAX_ENTRIES = 10_000
"""Of one user: a decision walks all of them once."""


@dataclass(frozen=True, slots=True)
class PolicyEntry:
    resource: Resource
    actions: frozenset[Action]
    decision: Decision
    source_ips: tuple[str, ...] = ()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    def is_for_address(self, ip: str) -> bool:
        """Without source addresses: for all. A peer whose address is unknown matches none."""
        if not self.networks:
            return True
        try:
            address = ip_address(ip)
        except ValueError:
            return False
        return any(address in network for network in self.networks)


@dataclass(frozen=True, slots=True)
class Acl:
    """The policies of one user."""

    custom: tuple[PolicyEntry, ...] = ()
    default: tuple[PolicyEntry, ...] = ()

    def entries(self, policy: PolicyType) -> tuple[PolicyEntry, ...]:
        return self.custom if policy is PolicyType.CUSTOM else self.default

    def __bool__(self) -> bool:
        return bool(self.custom or self.default)


def parse_policies(infos: Iterable[PolicyInfo] | None) -> Acl:
    """The checked policies of a request; Refused says which part is not usable."""
    acl = Acl()
    for info in infos or ():
        policy = named_member(PolicyType, info.policy_type or PolicyType.CUSTOM.value, "policy type")
        if not info.entries:
            raise not_valid("the policy entries are empty")
        acl = merged(acl, policy, tuple(map(parse_entry, info.entries)))
    if not acl:
        raise not_valid("the policies are empty")
    return acl


def parse_entry(info: PolicyEntryInfo) -> PolicyEntry:
    actions = frozenset(named_member(Action, name, "action") for name in info.actions or ())
    if not actions:
        raise not_valid("the actions are empty")
    sources = tuple(source.strip() for source in info.source_ips or ())
    return PolicyEntry(
        parse_resource(info.resource),
        actions,
        named_member(Decision, info.decision, "decision"),
        sources,
        tuple(map(_network, sources)),
    )


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise not_valid(f"the source address {text!r:.80} is neither an address nor a CIDR block") from None


def merged(acl: Acl, policy: PolicyType, entries: tuple[PolicyEntry, ...]) -> Acl:
    """The policies with these entries put in, in the place of those with their resource."""
    rows: dict[Resource, list[PolicyEntry]] = {}
    for entry in acl.entries(policy):
        rows.setdefault(entry.resource, []).append(entry)
    for resource in {entry.resource for entry in entries} & rows.keys():
        rows[resource] = []
    for entry in entries:
        rows.setdefault(entry.resource, []).append(entry)
    joined = tuple(entry for row in rows.values() for entry in row)
    if len(joined) > MAX_ENTRIES:
        raise not_valid(f"a user has at most {MAX_ENTRIES} policy entries")
    return _with(acl, policy, joined)


def without(acl: Acl, policy: PolicyType, resource: Resource) -> Acl:
    return _with(acl, policy, tuple(entry for entry in acl.entries(policy) if entry.resource != resource))


def _with(acl: Acl, policy: PolicyType, entries: tuple[PolicyEntry, ...]) -> Acl:
    if policy is PolicyType.CUSTOM:
        return replace(acl, custom=entries)
    return replace(acl, default=entries)


def policy_infos(acl: Acl) -> tuple[PolicyInfo, ...]:
    """As the wire and the file have them."""
    return tuple(
        PolicyInfo(policy.value, tuple(map(_entry_info, acl.entries(policy))))
        for policy in PolicyType
        if acl.entries(policy)
    )


def _entry_info(entry: PolicyEntry) -> PolicyEntryInfo:
    actions = tuple(action.value for action in Action if action in entry.actions)
    return PolicyEntryInfo(str(entry.resource), actions, entry.source_ips or None, entry.decision.value)
