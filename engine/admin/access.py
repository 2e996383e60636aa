"""Access control (ACL 2.0): users and policies, as mqadmin manages them. No command shows a password."""

from __future__ import annotations

import os

from engine.admin.arguments import comma_list
from engine.admin.broker_targets import COPY_OPTIONS, broker_command, change_brokers, chosen_brokers
from engine.admin.commands import Arguments, Option, command
from engine.admin.credentials import asked_password, chosen_password
from engine.admin.results import Facts, Result, Row, Table
from engine.client import Admin
from engine.client.admin.access import acl_of, subject_of
from engine.errors import BadInput, NotFound
from engine.protocol.bodies.auth import AclInfo, UserInfo
from engine.protocol.codes import ResponseCode

_USER_COLUMNS = ("Broker", "UserName", "UserType", "UserStatus")
_USER = Option("u", "username", "user name", "USER", required=True)
_PASSWORD = (
    Option("p", "password", "visible to all users of this machine; better:", "SECRET"),
    Option("pf", "passwordFile", "file with the password (or $SIGNALBOX_PASSWORD)", "FILE"),
)
_TYPE = Option("t", "userType", "Super or Normal", "TYPE", choices=("Super", "Normal"))


@broker_command(
    "createUser",
    "Create a user",
    _USER,
    *_PASSWORD,
    _TYPE,
    example="createUser -c DefaultCluster -u alice -pf alice.secret -t Normal",
)
async def create_user(admin: Admin, arguments: Arguments) -> Result:
    name = arguments.username
    password = chosen_password(arguments, os.environ) or asked_password(name)
    user = UserInfo(name, password, arguments.userType, None)
    brokers = await chosen_brokers(admin, arguments)
    return await change_brokers(brokers, "create user", admin.access.create_user, user, user=name)


@broker_command(
    "updateUser",
    "Change the password, type or status of a user",
    _USER,
    *_PASSWORD,
    _TYPE,
    Option("s", "userStatus", "enable or disable", "STATUS", choices=("enable", "disable")),
    example="updateUser -c DefaultCluster -u alice -s disable",
)
async def update_user(admin: Admin, arguments: Arguments) -> Result:
    name = arguments.username
    password = chosen_password(arguments, os.environ)
    user = UserInfo(name, password, arguments.userType, arguments.userStatus)
    if not (user.password or user.user_type or user.user_status):
        raise BadInput("nothing to change: give a password, -t or -s")
    brokers = await chosen_brokers(admin, arguments)
    return await change_brokers(brokers, "update user", admin.access.update_user, user, user=name)


@broker_command("deleteUser", "Delete a user with its policies", _USER)
async def delete_user(admin: Admin, arguments: Arguments) -> Result:
    brokers, name = await chosen_brokers(admin, arguments), arguments.username
    return await change_brokers(brokers, "delete user", admin.access.delete_user, name, user=name)


@broker_command("getUser", "Show a user", _USER)
async def get_user(admin: Admin, arguments: Arguments) -> Result:
    name = arguments.username
    brokers = await chosen_brokers(admin, arguments)
    rows = [_user_row(broker, user) for broker in brokers if (user := await admin.access.user(broker, name))]
    if not rows:
        raise NotFound(f"no user is called {name}", code=ResponseCode.USER_NOT_EXIST)
    return Table(_USER_COLUMNS, rows)


@broker_command("listUser", "List users", Option("f", "filter", "part of the name", "TEXT"))
async def list_user(admin: Admin, arguments: Arguments) -> Result:
    rows = [
        _user_row(broker, user)
        for broker in await chosen_brokers(admin, arguments)
        for user in await admin.access.users(broker, arguments.filter)
    ]
    return Table(_USER_COLUMNS, rows)


def _user_row(broker: str, user: UserInfo) -> Row:
    return (broker, user.username, user.user_type, user.user_status)


@command(
    "copyUser",
    "Copy users to another broker; new ones get the password given here",
    *COPY_OPTIONS,
    Option("u", "usernames", "names by commas; without it, all", "NAMES", comma_list),
    *_PASSWORD,
    example="copyUser -f 10.0.0.1:10911 -t 10.0.0.2:10911 -u alice -pf alice.secret",
)
async def copy_user(admin: Admin, arguments: Arguments) -> Result:
    """Brokers never send passwords, so new users need one; existing users keep theirs unless one is given."""
    target = arguments.toBroker
    users = {user.username or "": user for user in await admin.access.users(arguments.fromBroker)}
    names = arguments.usernames or list(users)
    if missing := [name for name in names if name not in users]:
        raise NotFound(f"no user is called {', '.join(missing)}", code=ResponseCode.USER_NOT_EXIST)
    password = chosen_password(arguments, os.environ)
    for name in names:
        user = users[name]
        if await admin.access.user(target, name) is None:
            new = UserInfo(name, password or asked_password(name), user.user_type, user.user_status)
            await admin.access.create_user(target, new)
        else:
            changed = UserInfo(name, password, user.user_type, user.user_status)
            await admin.access.update_user(target, changed)
    return Facts({"brokers": [target], "users": names}, f"copy user to {target} success")


_POLICY_COLUMNS = ("Broker", "Subject", "PolicyType", "Resource", "Actions", "SourceIp", "Decision")
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
    return Table(_POLICY_COLUMNS, rows)


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
