"""The topics of this broker: their configuration, its version, and auto-creation.

Pure: no files, no clock. Invariant: every name in the table is a valid name (`engine.protocol.names`), or the
broker's or cluster's own. A topic that a send created is `unsaved` until topics.json holds it; nothing may be
appended to it before, or a crash would leave acknowledged messages in an unknown topic.
Configurations are frozen, so a snapshot is a shallow copy. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import orjson
from msgspec.structs import replace

from engine.broker.settings.options import BrokerOptions
from engine.broker.topics.auto_creation import AutoCreated
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.topics import (
    PERM_INHERIT,
    PERM_READ_WRITE,
    TOPIC_FLAG_UNIT_SUB,
    TopicConfig,
)
from engine.protocol.codes import ResponseCode
from engine.protocol.fastjson import compact
from engine.protocol.names import (
    BENCHMARK_TOPIC,
    DEFAULT_TOPIC,
    OFFSET_MOVED_EVENT,
    SCHEDULE_TOPIC,
    SELF_TEST_TOPIC,
    TIMER_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    is_valid_topic,
    reply_topic,
    revive_topic,
    sync_member_topic,
)

TOPICS_FILE = "topics.json"
MAX_QUEUES_PER_TOPIC = 65_536
"""RocketMQ has no limit; a typing error in queueNums must not announce a million queues to all clients."""

T = TypeVar("T")
_DELAY_LEVELS = 18
_PERM_ALL = PERM_READ_WRITE | PERM_INHERIT


@dataclass(frozen=True, slots=True)
class TopicsImage:
    """The table at one moment, each topic already in JSON: of 100,000 only changes are encoded anew."""

    topics: dict[str, bytes]
    version: DataVersion

    def encode(self) -> bytes:
        """What topics.json holds."""
        return _encoded(self.topics, self.version, orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2)


@dataclass(frozen=True, slots=True)
class TopicsChange:
    """What changed since the last image or change; None: the topic is deleted."""

    topics: dict[str, bytes | None]
    version: DataVersion

    def encode(self) -> bytes:
        """A line of topics.json.changes."""
        return _encoded(self.topics, self.version)


def _encoded(topics: Mapping[str, bytes | None], version: DataVersion, option: int = 0) -> bytes:
    table = {name: None if topic is None else orjson.Fragment(topic) for name, topic in topics.items()}
    return orjson.dumps({"dataVersion": version.to_json(), "topicConfigTable": table}, option=option)


class ConfigTable(Generic[T]):
    """Configurations by name, the version of the whole table, and which names have changed."""

    def __init__(self, configs: dict[str, T], version: DataVersion, auto_created: AutoCreated) -> None:
        self._configs = configs
        self.version = version
        self.auto_created = auto_created
        self._touched: set[str] = set()
        self._unwritten: set[str] = set()
        self._written_version = version
        self.get = configs.get

    def __len__(self) -> int:
        return len(self._configs)

    def __contains__(self, name: str) -> bool:
        return name in self._configs

    def names(self) -> list[str]:
        return list(self._configs)

    def configs(self) -> dict[str, T]:
        """A snapshot."""
        return dict(self._configs)

    def take_touched(self) -> set[str]:
        """What was added, changed or deleted since the last call; for one caller."""
        touched, self._touched = self._touched, set()
        return touched

    def _put(self, name: str, config: T, now_ms: int) -> bool:
        """Create or replace; False when nothing changed."""
        if self._configs.get(name) == config:
            return False
        self._configs[name] = config
        self._touch((name,))
        self.version = self.version.next_version(now_ms)
        return True

    def _delete(self, name: str, now_ms: int) -> bool:
        if self._configs.pop(name, None) is None:
            return False
        self.auto_created.forget(name)
        self._touch((name,))
        self.version = self.version.next_version(now_ms)
        return True

    def _adopt(self, given: Mapping[str, T], removed: Iterable[str], version: DataVersion) -> None:
        """A slave takes its master's table."""
        for name in removed:
            del self._configs[name]
            self.auto_created.forget(name)
        changed = {name: config for name, config in given.items() if self._configs.get(name) != config}
        self._configs.update(changed)
        self._touch(removed)
        self._touch(changed)
        self.version = version

    def _touch(self, names: Iterable[str]) -> None:
        self._touched.update(names)
        self._unwritten.update(names)

    def _is_written(self) -> bool:
        return not self._unwritten and self.version == self._written_version

    def _written(self) -> None:
        self._unwritten.clear()
        self._written_version = self.version


