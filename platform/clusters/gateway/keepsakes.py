"""What a cluster's brokers hold besides messages (topics, groups, offsets), taken along and put back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clusters.gateway.addressing import ClusterAddress
from clusters.gateway.connections import ask
from engine.client.admin import Admin
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.names import is_system_group, is_system_topic

DEADLINE_S = 30.0


def take(address: ClusterAddress, masters: Mapping[str, str]) -> dict[str, Any]:
    """By broker name: `topics` and `groups` as configured, `offsets` as `topic@group` → queue → offset."""

    async def asked(admin: Admin) -> dict[str, Any]:
        return {
            name: await _of_broker(admin, at, address.broker_cluster_name, name)
            for name, at in masters.items()
        }

    return ask(address, asked, deadline_s=DEADLINE_S)


async def _of_broker(admin: Admin, broker: str, cluster: str, name: str) -> dict[str, Any]:
    topics = await admin.topics.configs(broker)
    groups = await admin.groups.configs(broker)
    offsets = await admin.offsets.all_on_broker(broker)
    return {
        "topics": {
            topic: json.loads(config.encode())
            for topic, config in topics.items()
            if not is_system_topic(topic, cluster, name)
        },
        "groups": {
            group: json.loads(config.encode())
            for group, config in groups.items()
            if not is_system_group(group)
        },
        "offsets": {key: {str(q): at for q, at in queues.items()} for key, queues in offsets.items()},
    }


def put_back(address: ClusterAddress, broker: str, kept: Mapping[str, Any]) -> None:
    """Topics and groups; the same again changes nothing."""
    topics = [TopicConfig.decode(json.dumps(each).encode()) for each in kept.get("topics", {}).values()]
    groups = [
        SubscriptionGroupConfig.decode(json.dumps(each).encode()) for each in kept.get("groups", {}).values()
    ]

    async def told(admin: Admin) -> None:
        if topics:
            await admin.topics.create_many(broker, topics)
        if groups:
            await admin.groups.create_many(broker, groups)

    ask(address, told, deadline_s=DEADLINE_S)
