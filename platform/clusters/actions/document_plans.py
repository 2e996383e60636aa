"""What a document would change: pure comparisons of what it says with what brokers and rows have.

What a document does not say about a thing stays as it is, on every broker; a thing that a broker misses is
made there. Deletions come only from `prune`, and only for what the same document made before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clusters.gateway.acl import same_entries
from clusters.gateway.groups import FIELDS as GROUP_FIELDS
from clusters.gateway.writes import BrokerOutcome

TOPIC_FIELDS = ("read_queues", "write_queues", "perm", "is_ordered", "attributes")
ABOUT_FIELDS = ("owner", "team", "description", "labels")
CREATE, CHANGE, DELETE, NONE, DIFFERS = "create", "change", "delete", "none", "differs"
"""`differs`: shown as drift; a document does not change it."""


@dataclass(frozen=True, slots=True)
class Change:
    cluster: str
    kind: str
    """cluster, topic, group, user or policies"""
    name: str
    change: str
    diffs: list[dict[str, Any]] = field(default_factory=list)
    wish: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "kind": self.kind,
            "name": self.name,
            "change": self.change,
            "diffs": self.diffs,
            "note": self.note,
        }

    @property
    def sentence(self) -> str:
        fields = sorted({row["field"] for row in self.diffs if row["field"]})
        what = f" ({', '.join(fields)})" if fields and self.change == CHANGE else ""
        return f"{self.change.capitalize()} {self.kind} {self.name}{what}."


def plan_objects(
    wanted: dict[str, Any],
    brokers: list[BrokerOutcome],
    said: dict[str, dict[str, dict[str, Any]]],
    prunes: bool,
) -> list[Change]:
    """`wanted` is the document's part about one cluster; `brokers` what each has; `said` the rows by kind and
    name, of which those with `document` true were made by this document."""
    changes = [_topic(wanted["name"], row, brokers, said["topics"]) for row in wanted["topics"]]
    changes += [_group(wanted["name"], row, brokers, said["groups"]) for row in wanted["groups"]]
    for row in wanted["users"]:
        changes += _user(wanted["name"], row, brokers)
    if prunes:
        changes += _pruned(wanted, brokers, said)
    return changes


def creations(wanted: dict[str, Any]) -> list[Change]:
    """Of a cluster that is yet to be made: everything."""
    name = wanted["name"]
    changes = [Change(name, "topic", row["name"], CREATE, [], row) for row in wanted["topics"]]
    changes += [Change(name, "group", row["name"], CREATE, [], row) for row in wanted["groups"]]
    for row in wanted["users"]:
        changes.append(Change(name, "user", row["name"], CREATE, [], _user_wish(row)))
        if row["policies"]:
            changes.append(Change(name, "policies", row["name"], CREATE, [], {"policies": row["policies"]}))
    return changes


def _topic(cluster: str, row: dict[str, Any], brokers: list[BrokerOutcome], said: dict[str, Any]) -> Change:
    holders = [one for one in brokers if not row.get("brokers") or one.broker in row["brokers"]]
    spec = {key: row[key] for key in TOPIC_FIELDS if key in row}
    return _compared(cluster, "topic", row, spec, holders, "topics", said.get(row["name"]))


def _group(cluster: str, row: dict[str, Any], brokers: list[BrokerOutcome], said: dict[str, Any]) -> Change:
    spec = {key: row[key] for key in GROUP_FIELDS if key in row}
    return _compared(cluster, "group", row, spec, brokers, "groups", said.get(row["name"]))


def _compared(
    cluster: str,
    kind: str,
    row: dict[str, Any],
    spec: dict[str, Any],
    brokers: list[BrokerOutcome],
    table: str,
    about: dict[str, Any] | None,
) -> Change:
    views = {one.broker: one.read_back[table].get(row["name"]) for one in brokers}
    diffs = [diff for broker, view in views.items() for diff in _differences(broker, spec, view)]
    known = about or {}
    wanted = {key: row[key] for key in ABOUT_FIELDS if key in row}
    diffs += _differences("", wanted, {key: known.get(key, {} if key == "labels" else "") for key in wanted})
    change = CREATE if all(view is None for view in views.values()) else CHANGE
    return Change(cluster, kind, row["name"], change if diffs else NONE, diffs, row)


def _differences(broker: str, wanted: dict[str, Any], view: dict[str, Any] | None) -> list[dict[str, Any]]:
    if view is None:
        return [{"broker": broker, "field": "", "now": None, "then": wanted}]
    return [
        {"broker": broker, "field": key, "now": view.get(key), "then": value}
        for key, value in wanted.items()
        if view.get(key) != value
    ]


def _user(cluster: str, row: dict[str, Any], brokers: list[BrokerOutcome]) -> list[Change]:
    views = {one.broker: one.read_back["users"].get(row["name"]) for one in brokers}
    wish = _user_wish(row)
    flat = {"kind": row["kind"], "status": row["status"]}
    diffs = [diff for broker, view in views.items() for diff in _differences(broker, flat, view)]
    change = CREATE if all(view is None for view in views.values()) else CHANGE
    changes = [Change(cluster, "user", row["name"], change if diffs else NONE, diffs, wish)]
    held = {broker: [] if view is None else view["policies"] for broker, view in views.items()}
    differing = [
        {"broker": broker, "field": "policies", "now": entries, "then": row["policies"]}
        for broker, entries in held.items()
        if not same_entries(entries, row["policies"])
    ]
    is_new = not any(held.values())
    change = NONE if not differing else CREATE if is_new else CHANGE
    if differing or row["policies"]:
        wish = {"policies": row["policies"]}
        changes.append(Change(cluster, "policies", row["name"], change, differing, wish))
    return changes


def _user_wish(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("kind", "status", "secret")} | {"labels": row.get("labels", {})}


def _pruned(
    wanted: dict[str, Any], brokers: list[BrokerOutcome], said: dict[str, dict[str, dict[str, Any]]]
) -> list[Change]:
    changes = []
    for table, kind in (("topics", "topic"), ("groups", "group"), ("users", "user")):
        named = {row["name"] for row in wanted[table]}
        for name, row in sorted(said[table].items()):
            is_there = any(name in one.read_back[table] for one in brokers)
            if row["is_ours"] and name not in named and is_there:
                changes.append(Change(wanted["name"], kind, name, DELETE))
    return changes


def cluster_differences(wanted: dict[str, Any], now: dict[str, Any]) -> list[dict[str, Any]]:
    """Of a managed cluster's layout: how many of what, under which settings."""
    return [
        {"broker": "", "field": key, "now": now[key], "then": value}
        for key, value in wanted.items()
        if key in now and now[key] != value
    ]