class TopicTable(ConfigTable[TopicConfig]):
    """`get` on the hot path; everything that changes the table also moves its version on."""

    def __init__(self, configs: Mapping[str, TopicConfig] | None = None, version: DataVersion | None = None):
        valid = {name: config for name, config in (configs or {}).items() if is_valid_topic(name)}
        super().__init__(valid, version or DataVersion(), AutoCreated("topic", ResponseCode.TOPIC_NOT_EXIST))
        self.unsaved: set[str] = set()
        self._changed: set[str] = set()
        self._encoded: dict[str, bytes] = {}
        self.own_count = 0
        """How many of them are the broker's own."""

    def put(self, config: TopicConfig, now_ms: int) -> bool:
        """Create or replace; False when nothing changed."""
        is_changed = self._put(config.topic_name, config, now_ms)
        if is_changed:
            self._changed.add(config.topic_name)
        return is_changed

    def delete(self, name: str, now_ms: int) -> bool:
        self.unsaved.discard(name)
        self._changed.discard(name)
        return self._delete(name, now_ms)

    def adopt(self, configs: Mapping[str, TopicConfig], version: DataVersion) -> list[str]:
        """A slave takes its master's table; returns the deleted names. Only masters register topics with name
        servers, so nothing is left to be announced."""
        removed = [name for name in self._configs if name not in configs]
        valid = {name: config for name, config in configs.items() if is_valid_topic(name)}
        self._adopt(valid, removed, version)
        self._changed.clear()
        return removed

    def _touch(self, names: Iterable[str]) -> None:
        super()._touch(names)
        for name in names:
            self._encoded.pop(name, None)

    def renew_version(self, now_ms: int) -> None:
        """For a change of registration data outside the table: name servers only accept a new version."""
        self.version = self.version.next_version(now_ms)

    def has_changed(self) -> bool:
        return bool(self._changed)

    def take_changed(self) -> dict[str, TopicConfig]:
        """Topics not registered with name servers since their change; the list is cleared."""
        changed, self._changed = self._changed, set()
        return {name: self._configs[name] for name in changed}

    def check_room(self, name: str, host: str) -> None:
        """Refused above the limits of auto-created topics."""
        self.auto_created.check(name, host, len(self._configs) - self.own_count)

    def create_unsaved(self, config: TopicConfig, now_ms: int, host: str | None = None) -> TopicConfig:
        """A new topic that must be on disk before anything is stored in it. `host`: the client that the
        limits of auto-creation apply to; None: no limit."""
        if host is not None:
            self.check_room(config.topic_name, host)
            self.auto_created.note(config.topic_name, host)
        self.put(config, now_ms)
        self.unsaved.add(config.topic_name)
        return config

    def image(self) -> TopicsImage:
        """All of it, for the disk."""
        encoded = self._encoded
        for name in self._configs.keys() - encoded.keys():
            encoded[name] = compact(self._configs[name].encode())
        self._written()
        return TopicsImage(dict(encoded), self.version)

    def take_change(self) -> TopicsChange | None:
        """The changes since the last image or change that was taken for the disk."""
        if self._is_written():
            return None
        change = TopicsChange({name: self._encode(name) for name in self._unwritten}, self.version)
        self._written()
        return change

    def _encode(self, name: str) -> bytes | None:
        config = self._configs.get(name)
        if config is None:
            return None
        encoded = self._encoded[name] = compact(config.encode())
        return encoded

    def saved(self, taken: TopicsImage | TopicsChange) -> None:
        """It is on disk."""
        self.unsaved.difference_update(taken.topics)


