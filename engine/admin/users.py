"""Users of access control (ACL 2.0), as mqadmin manages them. No command shows a password."""

from __future__ import annotations

import os

from engine.admin.access_commands import Rows, access_command, change_everywhere, changed, rows_everywhere
from engine.admin.commands import Arguments, Option, Result, Table, command
from engine.admin.credential_options import asked_password, chosen_password
from engine.client.admin import Admin
from engine.errors import BadInput, NotFound
from engine.protocol.bodies.auth import UserInfo

_USER = Option("u", "username", "user name", "NAME", required=True)
_PASSWORD = Option("p", "password", "seen by all users of this machine; better:", "SECRET")
_PASSWORD_FILE = Option("pf", "passwordFile", "file with the password ($SIGNALBOX_PASSWORD too)", "FILE")
_TYPES, _STATUSES = ("Super", "Normal"), ("enable", "disable")
_TYPE = Option("t", "userType", "Super or Normal", "TYPE", choices=_TYPES)


@access_command(
    "createUser",
    "Create a user",
    _USER,
    _PASSWORD,
    _PASSWORD_FILE,
    _TYPE,
    example="createUser -c DefaultCluster -u alice -pf alice.secret -t Normal",
)
async def create_user(admin: Admin, arguments: Arguments) -> Result:
    password = chosen_password(arguments, os.environ) or asked_password(arguments.username)
    user = UserInfo(arguments.username, password, arguments.userType, None)

    async def create(broker: str) -> None:
        await admin.access.create_user(broker, user)

    return await change_everywhere(admin, arguments, "create user", create, user=user.username)


@access_command(
    "updateUser",
    "Change a user's password, type or status",
    _USER,
    _PASSWORD,
    _PASSWORD_FILE,
    _TYPE,
    Option("s", "userStatus", "enable or disable", "STATUS", choices=_STATUSES),
    example="updateUser -c DefaultCluster -u alice -s disable",
)
async def update_user(admin: Admin, arguments: Arguments) -> Result:
    password = chosen_password(arguments, os.environ)
    user = UserInfo(arguments.username, password, arguments.userType, arguments.userStatus)
    if not (user.password or user.user_type or user.user_status):
        raise BadInput("nothing to change: give a password, -t or -s")

    async def update(broker: str) -> None:
        await admin.access.update_user(broker, user)

    return await change_everywhere(admin, arguments, "update user", update, user=user.username)


@access_command(
    "deleteUser",
    "Delete a user with its policies",
    _USER,
    example="deleteUser -c DefaultCluster -u alice",
)
async def delete_user(admin: Admin, arguments: Arguments) -> Result:
    name = arguments.username

    async def delete(broker: str) -> None:
        await admin.access.delete_user(broker, name)

    return await change_everywhere(admin, arguments, "delete user", delete, user=name)


@access_command(
    "getUser",
    "Show a user",
    _USER,
    example="getUser -b 127.0.0.1:10911 -u alice",
)
async def get_user(admin: Admin, arguments: Arguments) -> Result:
    async def found(broker: str) -> Rows:
        user = await admin.access.user(broker, arguments.username)
        return _rows(broker, [] if user is None else [user])

    rows = await rows_everywhere(admin, arguments, found)
    if not rows:
        raise NotFound(f"No user with username {arguments.username} was found")
    return _table(rows)


@access_command(
    "listUser",
    "List users",
    Option("f", "filter", "part of the name", "TEXT"),
    example="listUser -b 127.0.0.1:10911",
)
async def list_user(admin: Admin, arguments: Arguments) -> Result:
    async def listed(broker: str) -> Rows:
        return _rows(broker, await admin.access.users(broker, arguments.filter))

    return _table(await rows_everywhere(admin, arguments, listed))


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
    return changed("copy user", [arguments.toBroker], users=[user.username for user in chosen])


def _rows(broker: str, users: list[UserInfo]) -> Rows:
    return [(broker, user.username, user.user_type, user.user_status) for user in users]


def _table(rows: Rows) -> Table:
    return Table(("Broker", "UserName", "UserType", "UserStatus"), rows)
