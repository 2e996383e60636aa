"""Users and what they may do, as one table, and the form of the file that keeps a broker's. Pure.

A change makes a new version of the table, upon which kept decisions go. A user's secret is needed in the
clear to check signatures (HMAC), so it is in memory, and in no repr; on disk it is sealed (`sealing`). An
account is a frozen value: whoever holds one holds a moment. The file is our own, `config/access.json`
(RocketMQ keeps these in RocksDB, which we neither read nor write); the caller reads and writes its bytes.

    {"users": [{"username", "userType", "userStatus", "sealed", "policies": [PolicyInfo]}]}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from engine.access.policies import Acl, merged, parse_policies, policy_infos, without
from engine.access.resources import PolicyType, Resource, not_valid
from engine.access.sealing import Seal
from engine.protocol import fastjson
from engine.protocol.bodies.auth import PolicyInfo
from engine.protocol.wire import Body, repr_without

ACCESS_FILE = "access.json"


class StoredUser(Body, frozen=True):
    username: str
    user_type: str
    user_status: str
    sealed: str
    policies: tuple[PolicyInfo, ...] = ()

    def __repr__(self) -> str:
        return repr_without(self, "sealed")


class StoredUsers(Body, frozen=True):
    users: tuple[StoredUser, ...] = ()


def encode_accounts(accounts: tuple[Account, ...]) -> bytes:
    users = tuple(
        StoredUser(
            account.name,
            account.user_type.value,
            account.user_status.value,
            account.sealed,
            policy_infos(account.acl),
        )
        for account in accounts
    )
    return fastjson.dumps_pretty(StoredUsers(users).to_json())


def decode_accounts(stored: StoredUsers, seal: Seal) -> list[Account]:
    return [
        Account(
            user.username,
            seal.open(user.sealed),
            user.sealed,
            user.user_type == UserType.SUPER.value,
            user.user_status != UserStatus.DISABLE.value,
            parse_policies(user.policies) if user.policies else Acl(),
        )
        for user in stored.users
    ]


MAX_NAME_LENGTH = 256
MAX_USERS = 100_000


class UserType(StrEnum):
    SUPER = "Super"
    NORMAL = "Normal"


class UserStatus(StrEnum):
    ENABLE = "enable"
    DISABLE = "disable"


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    secret: bytes = field(repr=False)
    sealed: str = field(default="", repr=False)
    is_super: bool = False
    is_enabled: bool = True
    acl: Acl = field(default_factory=Acl)
    white_addresses: str = ""
    """Of ACL 1.0: from these addresses the account needs no signature."""

    @property
    def user_type(self) -> UserType:
        return UserType.SUPER if self.is_super else UserType.NORMAL

    @property
    def user_status(self) -> UserStatus:
        return UserStatus.ENABLE if self.is_enabled else UserStatus.DISABLE


class AccountTable:
    """`version` grows with every change. Refusals carry RocketMQ's code 16."""

    def __init__(self, accounts: Iterable[Account] = ()) -> None:
        self._accounts = {account.name: account for account in accounts}
        self.version = 0

    def find(self, name: str) -> Account | None:
        return self._accounts.get(name)

    def all(self) -> tuple[Account, ...]:
        return tuple(self._accounts.values())

    def listed(self, part: str | None) -> list[Account]:
        """Those whose name holds `part`, by name."""
        return [self._accounts[name] for name in sorted(self._accounts) if not part or part in name]

    def create(self, account: Account) -> None:
        check_user_name(account.name)
        if account.name in self._accounts:
            raise not_valid("The user is existed")
        if len(self._accounts) >= MAX_USERS:
            raise not_valid(f"there are {MAX_USERS} users already")
        self._put(account)

    def update(
        self,
        name: str,
        *,
        secret: tuple[bytes, str] | None = None,
        is_super: bool | None = None,
        is_enabled: bool | None = None,
    ) -> None:
        """What is None stays as it is; `secret` comes with its sealed form."""
        account = self._existing(name)
        if secret is not None:
            account = replace(account, secret=secret[0], sealed=secret[1])
        if is_super is not None:
            account = replace(account, is_super=is_super)
        if is_enabled is not None:
            account = replace(account, is_enabled=is_enabled)
        self._put(account)

    def delete(self, name: str) -> bool:
        found = self._accounts.pop(name, None) is not None
        self.version += found
        return found

    def replace_all(self, accounts: Iterable[Account]) -> None:
        self._accounts = {account.name: account for account in accounts}
        self.version += 1

    # -- policies -------------------------------------------------------------------------------------------

    def grant(self, name: str, acl: Acl) -> None:
        """Put these entries into what the user has."""
        account = self._existing(name)
        joined = account.acl
        for policy in PolicyType:
            joined = merged(joined, policy, acl.entries(policy))
        self._put(replace(account, acl=joined))

    def revoke(self, name: str, policy: PolicyType, resource: Resource | None) -> None:
        """Take one resource out of a policy; without a resource, everything."""
        account = self._existing(name)
        if not account.acl:
            raise not_valid("The acl is not exist.")
        left = Acl() if resource is None else without(account.acl, policy, resource)
        self._put(replace(account, acl=left))

    def _existing(self, name: str) -> Account:
        account = self._accounts.get(name)
        if account is None:
            raise not_valid("The user is not exist")
        return account

    def _put(self, account: Account) -> None:
        self._accounts[account.name] = account
        self.version += 1


def check_user_name(name: str) -> None:
    if not name.strip():
        raise not_valid("username can not be blank")
    if len(name) > MAX_NAME_LENGTH or not name.isprintable() or ":" in name:
        raise not_valid(f"a username has up to {MAX_NAME_LENGTH} printable characters and no colon")
