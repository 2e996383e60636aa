"""Headers of access control: ACL 1.0 (50–54) and ACL 2.0 (3001–3010). Secrets stay out of reprs."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.protocol.wire import Header


@dataclass(frozen=True, slots=True)
class CreateAccessConfigRequest(Header):
    """50; topic_perms and group_perms look like `name=PUB|SUB,…`."""

    access_key: str
    secret_key: str | None = field(default=None, repr=False)
    white_remote_address: str | None = None
    admin: bool | None = None
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteAccessConfigRequest(Header):
    """51."""

    access_key: str


@dataclass(frozen=True, slots=True)
class GetBrokerAclConfigResponse(Header):
    """Answer to 52; version is a DataVersion as JSON, all_acl_file_version a JSON map of path to version."""

    version: str
    broker_name: str
    broker_addr: str
    cluster_name: str
    all_acl_file_version: str | None = None


@dataclass(frozen=True, slots=True)
class UpdateGlobalWhiteAddrsConfigRequest(Header):
    """53; the addresses are joined by commas."""

    global_white_addrs: str
    acl_file_full_path: str | None = None


@dataclass(frozen=True, slots=True)
class CreateUserRequest(Header):
    """3001."""

    username: str


UpdateUserRequest = CreateUserRequest
DeleteUserRequest = CreateUserRequest
GetUserRequest = CreateUserRequest


@dataclass(frozen=True, slots=True)
class ListUsersRequest(Header):
    """3005; the filter is a part of the name."""

    filter: str | None = None


@dataclass(frozen=True, slots=True)
class CreateAclRequest(Header):
    """3006; a subject looks like `User:name`."""

    subject: str


UpdateAclRequest = CreateAclRequest
GetAclRequest = CreateAclRequest


@dataclass(frozen=True, slots=True)
class DeleteAclRequest(Header):
    """3008."""

    subject: str
    policy_type: str | None = None
    resource: str | None = None


@dataclass(frozen=True, slots=True)
class ListAclsRequest(Header):
    """3010."""

    subject_filter: str | None = None
    resource_filter: str | None = None
