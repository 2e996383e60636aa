"""Users and policies of ACL 2.0 on a broker. No answer holds a password."""

from __future__ import annotations

from collections.abc import Iterable

from engine.client.admin.part import AdminPart
from engine.protocol.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from engine.protocol.codes import RequestCode
from engine.protocol.headers.auth import (
    CreateAclRequest,
    CreateUserRequest,
    DeleteAclRequest,
    ListAclsRequest,
    ListUsersRequest,
)
from engine.protocol.wire import decode_list

SUBJECT = "User:"


class AccessAdmin(AdminPart):
    # -- users ----------------------------------------------------------------------------------------------

    async def create_user(self, broker: str, user: UserInfo) -> None:
        """3001."""
        await self._put_user(broker, RequestCode.AUTH_CREATE_USER, user)

    async def update_user(self, broker: str, user: UserInfo) -> None:
        """3002: members that are None stay as they are."""
        await self._put_user(broker, RequestCode.AUTH_UPDATE_USER, user)

    async def _put_user(self, broker: str, code: RequestCode, user: UserInfo) -> None:
        await self._call(broker, code, CreateUserRequest(user.username or ""), user.encode())

    async def delete_user(self, broker: str, name: str) -> None:
        """3003: with its policies; a user that does not exist is no error."""
        await self._call(broker, RequestCode.AUTH_DELETE_USER, CreateUserRequest(name))

    async def user(self, broker: str, name: str) -> UserInfo | None:
        """3004."""
        answer = await self._call(broker, RequestCode.AUTH_GET_USER, CreateUserRequest(name))
        return UserInfo.decode(answer.body) if answer.body else None

    async def users(self, broker: str, part: str | None = None) -> list[UserInfo]:
        """3005: those whose name holds `part`."""
        answer = await self._call(broker, RequestCode.AUTH_LIST_USER, ListUsersRequest(part))
        return decode_list(UserInfo, answer.body) if answer.body else []

    # -- policies -------------------------------------------------------------------------------------------

    async def create_acl(self, broker: str, acl: AclInfo) -> None:
        """3006."""
        await self._put_acl(broker, RequestCode.AUTH_CREATE_ACL, acl)

    async def update_acl(self, broker: str, acl: AclInfo) -> None:
        """3007."""
        await self._put_acl(broker, RequestCode.AUTH_UPDATE_ACL, acl)

    async def _put_acl(self, broker: str, code: RequestCode, acl: AclInfo) -> None:
        await self._call(broker, code, CreateAclRequest(acl.subject or ""), acl.encode())

    async def delete_acl(
        self, broker: str, subject: str, resource: str | None = None, policy_type: str | None = None
    ) -> None:
        """3008: the entry of one resource (default: of the custom policy), or everything."""
        header = DeleteAclRequest(subject, policy_type, resource)
        await self._call(broker, RequestCode.AUTH_DELETE_ACL, header)

    async def acl(self, broker: str, subject: str) -> AclInfo | None:
        """3009."""
        answer = await self._call(broker, RequestCode.AUTH_GET_ACL, CreateAclRequest(subject))
        return AclInfo.decode(answer.body) if answer.body else None

    async def acls(
        self, broker: str, subject_part: str | None = None, resource_part: str | None = None
    ) -> list[AclInfo]:
        """3010."""
        header = ListAclsRequest(subject_part, resource_part)
        answer = await self._call(broker, RequestCode.AUTH_LIST_ACL, header)
        return decode_list(AclInfo, answer.body) if answer.body else []


def acl_of(
    subject: str,
    resources: Iterable[str],
    actions: Iterable[str],
    source_ips: Iterable[str] | None = None,
    decision: str = "Allow",
) -> AclInfo:
    """The same actions on each of the resources, as custom policy. A bare name is a user's."""
    given = tuple(source_ips) if source_ips is not None else None
    entries = tuple(PolicyEntryInfo(resource, tuple(actions), given, decision) for resource in resources)
    return AclInfo(subject_of(subject), (PolicyInfo("Custom", entries),))


def subject_of(name: str) -> str:
    return name if name.lower().startswith(SUBJECT.lower()) else SUBJECT + name
