"""Users and policies (3001–3010) and accounts of ACL 1.0 (54). Passwords and secrets stay out of reprs."""

from __future__ import annotations

from engine.protocol.wire import Body, repr_without


class UserInfo(Body, frozen=True):
    """user_type "Super" or "Normal", user_status "enable" or "disable"; None leaves a member unchanged."""

    username: str | None = None
    password: str | None = None
    user_type: str | None = None
    user_status: str | None = None

    def __repr__(self) -> str:
        return repr_without(self, "password")


class PolicyEntryInfo(Body, frozen=True):
    """resource "Topic:name", "Group:name", "Cluster:name" or "*"; decision "Allow" or "Deny"."""

    resource: str | None = None
    actions: tuple[str, ...] | None = None
    source_ips: tuple[str, ...] | None = None
    decision: str | None = None


class PolicyInfo(Body, frozen=True):
    """policy_type "Custom" or "Default"."""

    policy_type: str | None = None
    entries: tuple[PolicyEntryInfo, ...] | None = None


class AclInfo(Body, frozen=True):
    """subject "User:name"."""

    subject: str | None = None
    policies: tuple[PolicyInfo, ...] | None = None


class PlainAccessConfig(Body, frozen=True):
    """An account of ACL 1.0; perms look like `name=PUB|SUB`."""

    access_key: str = ""
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: tuple[str, ...] = ()
    group_perms: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return repr_without(self, "secret_key")


class AclConfig(Body, frozen=True):
    """Answer to 54."""

    global_white_addrs: tuple[str, ...] = ()
    plain_access_configs: tuple[PlainAccessConfig, ...] = ()
