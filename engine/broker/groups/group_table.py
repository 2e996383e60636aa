"""Consumer groups of this broker: who may consume, and the topics that a group is forbidden to read.

Pure. An unknown group is created when first seen, if that is allowed; system groups always are. Names are
checked first. Configurations are frozen, so a snapshot is a shallow copy. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import orjson

from engine.broker.settings.options import LiveOptions
from engine.broker.topics.auto_creation import AutoCreated
from engine.broker.topics.topic_rules import no_such_group
from engine.broker.topics.topic_table import ConfigTable
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.groups import (
    FORBIDDEN_READ_BIT,
    SubscriptionGroupConfig,
    SubscriptionGroupWrapper,
)
from engine.protocol.codes import ResponseCode
from engine.protocol.names import SYSTEM_GROUPS, is_system_group, is_valid_group

GROUPS_FILE = "subscriptionGroup.json"


@dataclass(frozen=True, slots=True)
class GroupsChange:
    """What changed since the last snapshot or change; None: the group, or its forbidden topics, are gone."""

    groups: dict[str, SubscriptionGroupConfig | None]
    forbidden: dict[str, dict[str, int] | None]
    version: DataVersion

    def encode(self) -> bytes:
        """A line of subscriptionGroup.json.changes."""
        table = {name: None if config is None else config.to_json() for name, config in self.groups.items()}
        version = self.version.to_json()
        return orjson.dumps(
            {"dataVersion": version, "subscriptionGroupTable": table, "forbiddenTable": self.forbidden}
        )


class SubscriptionGroupTable(ConfigTable[SubscriptionGroupConfig]):
    def __init__(self, stored: SubscriptionGroupWrapper | None = None) -> None:
        stored = stored or SubscriptionGroupWrapper()
        groups = stored.subscription_group_table
        valid = {name: config for name, config in groups.items() if is_valid_group(name)}
        auto_created = AutoCreated("group", ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
        super().__init__(valid, stored.data_version, auto_created)
        self._forbidden = {group: dict(topics) for group, topics in stored.forbidden_table.items()}

    def put(self, config: SubscriptionGroupConfig, now_ms: int) -> bool:
        """Create or replace; False when nothing changed."""
        return self._put(config.group_name, config, now_ms)

    def delete(self, group: str, now_ms: int) -> bool:
        if group in self:
            self._forbidden.pop(group, None)
        return self._delete(group, now_ms)

    def adopt(self, wrapper: SubscriptionGroupWrapper) -> list[str]:
        """A slave takes its master's table; returns the deleted names. System groups stay."""
        given = wrapper.subscription_group_table
        removed = [name for name in self._configs if name not in given and not is_system_group(name)]
        valid = {name: config for name, config in given.items() if is_valid_group(name)}
        self._unwritten.update(self._forbidden, wrapper.forbidden_table)
        self._forbidden = {group: dict(topics) for group, topics in wrapper.forbidden_table.items()}
        self._adopt(valid, removed, wrapper.data_version)
        return removed

    def find_or_create(
        self, group: str, is_auto_create: bool, now_ms: int, host: str | None = None
    ) -> tuple[SubscriptionGroupConfig | None, bool]:
        """The group and whether it is new; None when it is unknown and may not be created. `host`: the client
        that the limits of auto-creation apply to; None: no limit."""
        config = self._configs.get(group)
        if config is not None:
            return config, False
        if not is_valid_group(group) or not (is_auto_create or is_system_group(group)):
            return None, False
        if host is not None and not is_system_group(group):
            self.auto_created.check(group, host, len(self._configs) - len(SYSTEM_GROUPS))
            self.auto_created.note(group, host)
        config = SubscriptionGroupConfig(group_name=group)
        self.put(config, now_ms)
        return config, True

    def is_read_forbidden(self, group: str, topic: str) -> bool:
        topics = self._forbidden.get(group)
        return topics is not None and bool(topics.get(topic, 0) & 1 << FORBIDDEN_READ_BIT)

    def set_readable(self, group: str, topic: str, readable: bool, now_ms: int) -> None:
        topics = self._forbidden.setdefault(group, {})
        bits = topics.get(topic, 0)
        bits = bits & ~(1 << FORBIDDEN_READ_BIT) if readable else bits | 1 << FORBIDDEN_READ_BIT
        if bits:
            topics[topic] = bits
        else:
            topics.pop(topic, None)
        if not topics:
            del self._forbidden[group]
        self._unwritten.add(group)
        self.version = self.version.next_version(now_ms)

    def forbidden(self) -> Mapping[str, Mapping[str, int]]:
        return self._forbidden

    def snapshot(self) -> SubscriptionGroupWrapper:
        """What subscriptionGroup.json holds."""
        forbidden = {group: dict(topics) for group, topics in self._forbidden.items()}
        self._written()
        return SubscriptionGroupWrapper(self.configs(), forbidden, self.version)

    def take_change(self) -> GroupsChange | None:
        """The changes since the last snapshot or change that was taken for the disk."""
        if self._is_written():
            return None
        names = self._unwritten
        forbidden = {name: dict(topics) if (topics := self._forbidden.get(name)) else None for name in names}
        change = GroupsChange({name: self._configs.get(name) for name in names}, forbidden, self.version)
        self._written()
        return change


@dataclass(eq=False, repr=False)
class GroupAdmission:
    """The group of a request; an unknown one is created where autoCreateSubscriptionGroup allows it."""

    table: SubscriptionGroupTable
    live: LiveOptions
    save: Callable[[str], None]

    def find(self, name: str, now_ms: int, host: str | None = None) -> SubscriptionGroupConfig | None:
        """`host`: the client that the limits of auto-creation apply to."""
        may_create = self.live.auto_create_subscription_group
        group, is_new = self.table.find_or_create(name, may_create, now_ms, host)
        if is_new:
            self.save(GROUPS_FILE)
        return group

    def admit(self, name: str, now_ms: int, host: str) -> SubscriptionGroupConfig:
        group = self.find(name, now_ms, host)
        if group is None:
            raise no_such_group(name)
        return group


def add_system_groups(table: SubscriptionGroupTable, now_ms: int) -> None:
    """Creates the missing ones of the groups that every broker has."""
    for group in sorted(SYSTEM_GROUPS):
        if group not in table:
            table.put(SubscriptionGroupConfig(group_name=group), now_ms)
