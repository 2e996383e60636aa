"""Headers of access control: ACL 1.0 (50–54) and ACL 2.0 (3001–3010). Secrets stay out of reprs."""

from __future__ import annotations

from engine.protocol.wire import Header, repr_without


class CreateAccessConfigRequest(Header, frozen=True):
    """50; topic_perms and group_perms look like `name=PUB|SUB,…`."""

    access_key: str
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool | None = None
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None

    def __repr__(self) -> str:
        return repr_without(self, "secret_key")


class DeleteAccessConfigRequest(Header, frozen=True):
    """51."""

    access_key: str


class GetBrokerAclConfigResponse(Header, frozen=True):
    """Answer to 52; version is a DataVersion as JSON, all_acl_file_version a JSON map of path to version."""

    version: str
    broker_name: str
    broker_addr: str
    cluster_name: str
    all_acl_file_version: str | None = None


class UpdateGlobalWhiteAddrsConfigRequest(Header, frozen=True):
    """53; the addresses are joined by commas."""

    global_white_addrs: str
    acl_file_full_path: str | None = None


class CreateUserRequest(Header, frozen=True):
    """3001."""

    username: str


UpdateUserRequest = CreateUserRequest
DeleteUserRequest = CreateUserRequest
GetUserRequest = CreateUserRequest


class ListUsersRequest(Header, frozen=True):
    """3005; the filter is a part of the name."""

    filter: str | None = None


class CreateAclRequest(Header, frozen=True):
    """3006; a subject looks like `User:name`."""

    subject: str


GetAclRequest = CreateAclRequest


class DeleteAclRequest(Header, frozen=True):
    """3008."""

    subject: str
    policy_type: str | None = None
    resource: str | None = None


class ListAclsRequest(Header, frozen=True):
    """3010."""

    subject_filter: str | None = None
    resource_filter: str | None = None
