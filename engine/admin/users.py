"""Users of access control (ACL 2.0), as mqadmin manages them. No command shows a password."""

from __future__ import annotations

import os

from engine.admin.argument_types import comma_list
from engine.admin.broker_targets import COPY_OPTIONS, broker_command, change_brokers, chosen_brokers
from engine.admin.commands import Arguments, Option, command
from engine.admin.credential_options import asked_password, chosen_password
from engine.admin.results import Facts, Result, Row, Table
from engine.client import Admin
from engine.errors import BadInput, NotFound
from engine.protocol.bodies.auth import UserInfo
from engine.protocol.codes import ResponseCode

_COLUMNS = ("Broker", "UserName", "UserType", "UserStatus")
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
    rows = [_row(broker, user) for broker in brokers if (user := await admin.access.user(broker, name))]
    if not rows:
        raise NotFound(f"no user is called {name}", code=ResponseCode.USER_NOT_EXIST)
    return Table(_COLUMNS, rows)


@broker_command("listUser", "List users", Option("f", "filter", "part of the name", "TEXT"))
async def list_user(admin: Admin, arguments: Arguments) -> Result:
    rows = [
        _row(broker, user)
        for broker in await chosen_brokers(admin, arguments)
        for user in await admin.access.users(broker, arguments.filter)
    ]
    return Table(_COLUMNS, rows)


def _row(broker: str, user: UserInfo) -> Row:
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
