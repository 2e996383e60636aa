"""Users (3001–3005) and policies (3006–3010) of ACL 2.0. A subject looks like `User:name`.

No answer holds a password. Only a super user may create, change or delete a super user, whatever the policies
allow.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from engine.access.accounts import ACCESS_FILE, Account, AccountTable, UserStatus, UserType
from engine.access.policies import parse_policies, policy_infos
from engine.access.resources import PolicyType, named_member, not_valid, parse_resource
from engine.broker.admin.refused_codes import switched_on
from engine.errors import NotPermitted, Refused
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Persist, Reply
from engine.protocol.bodies.auth import AclInfo, PolicyInfo, UserInfo
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.auth import (
    CreateAclRequest,
    CreateUserRequest,
    DeleteAclRequest,
    DeleteUserRequest,
    GetAclRequest,
    GetUserRequest,
    ListAclsRequest,
    ListUsersRequest,
    UpdateUserRequest,
)
from engine.protocol.wire import encode_list

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class AccessHandlers:
    users: AccountTable | None
    seal: Callable[[bytes], str]
    account_of: Callable[[Command], Account | None]

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.AUTH_CREATE_USER: self.create,
            RequestCode.AUTH_UPDATE_USER: self.update,
            RequestCode.AUTH_DELETE_USER: self.delete,
            RequestCode.AUTH_GET_USER: self.get,
            RequestCode.AUTH_LIST_USER: self.list,
            RequestCode.AUTH_CREATE_ACL: self.put_policies,
            RequestCode.AUTH_UPDATE_ACL: self.put_policies,
            RequestCode.AUTH_DELETE_ACL: self.delete_policy,
            RequestCode.AUTH_GET_ACL: self.policies_of,
            RequestCode.AUTH_LIST_ACL: self.list_policies,
        }

    @property
    def _users(self) -> AccountTable:
        return switched_on(self.users, "authenticationEnabled=true")

    def create(self, request: Command, client: Connection) -> Outcome:
        users = self._users
        name = _name(CreateUserRequest.decode(request.fields).username)
        info = UserInfo.decode(request.body)
        if not info.password or not info.password.strip():
            raise NotPermitted("password can not be blank")
        is_super = _is_super(info) or False
        self._guard(request, is_super, "create")
        secret = info.password.encode()
        is_enabled = _is_enabled(info) is not False
        users.create(Account(name, secret, self.seal(secret), is_super, is_enabled))
        return self._done(request, client, "created the user", name)

    def update(self, request: Command, client: Connection) -> Outcome:
        users = self._users
        name = _name(UpdateUserRequest.decode(request.fields).username)
        info = UserInfo.decode(request.body)
        known = users.find(name)
        is_super = _is_super(info)
        self._guard(request, bool(is_super) or (known is not None and known.is_super), "update")
        secret = info.password.encode() if info.password and info.password.strip() else None
        users.update(
            name,
            secret=None if secret is None else (secret, self.seal(secret)),
            is_super=is_super,
            is_enabled=_is_enabled(info),
        )
        return self._done(request, client, "changed the user", name)

    def delete(self, request: Command, client: Connection) -> Outcome:
        users = self._users
        name = _name(DeleteUserRequest.decode(request.fields).username)
        known = users.find(name)
        if known is None:
            return Reply()
        self._guard(request, known.is_super, "update")
        users.delete(name)
        return self._done(request, client, "deleted the user", name)

    def get(self, request: Command, client: Connection) -> Outcome:
        users = self._users
        known = users.find(_name(GetUserRequest.decode(request.fields).username))
        return Reply(body=b"" if known is None else _info(known).encode())

    def list(self, request: Command, client: Connection) -> Outcome:
        found = self._users.listed(ListUsersRequest.decode(request.fields).filter)
        return Reply(body=encode_list(map(_info, found)) if found else b"")

    def _guard(self, request: Command, concerns_super: bool, verb: str) -> None:
        caller = self.account_of(request)
        if concerns_super and (caller is None or not caller.is_super):
            raise NotPermitted(f"The super user can only be {verb} by super user")

    def _done(self, request: Command, client: Connection, what: str, name: str) -> Outcome:
        caller = self.account_of(request)
        who = "" if caller is None else caller.name
        log.warning("%r at %s %s %r", who, client.peer_name, what, name)
        return Persist(ACCESS_FILE, Reply())

    # -- policies -------------------------------------------------------------------------------------------

    def put_policies(self, request: Command, client: Connection) -> Outcome:
        """Creating and updating are the same, as in RocketMQ: entries join what the user has."""
        users = self._users
        info = AclInfo.decode(request.body)
        name = _user_of(info.subject or CreateAclRequest.decode(request.fields).subject)
        self._existing(name)
        users.grant(name, parse_policies(info.policies))
        return _noted(client, "changed policies of", name)

    def delete_policy(self, request: Command, client: Connection) -> Outcome:
        users = self._users
        header = DeleteAclRequest.decode(request.fields)
        name = _user_of(header.subject)
        self._existing(name)
        policy = named_member(PolicyType, header.policy_type or PolicyType.CUSTOM.value, "policy type")
        users.revoke(name, policy, parse_resource(header.resource) if header.resource else None)
        return _noted(client, "removed policies of", name)

    def policies_of(self, request: Command, client: Connection) -> Outcome:
        account = self._existing(_user_of(GetAclRequest.decode(request.fields).subject))
        return Reply(body=_policies_info(account).encode() if account.acl else b"")

    def list_policies(self, request: Command, client: Connection) -> Outcome:
        header = ListAclsRequest.decode(request.fields)
        part = (header.subject_filter or "").removeprefix(_SUBJECT)
        infos = [_policies_info(account) for account in self._users.listed(part) if account.acl]
        if header.resource_filter:
            infos = [kept for info in infos if (kept := _filtered(info, header.resource_filter)) is not None]
        return Reply(body=encode_list(infos) if infos else b"")

    def _existing(self, name: str) -> Account:
        account = self._users.find(name)
        if account is None:
            raise not_valid(f"The subject of {_SUBJECT}{name:.200} is not exist.")
        return account


def _noted(client: Connection, what: str, name: str) -> Outcome:
    log.warning("%s %s %r", client.peer_name, what, name)
    return Persist(ACCESS_FILE, Reply())


def _name(text: str) -> str:
    if not text.strip():
        raise Refused("The username is blank", code=ResponseCode.INVALID_PARAMETER)
    return text


def _is_super(info: UserInfo) -> bool | None:
    if not info.user_type:
        return None
    return named_member(UserType, info.user_type, "user type") is UserType.SUPER


def _is_enabled(info: UserInfo) -> bool | None:
    if not info.user_status:
        return None
    return named_member(UserStatus, info.user_status, "user status") is UserStatus.ENABLE


def _info(account: Account) -> UserInfo:
    return UserInfo(account.name, None, account.user_type.value, account.user_status.value)


_SUBJECT = "User:"


def _user_of(subject: str) -> str:
    kind, _, name = subject.partition(":")
    if kind.lower() != "user" or not name:
        raise not_valid(f"the subject {subject!r:.200} is not like User:name")
    return name


def _policies_info(account: Account) -> AclInfo:
    return AclInfo(f"{_SUBJECT}{account.name}", policy_infos(account.acl))


def _filtered(info: AclInfo, part: str) -> AclInfo | None:
    """The entries whose resource holds `part`; None when there is none."""
    policies = []
    for policy in info.policies or ():
        entries = tuple(entry for entry in policy.entries or () if part in (entry.resource or ""))
        if entries:
            policies.append(PolicyInfo(policy.policy_type, entries))
    return AclInfo(info.subject, tuple(policies)) if policies else None
