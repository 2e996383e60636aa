"""The users of a broker as a file of our own, `config/access.json`: names and policies plain, secrets sealed.

    {"users": [{"username", "userType", "userStatus", "sealed", "policies": [PolicyInfo]}]}

RocketMQ keeps these in RocksDB, which we neither read nor write. Pure; the caller reads and writes the bytes.
"""

from __future__ import annotations

from engine.access.accounts import Account, UserStatus, UserType
from engine.access.policies import Acl, parse_policies, policy_infos
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
