"""Everything that documents are about, of every master at once: topics, groups, users with their policies.

Three requests per broker whatever the number of objects. A broker without access control has no users: None.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from clusters.gateway import acl, groups, topics
from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.writes import BrokerOutcome, read_each
from engine.client.admin import Admin

Objects = dict[str, dict[str, Any]]


def read_objects(
    address: ClusterAddress, expected: Collection[str], *, with_users: bool
) -> list[BrokerOutcome]:
    """`read_back` is {"topics": {name: spec}, "groups": …, "users": {name: {kind, status, policies}}}."""

    async def read(admin: Admin, at: str) -> Objects:
        found: Objects = {
            "topics": {
                name: topics.spec_of(config) for name, config in (await admin.topics.configs(at)).items()
            },
            "groups": {
                name: groups.spec_of(config) for name, config in (await admin.groups.configs(at)).items()
            },
            "users": await acl.access_at(admin, at, None) if with_users else {},
        }
        return found

    return read_each(address, (), expected, read)