def plan_auto_creation(
    topic: str,
    default: TopicConfig | None,
    asked_queue_nums: int,
    is_enabled: bool,
    sys_flag: int = 0,
) -> TopicConfig | None:
    """The configuration that a send to an unknown `topic` inherits from `default`; None: not allowed."""
    if default is None or not default.is_inheritable:
        return None
    if default.topic_name == DEFAULT_TOPIC and not is_enabled:
        return None
    queue_nums = max(0, min(asked_queue_nums, default.write_queue_nums))
    return TopicConfig(
        topic_name=topic,
        read_queue_nums=queue_nums,
        write_queue_nums=queue_nums,
        perm=default.perm & ~PERM_INHERIT,
        topic_filter_type=default.topic_filter_type,
        topic_sys_flag=sys_flag,
    )


def retry_topic_config(topic: str, queue_nums: int = 1, is_unit: bool = False) -> TopicConfig:
    """The topic behind a group's redeliveries (and its dead letters)."""
    flag = TOPIC_FLAG_UNIT_SUB if is_unit else 0
    return TopicConfig(topic, queue_nums, queue_nums, PERM_READ_WRITE, topic_sys_flag=flag)


def system_topics(
    cluster: str, broker: str, default_queue_nums: int, is_auto_create: bool, trace_topic: str | None
) -> list[TopicConfig]:
    """What every broker has from its start."""
    topics = [
        (SELF_TEST_TOPIC, 1, PERM_READ_WRITE),
        (BENCHMARK_TOPIC, 1024, PERM_READ_WRITE),
        (cluster, 16, _PERM_ALL),
        (broker, 1, _PERM_ALL),
        (OFFSET_MOVED_EVENT, 1, PERM_READ_WRITE),
        (SCHEDULE_TOPIC, _DELAY_LEVELS, PERM_READ_WRITE),
        (reply_topic(cluster), 1, PERM_READ_WRITE),
        (revive_topic(cluster), 8, PERM_READ_WRITE),
        (sync_member_topic(broker), 1, PERM_INHERIT),
        (TRANS_HALF_TOPIC, 1, PERM_READ_WRITE),
        (TRANS_OP_HALF_TOPIC, 1, PERM_READ_WRITE),
        (TIMER_TOPIC, 1, PERM_READ_WRITE),
    ]
    if is_auto_create:
        topics.append((DEFAULT_TOPIC, default_queue_nums, _PERM_ALL))
    if trace_topic:
        topics.append((trace_topic, 1, PERM_READ_WRITE))
    return [TopicConfig(name, queues, queues, perm) for name, queues, perm in topics]


def add_system_topics(table: TopicTable, wanted: Iterable[TopicConfig], now_ms: int) -> None:
    """Creates the missing ones; those changed by an operator or an older broker stay as they are.

    Except TBW102: auto-creation needs it, and an earlier start may have withdrawn it.
    """
    wanted = list(wanted)
    for config in wanted:
        if config.topic_name == DEFAULT_TOPIC:
            offer_default_topic(table, config.write_queue_nums, now_ms)
        # A broker named like host.example has no valid topic of its own; nothing needs it.
        if config.topic_name not in table and is_valid_topic(config.topic_name):
            table.put(config, now_ms)
    table.own_count = sum(1 for config in wanted if config.topic_name in table)


def add_own_topics(table: TopicTable, options: BrokerOptions, now_ms: int) -> None:
    """The topics that this broker itself needs, created where they are missing."""
    live = options.live
    wanted = system_topics(
        options.broker_cluster_name,
        options.broker_name,
        live.default_topic_queue_nums,
        live.auto_create_topic_enable,
        options.msg_trace_topic_name if options.trace_topic_enable else None,
    )
    add_system_topics(table, wanted, now_ms)
    if not live.auto_create_topic_enable:
        withdraw_default_topic(table, now_ms)


def withdraw_default_topic(table: TopicTable, now_ms: int) -> None:
    """With auto-creation off, TBW102 is not inheritable for clients."""
    default = table.get(DEFAULT_TOPIC)
    if default is not None and default.is_inheritable:
        table.put(replace(default, perm=PERM_READ_WRITE), now_ms)


def offer_default_topic(table: TopicTable, queue_nums: int, now_ms: int) -> None:
    """With auto-creation on (again), TBW102 is inheritable."""
    default = table.get(DEFAULT_TOPIC) or TopicConfig(DEFAULT_TOPIC, queue_nums, queue_nums)
    table.put(replace(default, perm=_PERM_ALL), now_ms)
