"""Policies of access control (ACL 2.0): what users may do, as mqadmin manages it."""

from __future__ import annotations

from engine.admin.access_commands import Rows, access_command, change_everywhere, rows_everywhere
from engine.admin.commands import Arguments, Facts, Option, Result, Table, command
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


@access_command(
    "createAcl",
    "Allow or deny a user something",
    *_ENTRY,
    example="createAcl -c DefaultCluster -s User:alice -r Topic:orders -a Pub,Sub",
)
async def create_acl(admin: Admin, arguments: Arguments) -> Result:
    return await _put(admin, arguments, "create acl")


@access_command(
    "updateAcl",
    "Change what a user is allowed or denied",
    *_ENTRY,
    example="updateAcl -c DefaultCluster -s User:alice -r Topic:orders -a Pub -d Deny",
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
    put_at = admin.access.update_acl if what == "update acl" else admin.access.create_acl

    async def put(broker: str) -> None:
        await put_at(broker, acl)

    return await change_everywhere(admin, arguments, what, put, acl=acl.to_json())


@access_command(
    "deleteAcl",
    "Take policies from a user: those of some resources, or all",
    _SUBJECT,
    Option("r", "resources", "resources by commas; without it, all", "RESOURCES"),
    example="deleteAcl -c DefaultCluster -s User:alice -r Topic:orders",
)
async def delete_acl(admin: Admin, arguments: Arguments) -> Result:
    subject = subject_of(arguments.subject)
    resources = _listed(arguments.resources) if arguments.resources else [None]

    async def delete(broker: str) -> None:
        for resource in resources:
            await admin.access.delete_acl(broker, subject, resource)

    return await change_everywhere(admin, arguments, "delete acl", delete, subject=subject)


@access_command(
    "getAcl",
    "Show a user's policies",
    _SUBJECT,
    example="getAcl -b 127.0.0.1:10911 -s User:alice",
)
async def get_acl(admin: Admin, arguments: Arguments) -> Result:
    async def found(broker: str) -> Rows:
        acl = await admin.access.acl(broker, subject_of(arguments.subject))
        return _rows(broker, [] if acl is None else [acl])

    return _table(await rows_everywhere(admin, arguments, found))


@access_command(
    "listAcl",
    "List policies",
    Option("s", "subject", "part of the user's name", "TEXT"),
    Option("r", "resource", "part of the resource", "TEXT"),
    example="listAcl -b 127.0.0.1:10911",
)
async def list_acl(admin: Admin, arguments: Arguments) -> Result:
    async def listed(broker: str) -> Rows:
        return _rows(broker, await admin.access.acls(broker, arguments.subject, arguments.resource))

    return _table(await rows_everywhere(admin, arguments, listed))


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


def _rows(broker: str, acls: list[AclInfo]) -> Rows:
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


def _table(rows: Rows) -> Table:
    columns = ("Broker", "Subject", "PolicyType", "Resource", "Actions", "SourceIp", "Decision")
    return Table(columns, rows)
