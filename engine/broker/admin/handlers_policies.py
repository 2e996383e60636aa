"""Policies of ACL 2.0 (3006–3010): what users may do. A subject looks like `User:name`."""

from __future__ import annotations

import logging

from engine.access.access_file import ACCESS_FILE
from engine.access.accounts import Account, AccountTable
from engine.access.policies import parse_policies, policy_infos
from engine.access.resources import PolicyType, named_member, not_valid, parse_resource
from engine.broker.admin.refused_codes import access_is_off
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Persist, Reply
from engine.protocol.bodies.auth import AclInfo, PolicyInfo
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.auth import (
    CreateAclRequest,
    DeleteAclRequest,
    GetAclRequest,
    ListAclsRequest,
)
from engine.protocol.wire import encode_list

log = logging.getLogger(__name__)

_SUBJECT = "User:"


class PolicyHandlers:
    def __init__(self, users: AccountTable | None) -> None:
        self._given_users = users

    def routes(self) -> dict[int, Handler]:
        return {
            RequestCode.AUTH_CREATE_ACL: self.put,
            RequestCode.AUTH_UPDATE_ACL: self.put,
            RequestCode.AUTH_DELETE_ACL: self.delete,
            RequestCode.AUTH_GET_ACL: self.get,
            RequestCode.AUTH_LIST_ACL: self.list,
        }

    @property
    def _users(self) -> AccountTable:
        if self._given_users is None:
            raise access_is_off("authenticationEnabled=true")
        return self._given_users

    def put(self, request: Command, client: Connection) -> Outcome:
        """Creating and updating are the same, as in RocketMQ: entries join what the user has."""
        users = self._users
        info = AclInfo.decode(request.body)
        name = _user_of(info.subject or CreateAclRequest.decode(request.fields).subject)
        self._existing(name)
        users.grant(name, parse_policies(info.policies))
        return self._done(client, "changed policies of", name)

    def delete(self, request: Command, client: Connection) -> Outcome:
        users = self._users
        header = DeleteAclRequest.decode(request.fields)
        name = _user_of(header.subject)
        self._existing(name)
        policy = named_member(PolicyType, header.policy_type or PolicyType.CUSTOM.value, "policy type")
        users.revoke(name, policy, parse_resource(header.resource) if header.resource else None)
        return self._done(client, "took policies from", name)

    def get(self, request: Command, client: Connection) -> Outcome:
        account = self._existing(_user_of(GetAclRequest.decode(request.fields).subject))
        return Reply(body=_info(account).encode() if account.acl else b"")

    def list(self, request: Command, client: Connection) -> Outcome:
        header = ListAclsRequest.decode(request.fields)
        part = (header.subject_filter or "").removeprefix(_SUBJECT)
        infos = [_info(account) for account in self._users.listed(part) if account.acl]
        if header.resource_filter:
            infos = [kept for info in infos if (kept := _filtered(info, header.resource_filter)) is not None]
        return Reply(body=encode_list(infos) if infos else b"")

    def _existing(self, name: str) -> Account:
        account = self._users.find(name)
        if account is None:
            raise not_valid(f"The subject of {_SUBJECT}{name:.200} is not exist.")
        return account

    def _done(self, client: Connection, what: str, name: str) -> Outcome:
        log.warning("%s %s %r", client.peer_name, what, name)
        return Persist(ACCESS_FILE, Reply())


def _user_of(subject: str) -> str:
    kind, _, name = subject.partition(":")
    if kind.lower() != "user" or not name:
        raise not_valid(f"the subject {subject!r:.200} is not like User:name")
    return name


def _info(account: Account) -> AclInfo:
    return AclInfo(f"{_SUBJECT}{account.name}", policy_infos(account.acl))


def _filtered(info: AclInfo, part: str) -> AclInfo | None:
    """The entries whose resource holds `part`; None when there is none."""
    policies = []
    for policy in info.policies or ():
        entries = tuple(entry for entry in policy.entries or () if part in (entry.resource or ""))
        if entries:
            policies.append(PolicyInfo(policy.policy_type, entries))
    return AclInfo(info.subject, tuple(policies)) if policies else None
