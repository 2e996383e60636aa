"""The broker as a collector sees it: everything that changed since the version it has seen last.

    broker    who this is; does not change while it runs
    rates     messages and pulls per second over the last ten seconds
    disk      how full it is
    log       the commit log's offsets
    ha        this broker's role; in a group its epoch, the in-sync set, how far slaves are behind
    retention when segments are deleted, and what was deleted before its time
    certificate  when the certificate of the TLS port ends
    damage    damaged records: how many messages groups have skipped and not got since, how many records were
              repaired, and the last of either; absent while there was none
    topics    configuration, producer groups that sent in the last ten minutes, and per queue with messages
              [queue id, min offset, max offset]
    groups    members [client id, address, language, version] and subscriptions {topic: [expression, type]} of
              every group; no members: nobody is online
    offsets   "topic@group": per queue [id, committed] or [id, committed, store time of the oldest unread]

What is not known is absent, never 0: a queue without a committed offset, a time that was not read (yet).
None means: gone. Tables note what was touched; a refresh looks at that alone, in slices, and a journal keeps
what really changed. Store times come from a thread (`UnreadTimes`). Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import orjson

from engine.broker.clients.client_tables import ConsumerGroup, ConsumerTable
from engine.broker.groups.group_table import SubscriptionGroupTable
from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.broker.offsets.progress import Pair, QueuePlace, UnreadTimes
from engine.broker.snapshots.journal import Change, Journal
from engine.broker.stats.broker_stats import BrokerStats
from engine.broker.stats.traffic import Senders
from engine.broker.topics.topic_table import TopicTable
from engine.protocol.bodies.clients import ConsumeType, MessageModel
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.fastjson import compact
from engine.store.log.log_front import DeletedUnexpired
from engine.store.log.message_log import MessageLog
from engine.store.options import RetentionRules
from engine.store.queues.message_queues import MessageQueues
from engine.store.reading.message_search import MessageSearch
from engine.store.results import QueueKey
from engine.store.retention import used_ratio

SLICE = 64
"""Entries that are looked at in one go: a millisecond at most."""
Bounds = tuple[int, int, int]
"""Of a queue: its id, lowest offset and end."""
_Look = tuple[str, list[Pair], list[Bounds]]
"""A topic, those of its pairs that are looked at, and its queues."""

K = TypeVar("K", bound=Hashable)
_NOBODY = b'{"members":[]}'
_MODELS = {model: model.name.encode() for model in MessageModel}
_TYPES = {kind: kind.name.encode() for kind in ConsumeType}


class Due(Generic[K]):
    """What is still to be looked at, taken a slice at a time.

    Callers handle a slice at once; the rest stays, so that work which one reader began and left (its
    connection closed) is done by the next.
    """

    def __init__(self) -> None:
        self._once: set[K] = set()
        self._listed: list[K] = []

    def __len__(self) -> int:
        return len(self._once) + len(self._listed)

    def add(self, keys: Iterable[K]) -> None:
        self._once.update(keys)

    def add_set(self, keys: set[K]) -> None:
        """Like `add`, for a set that is ours from now on."""
        if self._once:
            self._once |= keys
        else:
            self._once = keys

    def add_list(self, keys: list[K]) -> None:
        """A whole table: cheaper than `add`, and the list is ours from now on."""
        self._listed = self._listed + keys if self._listed else keys

    def discard(self, keys: Iterable[K]) -> None:
        """Another list handles these."""
        if self._once:
            self._once.difference_update(keys)

    def take(self, count: int) -> list[K]:
        listed, once = self._listed, self._once
        if listed:
            taken = listed[-count:]
            del listed[-count:]
            if once:
                once.difference_update(taken)
            return taken
        return [once.pop() for _ in range(min(count, len(once)))]


def in_slices(due: Due[K], count: int, work: Callable[[list[K]], None]) -> Iterator[None]:
    """Do all that is due, also what becomes due meanwhile; stops after every slice: others may run then."""
    while taken := due.take(count):
        work(taken)
        yield


def _dumps(value: object) -> bytes:
    return compact(orjson.dumps(value))


@dataclass(eq=False, repr=False)
class Snapshots:
    broker: dict[str, object]
    topics: TopicTable
    groups: SubscriptionGroupTable
    offsets: ConsumerOffsets
    consumers: ConsumerTable[Any]
    senders: Senders
    log: MessageLog
    queues: MessageQueues
    search: MessageSearch
    stats: BrokerStats
    singles: Mapping[str, Callable[[], dict[str, object]]]
    """Other sections with one value; an empty one is absent."""
    _is_new: bool = field(default=True, init=False)
    _log_min_offset: int = field(default=0, init=False)
    _due_queues: Due[QueueKey] = field(default_factory=Due, init=False)
    _due_topics: Due[str] = field(default_factory=Due, init=False)
    _due_groups: Due[str] = field(default_factory=Due, init=False)
    _due_pairs: Due[Pair] = field(default_factory=Due, init=False)
    _near_pairs: Due[Pair] = field(default_factory=Due, init=False)
    """Those of topics that were looked at just now."""
    journal: Journal = field(default_factory=Journal, init=False)
    """Sections with one value only give it no name."""

    def __post_init__(self) -> None:
        self.times = UnreadTimes(self.search)
        self.journal.put("broker", "", _dumps(self.broker))

    def refresh(self, now_ms: int) -> Iterator[None]:
        """Bring the journal up to date; stops after every slice, so that others may run."""
        self._note_touched(now_ms)
        self._put_singles(now_ms)
        yield from in_slices(self._due_queues, 16 * SLICE, self._note_topics)
        yield from in_slices(self._due_groups, SLICE, self._put_groups)
        for _ in in_slices(self._due_topics, SLICE, self._put_topics):
            yield
            # While the topics' queues are still in the processor's caches.
            yield from in_slices(self._near_pairs, SLICE, self._put_offsets)
        yield from self.put_pairs()

    def put_pairs(self, pairs: set[Pair] | None = None) -> Iterator[None]:
        """The offsets of these pairs, and of all that are due."""
        self._due_pairs.add(pairs or ())
        return in_slices(self._due_pairs, SLICE, self._put_offsets)

    # -- what to look at ------------------------------------------------------------------------------------

    def _note_touched(self, now_ms: int) -> None:
        self._due_queues.add_set(self.queues.take_touched())
        self._due_topics.add_set(self.topics.take_touched())
        self._due_topics.add_set(self.senders.take_changed(now_ms))
        self._due_groups.add_set(self.consumers.take_changed())
        self._due_groups.add_set(self.groups.take_touched())
        self._due_pairs.add_set(self.offsets.take_changed())
        self._due_pairs.add(self.times.take_unfinished())
        if self._is_new:
            self._is_new = False
            self._note_all()
        elif self.log.min_offset != self._log_min_offset:
            # The log has lost its beginning, and queues have with it.
            self._due_topics.add_list(self.topics.names())
        self._log_min_offset = self.log.min_offset

    def _note_all(self) -> None:
        self._due_queues = Due()
        self._due_topics.add_list(self.topics.names())
        # As they came, and lie in memory: in the order of a set a look at each takes up to twice as long.
        self._due_groups.add_list(list(dict.fromkeys((*self.consumers.names(), *self.groups.names()))))
        # The others come with their topics.
        self._due_pairs.add_list([pair for pair in self.offsets.pairs() if pair[0] not in self.topics])

    def _note_topics(self, keys: list[QueueKey]) -> None:
        self._due_topics.add({topic for topic, _ in keys})

    # -- what there is --------------------------------------------------------------------------------------

    def _put_singles(self, now_ms: int) -> None:

        def put(section: str, value: dict[str, object]) -> None:
            self.journal.put(section, "", _dumps(value))

        rates = self.stats.rates(now_ms, 10)
        put(
            "rates",
            {
                "put": round(rates.put, 1),
                "got": round(rates.got, 1),
                "pullsFound": round(rates.pulls_found, 1),
                "pullsMissed": round(rates.pulls_missed, 1),
            },
        )
        put(
            "log",
            {
                "minOffset": self.log.min_offset,
                "maxOffset": self.log.max_offset,
                "flushedOffset": self.log.flushed_offset,
                "dispatchedOffset": self.queues.dispatched_offset,
            },
        )
        for section, state in self.singles.items():
            if value := state():
                put(section, value)

    def _put_topics(self, names: list[str]) -> None:
        """And the offsets on them, from the same look at their queues, where there are few: a new message may
        be the oldest unread one of a group that had consumed everything."""
        configs, senders = self.topics.get, self.senders.names
        topics: list[Change] = []
        looks: list[_Look] = []
        looked_at: list[Pair] = []
        near: list[Pair] = []
        all_bounds, all_pairs = self.queues.bounds(names), self.offsets.pairs_on(names)
        for name, bounds, pairs in zip(names, all_bounds, all_pairs, strict=True):
            config = configs(name)
            topics.append((name, None if config is None else _topic_value(config, bounds, senders(name))))
            if len(looked_at) + len(pairs) <= SLICE:
                looks.append((name, pairs, bounds))
                looked_at += pairs
            else:
                near += pairs
        self._due_pairs.discard(looked_at)
        self._due_pairs.discard(near)
        self._near_pairs.add_list(near)
        self.journal.put_all("topics", topics)
        self.journal.put_all("offsets", self._offset_changes(looks))

    def _put_groups(self, names: list[str]) -> None:
        online_group, known = self.consumers.group, self.groups
        changes: list[Change] = []
        for name in names:
            online = online_group(name)
            if online is not None:
                changes.append((name, _group_value(online)))
            else:
                changes.append((name, _NOBODY if name in known else None))
        self.journal.put_all("groups", changes)

    def _put_offsets(self, pairs: list[Pair]) -> None:
        by_topic: dict[str, list[Pair]] = {}
        for pair in pairs:
            by_topic.setdefault(pair[0], []).append(pair)
        all_bounds = self.queues.bounds(by_topic)
        looks = [(*found, bounds) for found, bounds in zip(by_topic.items(), all_bounds, strict=True)]
        self.journal.put_all("offsets", self._offset_changes(looks))

    def _offset_changes(self, looks: list[_Look]) -> list[Change]:
        """How far these pairs are; what is not known yet of the oldest unread is wanted."""
        committed_of, times, known_of = self.offsets.committed_of, self.times, self.times.known_of
        changes: list[Change] = []
        later: list[Pair] = []
        for topic, pairs, bounds in looks:
            known = known_of(topic)
            if known or not times.is_full:
                bounds_at = {bound[0]: bound for bound in bounds}
                changes += [
                    (f"{topic}@{pair[1]}", self._with_times(pair, bounds_at, known)) for pair in pairs
                ]
            else:
                # Whether anything is unread is found out when their turn comes.
                later += pairs
                changes += [
                    (f"{topic}@{pair[1]}", _offsets_value(_committed(committed_of(pair)))) for pair in pairs
                ]
        times.postpone(later)
        return changes

    def _with_times(
        self, pair: Pair, bounds_at: dict[int, Bounds], known: Mapping[QueuePlace, int]
    ) -> bytes | None:
        value = _committed(self.offsets.committed_of(pair))
        unread = [
            (queue_id, committed if committed > bound[1] else bound[1])
            for queue_id, committed in value
            if (bound := bounds_at.get(queue_id)) is not None and committed < bound[2]
        ]
        if known:
            times_ms = {place[0]: known.get(place) for place in unread}
            value = [
                item if (ms := times_ms.get(item[0])) is None or ms < 0 else (*item, ms) for item in value
            ]
            unread = [place for place in unread if times_ms[place[0]] is None]
        if unread:
            self.times.want(pair, unread)
        return _offsets_value(value)


def _committed(offsets: Mapping[int, int]) -> list[tuple[int, ...]]:
    """By queue id; a negative one is none."""
    items: list[tuple[int, ...]] = [*offsets.items()]
    return items if not items or min(offsets.values()) >= 0 else [item for item in items if item[1] >= 0]


def _offsets_value(value: list[tuple[int, ...]]) -> bytes | None:
    return b"%b" % orjson.dumps(value) if value else None


def _topic_value(config: TopicConfig, bounds: list[Bounds], senders: list[str]) -> bytes:
    reads, writes = config.read_queue_nums, config.write_queue_nums
    count = reads if reads > writes else writes
    if bounds and bounds[-1][0] >= count:
        # A topic that was made smaller may have more of them on disk.
        bounds = [bound for bound in bounds if bound[0] < count]
    # By hand, as groups are: a dict for each of thousands costs more than all the rest.
    is_ordered = b"true" if config.order else b"false"
    return b'{"readQueues":%d,"writeQueues":%d,"perm":%d,"isOrdered":%b,"senders":%b,"queues":%b}' % (
        *(reads, writes, config.perm, is_ordered),
        _dumps(senders) if senders else b"[]",
        orjson.dumps(bounds),
    )


def _group_value(online: ConsumerGroup[Any]) -> bytes:
    members = [
        (info.client_id, channel.peer_name, info.language, info.version)
        for channel, info in online.clients.items()
    ]
    if len(members) > 1:
        members.sort()
    subscriptions = {
        topic: (data.sub_string, data.expression_type) for topic, data in online.subscriptions.items()
    }
    return b'{"members":%b,"model":"%b","type":"%b","subscriptions":%b}' % (
        orjson.dumps(members),
        _MODELS[online.message_model],
        _TYPES[online.consume_type],
        orjson.dumps(subscriptions),
    )


def retention_state(rules: RetentionRules, deleted: DeletedUnexpired) -> dict[str, object]:
    """Section `retention` (docs/collector.md): the rules in force, and what was deleted before its time."""
    state: dict[str, object] = {
        "mayDeleteUnexpired": rules.clean_file_forcibly_enable,
        "reservedHours": rules.file_reserved_time_hours,
        "cleanRatio": used_ratio(rules, "disk_max_used_space_ratio"),
        "forceRatio": used_ratio(rules, "disk_space_clean_forcibly_ratio"),
        "refuseRatio": used_ratio(rules, "disk_space_warning_level_ratio"),
    }
    if deleted.segments:
        state["deletedUnexpired"] = {
            "segments": deleted.segments,
            "bytes": deleted.size_bytes,
            "fromOffset": deleted.from_offset,
            "toOffset": deleted.to_offset,
            "atMs": deleted.at_ms,
        }
    return state
