"""Policies of access control (ACL 2.0): what users may do, as mqadmin manages it."""

from __future__ import annotations

from engine.admin.argument_types import comma_list
from engine.admin.broker_targets import COPY_OPTIONS, broker_command, change_brokers, chosen_brokers
from engine.admin.commands import Arguments, Option, command
from engine.admin.results import Facts, Result, Table
from engine.client import Admin
from engine.client.admin.access import acl_of, subject_of
from engine.errors import NotFound
from engine.protocol.bodies.auth import AclInfo
from engine.protocol.codes import ResponseCode

_COLUMNS = ("Broker", "Subject", "PolicyType", "Resource", "Actions", "SourceIp", "Decision")
_SUBJECT = Option("s", "subject", "User:NAME, or just the name", "SUBJECT", required=True)
_RESOURCES = "Topic:NAME, Group:NAME*, Cluster:*, * …, by commas"
_ACTIONS = "Pub, Sub, Create, Update, Delete, Get, List, All, by commas"
_SOURCES = "addresses or CIDR blocks, by commas; without it, any"
_POLICY = (
    _SUBJECT,
    Option("r", "resources", _RESOURCES, "RESOURCES", comma_list, required=True),
    Option("a", "actions", _ACTIONS, "ACTIONS", comma_list, required=True),
    Option("i", "sourceIp", _SOURCES, "ADDRESSES", comma_list),
    Option("d", "decision", "Allow or Deny (Allow)", "DECISION", default="Allow", choices=("Allow", "Deny")),
)


@broker_command(
    "createAcl",
    "Allow or deny a user something",
    *_POLICY,
    example="createAcl -c DefaultCluster -s User:alice -r Topic:orders -a Pub,Sub",
)
async def create_acl(admin: Admin, arguments: Arguments) -> Result:
    acl, brokers = _given_acl(arguments), await chosen_brokers(admin, arguments)
    return await change_brokers(brokers, "create acl", admin.access.create_acl, acl, acl=acl.to_json())


@broker_command(
    "updateAcl",
    "Change what a user is allowed or denied",
    *_POLICY,
    example="updateAcl -c DefaultCluster -s User:alice -r Topic:orders -a Pub -d Deny",
)
async def update_acl(admin: Admin, arguments: Arguments) -> Result:
    acl, brokers = _given_acl(arguments), await chosen_brokers(admin, arguments)
    return await change_brokers(brokers, "update acl", admin.access.update_acl, acl, acl=acl.to_json())


def _given_acl(arguments: Arguments) -> AclInfo:
    return acl_of(
        arguments.subject, arguments.resources, arguments.actions, arguments.sourceIp, arguments.decision
    )


@broker_command(
    "deleteAcl",
    "Delete policies of a user: those of some resources, or all",
    _SUBJECT,
    Option("r", "resources", "resources by commas; without it, all", "RESOURCES", comma_list),
    example="deleteAcl -c DefaultCluster -s User:alice -r Topic:orders",
)
async def delete_acl(admin: Admin, arguments: Arguments) -> Result:
    subject = subject_of(arguments.subject)

    async def delete(broker: str) -> None:
        for resource in arguments.resources or [None]:
            await admin.access.delete_acl(broker, subject, resource)

    brokers = await chosen_brokers(admin, arguments)
    return await change_brokers(brokers, "delete acl", delete, subject=subject)


@broker_command("getAcl", "Show the policies of a user", _SUBJECT)
async def get_acl(admin: Admin, arguments: Arguments) -> Result:
    subject = subject_of(arguments.subject)
    brokers = await chosen_brokers(admin, arguments)
    return _table([(broker, acl) for broker in brokers if (acl := await admin.access.acl(broker, subject))])


@broker_command(
    "listAcl",
    "List policies",
    Option("s", "subject", "part of the user's name", "TEXT"),
    Option("r", "resource", "part of the resource", "TEXT"),
)
async def list_acl(admin: Admin, arguments: Arguments) -> Result:
    found = [
        (broker, acl)
        for broker in await chosen_brokers(admin, arguments)
        for acl in await admin.access.acls(broker, arguments.subject, arguments.resource)
    ]
    return _table(found)


def _table(found: list[tuple[str, AclInfo]]) -> Table:
    rows = [
        (
            broker,
            acl.subject,
            policy.policy_type,
            entry.resource,
            ",".join(entry.actions or ()),
            ",".join(entry.source_ips or ()),
            entry.decision,
        )
        for broker, acl in found
        for policy in acl.policies or ()
        for entry in policy.entries or ()
    ]
    return Table(_COLUMNS, rows)


@command(
    "copyAcl",
    "Copy policies to the same users of another broker",
    *COPY_OPTIONS,
    Option("s", "subjects", "users by commas; without it, all", "SUBJECTS", comma_list),
    example="copyAcl -f 10.0.0.1:10911 -t 10.0.0.2:10911 -s User:alice",
)
async def copy_acl(admin: Admin, arguments: Arguments) -> Result:
    target = arguments.toBroker
    acls = {acl.subject or "": acl for acl in await admin.access.acls(arguments.fromBroker)}
    subjects = [subject_of(name) for name in arguments.subjects or acls]
    if missing := [subject for subject in subjects if subject not in acls]:
        raise NotFound(f"{', '.join(missing)} has no policies", code=ResponseCode.POLICY_NOT_EXIST)
    for subject in subjects:
        await admin.access.create_acl(target, acls[subject])
    return Facts({"broker": target, "subjects": subjects}, f"copy acl to {target} success")
