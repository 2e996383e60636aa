"""May a user do that? Answered with the broker's own logic (engine.access), and the entry that decides. Pure.

A broker is asked for what it has; the decision is worked out here per broker, because brokers may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from clusters.models import Cluster
from console.core.problems import Problem
from engine.access.needs import on_group, on_subscription, on_topic
from engine.access.policies import (
    Acl,
    PolicyEntry,
    deciding_entry,
    is_guarded_name,
    parse_entry,
    parse_policies,
)
from engine.access.resources import Action, Decision, Kind, Need
from engine.errors import Refused
from engine.protocol.bodies.auth import PolicyEntryInfo, PolicyInfo
from engine.protocol.names import is_retry_topic

ACTIONS = {action.value.lower(): action for action in Action if action is not Action.ALL}
_UNGUARDED = frozenset({Action.PUB, Action.SUB, Action.GET, Action.LIST})
Infos = Callable[[Iterable[dict[str, Any]]], tuple[PolicyInfo, ...]]


def needs_of(action: str, topic: str, group: str, cluster: str) -> list[Need]:
    """What the brokers ask for that: a consumer needs its group as well as its topic."""
    wanted = (ACTIONS[action],)
    if topic and group:
        return on_subscription(topic, group, wanted)
    if topic:
        # A message for a retry topic is sent by the group that reads it.
        return [on_topic(topic, (Action.SUB,) if is_retry_topic(topic) and action == "pub" else wanted)]
    if group:
        return [on_group(group, wanted)]
    return [Need(Kind.CLUSTER, cluster, wanted)]


def is_open_action(access_control: str, action: str) -> bool:
    """Where only changes are guarded, sending and reading need no right."""
    return access_control == Cluster.AccessControl.ADMINISTRATION and ACTIONS[action] in _UNGUARDED


def explain(
    user: dict[str, Any] | None,
    policies: tuple[PolicyInfo, ...],
    needs: list[Need],
    ip: str,
    *,
    is_open: bool = False,
) -> dict[str, Any]:
    """One broker's answer: allowed or not, why, and per need the rule that decided."""
    if user is None:
        return _verdict(False, "no_user", "the broker has no such user")
    if user["status"] == "disable":
        return _verdict(False, "disabled", "the user is disabled")
    if user["kind"] == "Super":
        return _verdict(True, "super_user", "a super user may do everything")
    if is_open:
        return _verdict(True, "open", "access control guards changes only: anybody may do that")
    acl = parse_policies(policies) if policies else Acl()
    rules = [_rule(acl, need, ip) for need in needs]
    refused = next((rule for rule in rules if not rule["is_allowed"]), None)
    decisive = refused or rules[0]
    return _verdict(refused is None, decisive["code"], decisive["reason"], rules)


def _rule(acl: Acl, need: Need, ip: str) -> dict[str, Any]:
    entry = deciding_entry(acl, need, ip)
    is_allowed = entry is not None and entry.decision is not Decision.DENY
    code, reason = _reason(entry, need)
    return {
        "needs": f"{' or '.join(action.value for action in need.actions)} on {need}",
        "is_allowed": is_allowed,
        "code": code,
        "reason": reason,
        "entry": None if entry is None else _entry(entry, acl),
    }


def _reason(entry: PolicyEntry | None, need: Need) -> tuple[str, str]:
    """A code for programs that say it in other languages, and a sentence."""
    if entry is not None:
        return "entry", f"{entry.resource} says {entry.decision.value}"
    if is_guarded_name(need.kind, need.name):
        return "guarded", f"{need} is the brokers' own: only an entry that names it would count"
    return "no_entry", f"no entry matches {need} with that action from that address, which means no"


def _entry(entry: PolicyEntry, acl: Acl) -> dict[str, Any]:
    return {
        "type": "Custom" if entry in acl.custom else "Default",
        "resource": str(entry.resource),
        "actions": sorted(action.value for action in entry.actions),
        "source_ips": list(entry.source_ips),
        "decision": entry.decision.value,
    }


def _verdict(
    is_allowed: bool, code: str, reason: str, rules: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {"is_allowed": is_allowed, "code": code, "reason": reason, "rules": rules or []}


def normal_entry(given: dict[str, Any], path: str) -> dict[str, Any]:
    """An entry in RocketMQ's spelling, checked by the broker's own rules; a problem names the field."""
    try:
        entry = parse_entry(
            PolicyEntryInfo(
                given["resource"],
                tuple(given["actions"]),
                tuple(given["source_ips"]) or None,
                given["decision"],
            )
        )
    except Refused as error:
        raise Problem("invalid", error.text, 400, field=path) from None
    return {
        "type": given["type"],
        "resource": str(entry.resource),
        "actions": [action.value for action in Action if action in entry.actions],
        "source_ips": list(entry.source_ips),
        "decision": entry.decision.value,
    }
