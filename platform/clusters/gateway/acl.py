"""Users and policies on brokers. Secrets go in, never out.

A policy entry is {type, resource, actions, source_ips, decision} in RocketMQ's spelling. A user's policies
are written as a whole: what is on a broker and not in the wish is taken away, so that brokers end up equal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from typing import Any

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.writes import BrokerOutcome, read_each, write_each
from engine.client.admin import Admin
from engine.client.admin.access import subject_of
from engine.protocol.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo

Entry = dict[str, Any]


def read_access(
    address: ClusterAddress, expected: Collection[str], name: str | None = None
) -> list[BrokerOutcome]:
    """Per broker: {user name: {kind, status, policies}}, all or one."""
    return read_each(address, (), expected, lambda admin, at: access_at(admin, at, name))


async def access_at(admin: Admin, at: str, name: str | None) -> dict[str, Any]:
    users, acls = await asyncio.gather(admin.access.users(at, name), admin.access.acls(at, name))
    policies = {_user_of(acl.subject or ""): entries_of(acl) for acl in acls}
    return {
        user.username: _user(user) | {"policies": policies.get(user.username, [])}
        for user in users
        if user.username is not None and (name is None or user.username == name)
    }


def put_user(
    address: ClusterAddress,
    name: str,
    wish: dict[str, str],
    secret: str | None,
    expected: Collection[str],
) -> list[BrokerOutcome]:
    """`wish` has kind and status; made where it is missing (which takes a secret), changed elsewhere."""
    info = UserInfo(name, secret, wish.get("kind"), wish.get("status"))

    async def write(admin: Admin, at: str) -> None:
        if await admin.access.user(at, name) is None:
            await admin.access.create_user(at, info)
        else:
            await admin.access.update_user(at, info)

    async def read(admin: Admin, at: str) -> dict[str, Any] | None:
        found = await admin.access.user(at, name)
        return None if found is None else _user(found)

    def is_there(answer: dict[str, Any] | None) -> bool:
        return answer is not None and all(answer[key] == value for key, value in wish.items())

    return write_each(address, (), expected, write, read, is_there)


def delete_user(address: ClusterAddress, name: str, expected: Collection[str]) -> list[BrokerOutcome]:
    return write_each(
        address,
        (),
        expected,
        lambda admin, at: admin.access.delete_user(at, name),
        lambda admin, at: admin.access.user(at, name),
        lambda answer: answer is None,
    )


def put_policies(
    address: ClusterAddress, name: str, entries: list[Entry], expected: Collection[str]
) -> list[BrokerOutcome]:
    async def write(admin: Admin, at: str) -> None:
        before = await _entries_at(admin, at, name)
        kept = {(entry["type"], entry["resource"]) for entry in entries}
        if entries:
            await admin.access.create_acl(at, _acl(name, entries))
        elif before:
            await admin.access.delete_acl(at, subject_of(name))
        # After the new ones are there: nobody who keeps a right is without it in between.
        for entry in before if entries else ():
            if (entry["type"], entry["resource"]) not in kept:
                await admin.access.delete_acl(at, subject_of(name), entry["resource"], entry["type"])

    return write_each(
        address,
        (),
        expected,
        write,
        lambda admin, at: _entries_at(admin, at, name),
        lambda answer: same_entries(answer, entries),
    )


def same_entries(one: Iterable[Entry], other: Iterable[Entry]) -> bool:
    return sorted(map(entry_key, one)) == sorted(map(entry_key, other))


def entry_key(entry: Entry) -> tuple[str, ...]:
    """What makes two entries the same: order of actions and addresses does not count."""
    actions, sources = sorted(entry["actions"]), sorted(entry["source_ips"])
    return (entry["type"], entry["resource"], entry["decision"], *actions, "from", *sources)


def entries_of(acl: AclInfo) -> list[Entry]:
    return [
        {
            "type": policy.policy_type or "Custom",
            "resource": entry.resource or "",
            "actions": list(entry.actions or ()),
            "source_ips": list(entry.source_ips or ()),
            "decision": entry.decision or "",
        }
        for policy in acl.policies or ()
        for entry in policy.entries or ()
    ]


def policy_infos(entries: Iterable[Entry]) -> tuple[PolicyInfo, ...]:
    """As the wire and the broker's own decision want them."""
    by_type: dict[str, list[PolicyEntryInfo]] = {}
    for entry in entries:
        info = PolicyEntryInfo(
            entry["resource"], tuple(entry["actions"]), tuple(entry["source_ips"]) or None, entry["decision"]
        )
        by_type.setdefault(entry["type"], []).append(info)
    return tuple(PolicyInfo(kind, tuple(infos)) for kind, infos in by_type.items())


async def _entries_at(admin: Admin, at: str, name: str) -> list[Entry]:
    acls = await admin.access.acls(at, name)
    return next((entries_of(acl) for acl in acls if _user_of(acl.subject or "") == name), [])


def _acl(name: str, entries: list[Entry]) -> AclInfo:
    return AclInfo(subject_of(name), policy_infos(entries))


def _user(info: UserInfo) -> dict[str, Any]:
    return {"kind": info.user_type or "Normal", "status": info.user_status or "enable"}


def _user_of(subject: str) -> str:
    return subject.partition(":")[2]
