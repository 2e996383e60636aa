"""Policies of access control (ACL 2.0): what users may do, as mqadmin manages it."""

from __future__ import annotations

from engine.admin.commands import (
    BROKER,
    CLUSTER,
    Arguments,
    Facts,
    Option,
    Result,
    Table,
    command,
    every_broker,
)
from engine.client.admin import Admin
from engine.client.admin.access import acl_of, subject_of
from engine.protocol.bodies.auth import AclInfo

_SUBJECT = Option("s", "subject", "User:NAME, or just the name", "SUBJECT", required=True)
_ENTRY = (
    _SUBJECT,
    Option(
        "r", "resources", "Topic:NAME, Group:NAME*, Cluster:*, * …, by commas", "RESOURCES", required=True
    ),
    Option(
        "a",
        "actions",
        "Pub, Sub, Create, Update, Delete, Get, List, All, by commas",
        "ACTIONS",
        required=True,
    ),
    Option("i", "sourceIp", "addresses or CIDR blocks, by commas; without it, any", "ADDRESSES"),
    Option("d", "decision", "Allow or Deny (Allow)", "DECISION", default="Allow", choices=("Allow", "Deny")),
)
_PLACES = ("brokerAddr", "clusterName")


@command(
    "createAcl",
    "Allow or deny a user something",
    BROKER,
    CLUSTER,
    *_ENTRY,
    example="createAcl -c DefaultCluster -s User:alice -r Topic:orders -a Pub,Sub",
    one_of=_PLACES,
)
async def create_acl(admin: Admin, arguments: Arguments) -> Result:
    return await _put(admin, arguments, "create acl")


@command(
    "updateAcl",
    "Change what a user is allowed or denied",
    BROKER,
    CLUSTER,
    *_ENTRY,
    example="updateAcl -c DefaultCluster -s User:alice -r Topic:orders -a Pub -d Deny",
    one_of=_PLACES,
)
async def update_acl(admin: Admin, arguments: Arguments) -> Result:
    return await _put(admin, arguments, "update acl")


async def _put(admin: Admin, arguments: Arguments, what: str) -> Result:
    sources = _listed(arguments.sourceIp) if arguments.sourceIp else None
    acl = acl_of(
        arguments.subject,
        _listed(arguments.resources),
        _listed(arguments.actions),
        sources,
        arguments.decision,
    )
    put = admin.access.update_acl if what == "update acl" else admin.access.create_acl
    brokers = await every_broker(admin, arguments)
    for broker in brokers:
        await put(broker, acl)
    return Facts({"brokers": brokers, "acl": acl.to_json()}, f"{what} to {', '.join(brokers)} success")


@command(
    "deleteAcl",
    "Take policies from a user: those of some resources, or all",
    BROKER,
    CLUSTER,
    _SUBJECT,
    Option("r", "resources", "resources by commas; without it, all", "RESOURCES"),
    example="deleteAcl -c DefaultCluster -s User:alice -r Topic:orders",
    one_of=_PLACES,
)
async def delete_acl(admin: Admin, arguments: Arguments) -> Result:
    brokers = await every_broker(admin, arguments)
    resources = _listed(arguments.resources) if arguments.resources else [None]
    for broker in brokers:
        for resource in resources:
            await admin.access.delete_acl(broker, subject_of(arguments.subject), resource)
    data = {"brokers": brokers, "subject": subject_of(arguments.subject)}
    return Facts(data, f"delete acl to {', '.join(brokers)} success")


@command(
    "getAcl",
    "Show a user's policies",
    BROKER,
    CLUSTER,
    _SUBJECT,
    example="getAcl -b 127.0.0.1:10911 -s User:alice",
    one_of=_PLACES,
)
async def get_acl(admin: Admin, arguments: Arguments) -> Result:
    rows: list[tuple[object, ...]] = []
    for broker in await every_broker(admin, arguments):
        acl = await admin.access.acl(broker, subject_of(arguments.subject))
        rows += _rows(broker, [] if acl is None else [acl])
    return _table(rows)


@command(
    "listAcl",
    "List policies",
    BROKER,
    CLUSTER,
    Option("s", "subject", "part of the user's name", "TEXT"),
    Option("r", "resource", "part of the resource", "TEXT"),
    example="listAcl -b 127.0.0.1:10911",
    one_of=_PLACES,
)
async def list_acl(admin: Admin, arguments: Arguments) -> Result:
    rows: list[tuple[object, ...]] = []
    for broker in await every_broker(admin, arguments):
        rows += _rows(broker, await admin.access.acls(broker, arguments.subject, arguments.resource))
    return _table(rows)


@command(
    "copyAcl",
    "Copy policies to the same users of another broker",
    Option("f", "fromBroker", "broker to copy from, HOST:PORT", "ADDRESS", required=True),
    Option("t", "toBroker", "broker to copy to, HOST:PORT", "ADDRESS", required=True),
    Option("s", "subjects", "users by commas; without it, all", "SUBJECTS"),
    example="copyAcl -f 10.0.0.1:10911 -t 10.0.0.2:10911 -s User:alice",
)
async def copy_acl(admin: Admin, arguments: Arguments) -> Result:
    wanted = {subject_of(name) for name in _listed(arguments.subjects or "")}
    acls = await admin.access.acls(arguments.fromBroker)
    chosen = [acl for acl in acls if not wanted or acl.subject in wanted]
    for acl in chosen:
        await admin.access.create_acl(arguments.toBroker, acl)
    subjects = [acl.subject for acl in chosen]
    return Facts(
        {"broker": arguments.toBroker, "subjects": subjects}, f"copy acl to {arguments.toBroker} success"
    )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _rows(broker: str, acls: list[AclInfo]) -> list[tuple[object, ...]]:
    return [
        (
            broker,
            acl.subject,
            policy.policy_type,
            entry.resource,
            ",".join(entry.actions or ()),
            ",".join(entry.source_ips or ()),
            entry.decision,
        )
        for acl in acls
        for policy in acl.policies or ()
        for entry in policy.entries or ()
    ]


def _table(rows: list[tuple[object, ...]]) -> Table:
    columns = ("Broker", "Subject", "PolicyType", "Resource", "Actions", "SourceIp", "Decision")
    return Table(columns, rows)
