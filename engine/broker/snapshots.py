"""The broker as a collector sees it: everything that changed since the version it has seen last.

    broker    who this is; does not change while it runs
    rates     messages and pulls per second over the last ten seconds
    disk      how full it is
    log       the commit log's offsets
    ha        this broker's role and its slaves
    topics    configuration, and per queue with messages [queue id, min offset, max offset]
    groups    members [client id, address, language, version] and subscriptions {topic: [expression, type]} of
              every group; no members: nobody is online
    offsets   "topic@group": per queue [id, committed] or [id, committed, store time of the oldest unread]

What is not known is absent, never 0: a queue without a committed offset, a time that could not be read. None
means: gone. Tables note what was touched (a set each); a refresh looks at that alone, in slices, and a
journal keeps what really became different. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import orjson

from engine.broker.consumers import ConsumerTable
from engine.broker.disk_room import DiskRoom
from engine.broker.groups import SubscriptionGroupTable
from engine.broker.journal import Journal
from engine.broker.offsets import ConsumerOffsets
from engine.broker.stats import BrokerStats
from engine.broker.topics import TopicTable
from engine.net.connection import Connection
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.heartbeats import ConsumeType, MessageModel
from engine.protocol.bodies.topics import TopicConfig
from engine.store.message_store import MessageStore

SLICE = 64
"""Entries that are looked at in one go: a millisecond at most."""
MAX_TIME_READS = 1_000
"""Store times that one refresh reads from the log. The others are not known yet: they come with the next."""

Key = tuple[str, str]
"""(section, name); sections with one value only have the name ""."""

TOPICS, GROUPS, OFFSETS = "topics", "groups", "offsets"
_dumps = orjson.dumps
_MODELS = {model: model.name for model in MessageModel}
_TYPES = {kind: kind.name for kind in ConsumeType}


class Snapshots:
    def __init__(
        self,
        broker: dict[str, object],
        topics: TopicTable,
        groups: SubscriptionGroupTable,
        offsets: ConsumerOffsets,
        consumers: ConsumerTable[Connection],
        store: MessageStore,
        stats: BrokerStats,
        disk: DiskRoom,
        ha_state: Callable[[], dict[str, object]],
    ) -> None:
        self._topics = topics
        self._groups = groups
        self._offsets = offsets
        self._consumers = consumers
        self._store = store
        self._stats = stats
        self._disk = disk
        self._ha_state = ha_state
        self._topics_version: DataVersion | None = None
        self._groups_version: DataVersion | None = None
        self._log_min_offset = -1
        self._seen_topics: dict[str, TopicConfig] = {}
        self._known_groups: set[str] = set()
        self._unfinished: set[tuple[str, str]] = set()
        self._time_reads_left = 0
        self._bounds: dict[tuple[str, int], tuple[int, int]] = {}
        self._entries: dict[tuple[str, int, int], tuple[int, ...]] = {}
        self._times: dict[tuple[str, int], tuple[int, int]] = {}
        """Per queue the last offset whose store time was read, and that time."""
        self.journal: Journal[Key] = Journal()
        self.journal.put(("broker", ""), orjson.dumps(broker))

    def refresh(self, now_ms: int) -> Iterator[None]:
        """Bring the journal up to date; stops after every slice, so that others may run."""
        topics, groups, pairs = self._take_touched()
        self._time_reads_left = MAX_TIME_READS
        self._bounds.clear()
        self._entries.clear()
        self._put_singles(now_ms)
        yield from _sliced(map(self._put_topic, topics))
        yield from _sliced(map(self._put_group, groups))
        yield from _sliced(map(self._put_offsets, pairs))

    # -- what to look at ------------------------------------------------------------------------------------

    def _take_touched(self) -> tuple[set[str], set[str], set[tuple[str, str]]]:
        topics = {topic for topic, _ in self._store.take_touched_queues()}
        pairs = self._offsets.take_changed() | self._unfinished
        self._unfinished = set()
        if self._topics_version is None:
            pairs.update(self._offsets.pairs())
        # A new message may be the oldest unread one of a group that had consumed everything.
        pairs.update((topic, group) for topic in topics for group in self._offsets.groups_of(topic))
        if self._topics.version != self._topics_version:
            self._topics_version = self._topics.version
            topics |= self._changed_topics()
        if self._store.commit_log_min_offset != self._log_min_offset:
            self._log_min_offset = self._store.commit_log_min_offset
            topics |= set(self._topics.names())
        return topics, self._touched_groups(), pairs

    def _touched_groups(self) -> set[str]:
        groups = self._consumers.take_changed()
        if self._groups.version != self._groups_version:
            self._groups_version = self._groups.version
            known = set(self._groups.names())
            groups |= known ^ self._known_groups
            self._known_groups = known
        return groups

    def _changed_topics(self) -> set[str]:
        """Configurations are frozen: another one is another object."""
        seen, now = self._seen_topics, self._topics.configs()
        self._seen_topics = now
        changed = {name for name, config in now.items() if seen.get(name) is not config}
        return changed | (seen.keys() - now.keys())

    # -- what there is --------------------------------------------------------------------------------------

    def _put(self, section: str, name: str, value: object) -> None:
        self.journal.put((section, name), None if value is None else _dumps(value))

    def _put_singles(self, now_ms: int) -> None:
        store = self._store
        rates = self._stats.rates(now_ms, 10)
        self._put(
            "rates",
            "",
            {
                "put": round(rates.put, 1),
                "got": round(rates.got, 1),
                "pullsFound": round(rates.pulls_found, 1),
                "pullsMissed": round(rates.pulls_missed, 1),
            },
        )
        self._put("disk", "", {"usageRatio": round(self._disk.usage_ratio, 3)})
        self._put(
            "log",
            "",
            {
                "minOffset": store.commit_log_min_offset,
                "maxOffset": store.commit_log_max_offset,
                "flushedOffset": store.flushed_offset,
                "dispatchedOffset": store.dispatched_offset,
            },
        )
        self._put("ha", "", self._ha_state())

    def _put_topic(self, name: str) -> None:
        config = self._topics.get(name)
        if config is None:
            self._put(TOPICS, name, None)
            return
        count = max(config.read_queue_nums, config.write_queue_nums)
        value: dict[str, object] = {
            "readQueues": config.read_queue_nums,
            "writeQueues": config.write_queue_nums,
            "perm": config.perm,
            "isOrdered": config.order,
            "queues": [
                (queue_id, *bounds)
                for queue_id in range(count)
                if (bounds := self._bounds_of(name, queue_id))[1]
            ],
        }
        self._put(TOPICS, name, value)

    def _put_group(self, name: str) -> None:
        online = self._consumers.group(name)
        if online is None:
            self._put(GROUPS, name, {"members": []} if name in self._groups else None)
            return
        members = [
            (info.client_id, channel.peer_name, info.language, info.version)
            for channel, info in online.clients.items()
        ]
        if len(members) > 1:
            members.sort()
        value = {
            "members": members,
            "model": _MODELS[online.message_model],
            "type": _TYPES[online.consume_type],
            "subscriptions": {
                topic: (data.sub_string, data.expression_type) for topic, data in online.subscriptions.items()
            },
        }
        self._put(GROUPS, name, value)

    def _put_offsets(self, pair: tuple[str, str]) -> None:
        topic, group = pair
        entries = self._entries
        value: list[tuple[int, ...]] = []
        for queue_id, committed in self._offsets.queues(topic, group).items():
            # Groups that stand at the same place of a queue have the same entry.
            key = topic, queue_id, committed
            entry = entries.get(key)
            if entry is None:
                entry = self._entry(pair, queue_id, committed)
            if entry:
                value.append(entry)
        self._put(OFFSETS, f"{topic}@{group}", value or None)

    def _entry(self, pair: tuple[str, str], queue_id: int, committed: int) -> tuple[int, ...]:
        if committed < 0:
            return ()
        oldest_ms = self._oldest_unread_ms(pair, queue_id, committed)
        if oldest_ms is None:
            return queue_id, committed
        entry = self._entries[pair[0], queue_id, committed] = queue_id, committed, oldest_ms
        return entry

    def _bounds_of(self, topic: str, queue_id: int) -> tuple[int, int]:
        """Lowest offset and end; read once per refresh, however many groups consume the queue."""
        key = topic, queue_id
        found = self._bounds.get(key)
        if found is None:
            end = self._store.max_offset(topic, queue_id)
            # Before the log has lost its beginning, so has no queue.
            low = self._store.min_offset(topic, queue_id) if self._log_min_offset else 0
            found = self._bounds[key] = low, end
        return found

    def _oldest_unread_ms(self, pair: tuple[str, str], queue_id: int, committed: int) -> int | None:
        """None: nothing is unread, or its store time is not known (yet)."""
        topic = pair[0]
        low, end = self._bounds_of(topic, queue_id)
        if committed >= end:
            return None
        place = max(committed, low)
        known = self._times.get((topic, queue_id))
        if known is not None and known[0] == place:
            return known[1]
        if self._time_reads_left <= 0:
            self._unfinished.add(pair)
            return None
        self._time_reads_left -= 1
        store_ms = self._store.store_time_at(topic, queue_id, place)
        if store_ms < 0:
            return None
        self._times[topic, queue_id] = place, store_ms
        return store_ms


def _sliced(steps: Iterator[None]) -> Iterator[None]:
    return islice(steps, SLICE - 1, None, SLICE)


def encode_changes(changes: list[tuple[Key, bytes | None]]) -> bytes:
    """The body of an answer; any thread."""
    body: dict[str, Any] = {}
    for (section, name), value in changes:
        part = None if value is None else orjson.Fragment(value)
        if name:
            body.setdefault(section, {})[name] = part
        else:
            body[section] = part
    return orjson.dumps(body) if body else b""
