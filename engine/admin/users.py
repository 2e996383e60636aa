"""Users of access control (ACL 2.0), as mqadmin manages them. No command shows a password."""

from __future__ import annotations

import os

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
from engine.admin.credential_options import asked_password, chosen_password
from engine.client.admin import Admin
from engine.errors import BadInput, NotFound
from engine.protocol.bodies.auth import UserInfo

_USER = Option("u", "username", "user name", "NAME", required=True)
_PASSWORD = Option("p", "password", "seen by all users of this machine; better:", "SECRET")
_PASSWORD_FILE = Option("pf", "passwordFile", "file with the password ($SIGNALBOX_PASSWORD too)", "FILE")
_TYPES, _STATUSES = ("Super", "Normal"), ("enable", "disable")
_TYPE = Option("t", "userType", "Super or Normal", "TYPE", choices=_TYPES)
_PLACES = ("brokerAddr", "clusterName")


@command(
    "createUser",
    "Create a user",
    BROKER,
    CLUSTER,
    _USER,
    _PASSWORD,
    _PASSWORD_FILE,
    _TYPE,
    example="createUser -c DefaultCluster -u alice -pf alice.secret -t Normal",
    one_of=_PLACES,
)
async def create_user(admin: Admin, arguments: Arguments) -> Result:
    password = chosen_password(arguments, os.environ) or asked_password(arguments.username)
    user = UserInfo(arguments.username, password, arguments.userType, None)
    brokers = await every_broker(admin, arguments)
    for broker in brokers:
        await admin.access.create_user(broker, user)
    return _done("create user", brokers, user=user.username)


@command(
    "updateUser",
    "Change a user's password, type or status",
    BROKER,
    CLUSTER,
    _USER,
    _PASSWORD,
    _PASSWORD_FILE,
    _TYPE,
    Option("s", "userStatus", "enable or disable", "STATUS", choices=_STATUSES),
    example="updateUser -c DefaultCluster -u alice -s disable",
    one_of=_PLACES,
)
async def update_user(admin: Admin, arguments: Arguments) -> Result:
    password = chosen_password(arguments, os.environ)
    user = UserInfo(arguments.username, password, arguments.userType, arguments.userStatus)
    if not (user.password or user.user_type or user.user_status):
        raise BadInput("nothing to change: give a password, -t or -s")
    brokers = await every_broker(admin, arguments)
    for broker in brokers:
        await admin.access.update_user(broker, user)
    return _done("update user", brokers, user=user.username)


@command(
    "deleteUser",
    "Delete a user with its policies",
    BROKER,
    CLUSTER,
    _USER,
    example="deleteUser -c DefaultCluster -u alice",
    one_of=_PLACES,
)
async def delete_user(admin: Admin, arguments: Arguments) -> Result:
    brokers = await every_broker(admin, arguments)
    for broker in brokers:
        await admin.access.delete_user(broker, arguments.username)
    return _done("delete user", brokers, user=arguments.username)


@command(
    "getUser",
    "Show a user",
    BROKER,
    CLUSTER,
    _USER,
    example="getUser -b 127.0.0.1:10911 -u alice",
    one_of=_PLACES,
)
async def get_user(admin: Admin, arguments: Arguments) -> Result:
    rows: list[tuple[object, ...]] = []
    for broker in await every_broker(admin, arguments):
        user = await admin.access.user(broker, arguments.username)
        if user is not None:
            rows.append(_row(broker, user))
    if not rows:
        raise NotFound(f"No user with username {arguments.username} was found")
    return _table(rows)


@command(
    "listUser",
    "List users",
    BROKER,
    CLUSTER,
    Option("f", "filter", "part of the name", "TEXT"),
    example="listUser -b 127.0.0.1:10911",
    one_of=_PLACES,
)
async def list_user(admin: Admin, arguments: Arguments) -> Result:
    return _table(
        [
            _row(broker, user)
            for broker in await every_broker(admin, arguments)
            for user in await admin.access.users(broker, arguments.filter)
        ]
    )


@command(
    "copyUser",
    "Copy users to another broker, where they get the password given here",
    Option("f", "fromBroker", "broker to copy from, HOST:PORT", "ADDRESS", required=True),
    Option("t", "toBroker", "broker to copy to, HOST:PORT", "ADDRESS", required=True),
    Option("u", "usernames", "names by commas; without it, all", "NAMES"),
    _PASSWORD,
    _PASSWORD_FILE,
    example="copyUser -f 10.0.0.1:10911 -t 10.0.0.2:10911 -u alice -pf alice.secret",
)
async def copy_user(admin: Admin, arguments: Arguments) -> Result:
    """Brokers tell no passwords, so those of new users are given; users that exist keep theirs."""
    wanted = arguments.usernames.split(",") if arguments.usernames else None
    users = await admin.access.users(arguments.fromBroker)
    chosen = [user for user in users if wanted is None or user.username in wanted]
    password = chosen_password(arguments, os.environ)
    for user in chosen:
        name = user.username or ""
        known = await admin.access.user(arguments.toBroker, name)
        if known is None:
            copy = UserInfo(name, password or asked_password(name), user.user_type, user.user_status)
            await admin.access.create_user(arguments.toBroker, copy)
        else:
            copy = UserInfo(name, password, user.user_type, user.user_status)
            await admin.access.update_user(arguments.toBroker, copy)
    return _done("copy user", [arguments.toBroker], users=[user.username for user in chosen])


def _done(what: str, brokers: list[str], **data: object) -> Facts:
    return Facts({"brokers": brokers, **data}, f"{what} to {', '.join(brokers)} success")


def _row(broker: str, user: UserInfo) -> tuple[object, ...]:
    return broker, user.username, user.user_type, user.user_status


def _table(rows: list[tuple[object, ...]]) -> Table:
    return Table(("Broker", "UserName", "UserType", "UserStatus"), rows)
