"""One cluster as its brokers last told it, and what follows from that: rates, lag, members, events. Pure.

    state.take(answer)                  merge one broker's answer; notes which names it touches
    state.work_out(now)                 everything that was touched, as findings
    state.work_out(now, only=watched)   the same for what somebody watches; the rest stays noted

Of each broker group the master speaks; while it is silent, what it said last stands, with its age. What is
not known stays None all the way: a sum with an unknown part is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import Any

from clusters.collecting.answers import Answer, Watched
from clusters.collecting.findings import BrokerRow, Findings, GroupRow, SubscriptionRow, TopicRow
from clusters.collecting.group_figures import members_of, put_together, rebalance
from clusters.collecting.known_broker import KnownBroker
from clusters.collecting.subscription_figures import Pair, PairMemory, work_out_pair
from clusters.collecting.topic_figures import TopicMemory, work_out_topic


class ClusterState:
    def __init__(self, cluster_name: str) -> None:
        self._cluster_name = cluster_name
        """What brokers call it: some system topics are named after it."""
        self.brokers: dict[str, KnownBroker] = {}
        self.broker_rows: dict[tuple[str, int], BrokerRow] = {}
        self.topics: dict[str, TopicRow] = {}
        self.groups: dict[str, GroupRow] = {}
        self.subscriptions: dict[Pair, SubscriptionRow] = {}
        self._topic_memory: dict[str, TopicMemory] = {}
        self._pair_memory: dict[Pair, PairMemory] = {}
        self._groups_on: defaultdict[str, set[str]] = defaultdict(set)
        self._topics_of: defaultdict[str, set[str]] = defaultdict(set)
        self._due_topics: set[str] = set()
        self._due_pairs: set[Pair] = set()
        self._due_groups: set[str] = set()
        self._moving_topics: set[str] = set()
        self._moving_pairs: set[Pair] = set()
        self._worked_out_s = 0.0
        """When everything last was: what is not moving stood still until then."""

    def restore(
        self,
        brokers: list[KnownBroker],
        topics: list[TopicRow],
        groups: list[GroupRow],
        subscriptions: list[SubscriptionRow],
    ) -> None:
        """What another collector wrote: a broker that does not answer this one keeps its figures."""
        self.brokers = {known.address: known for known in brokers}
        self.broker_rows = {(row.broker_name, row.member): row for row in self._named_brokers()}
        self.topics = {row.name: row for row in topics}
        self.groups = {row.name: row for row in groups}
        self.subscriptions = {(row.topic, row.group): row for row in subscriptions}
        for topic, group in self.subscriptions:
            self._groups_on[topic].add(group)
            self._topics_of[group].add(topic)
        # Rates begin anew: what moved must be looked at even if it has stopped.
        self._moving_topics = {row.name for row in topics if row.put_rate != 0.0}
        self._moving_pairs = {
            (row.topic, row.group) for row in subscriptions if row.lag or row.consume_rate != 0.0
        }

    # -- taking answers -------------------------------------------------------------------------------------

    def take(self, answer: Answer) -> None:
        known = self.brokers.setdefault(answer.address, KnownBroker(answer.address))
        spoke_before = known.name and self.speaker(known.name) is known
        changed = known.take(answer)
        if not known.name:
            return
        speaks = self.speaker(known.name) is known
        if speaks and not spoke_before:
            # Another member of its group was heard so far: all of it may be different.
            changed = {table: set(names) for table, names in known.tables.items()}
            self._touch_all()
        if speaks:
            self._touch(changed)

    def speaker(self, broker_name: str) -> KnownBroker | None:
        """Who is believed about a broker group: the newest master; without one, the member heard last."""
        members = [known for known in self.brokers.values() if known.name == broker_name and known.sampled_at]
        if not members:
            return None
        return max(members, key=lambda known: (known.is_master, known.epoch, -(known.member or 0)))

    def speakers(self) -> dict[str, KnownBroker]:
        names = {known.name for known in self.brokers.values() if known.name}
        found = {name: self.speaker(name) for name in sorted(names)}
        return {name: known for name, known in found.items() if known is not None}

    def keep_brokers(self, addresses: Collection[str]) -> None:
        """All others were taken out of the cluster."""
        gone = self.brokers.keys() - set(addresses)
        for address in gone:
            del self.brokers[address]
        if gone:
            self._touch_all()

    def _touch(self, changed: dict[str, set[str]]) -> None:
        for topic in changed.get("topics", ()):
            self._due_topics.add(topic)
            self._due_pairs.update((topic, group) for group in self._groups_on.get(topic, ()))
        for key in changed.get("offsets", ()):
            topic, _, group = key.partition("@")
            self._due_pairs.add((topic, group))
        speakers = self.speakers().values()
        for group in changed.get("groups", ()):
            self._due_groups.add(group)
            for speaker in speakers:
                value = speaker.tables["groups"].get(group) or {}
                self._due_pairs.update((topic, group) for topic in value.get("subscriptions") or ())
            self._due_pairs.update((topic, group) for topic in self._topics_of.get(group, ()))

    def _touch_all(self) -> None:
        self._due_topics.update(self.topics)
        self._due_pairs.update(
            (topic, group) for group, topics in self._topics_of.items() for topic in topics
        )
        self._due_groups.update(self.groups)

    # -- working out ----------------------------------------------------------------------------------------

    def work_out(self, now: datetime, only: Watched | None = None) -> Findings:
        found = Findings()
        now_s = now.timestamp()
        speakers = self.speakers()
        self._work_out_brokers(found)
        for pair in self._take_pairs(only):
            self._work_out_pair(found, pair, speakers, now_s)
        for topic in self._take_topics(only):
            self._work_out_topic(found, topic, speakers, now)
        for group in self._take_groups(only):
            self._work_out_group(found, group, speakers, now)
        if only is None:
            self._worked_out_s = now_s
        return found

    def _take_pairs(self, only: Watched | None) -> set[Pair]:
        due = self._due_pairs | self._moving_pairs
        if only is not None:
            due = {pair for pair in due if pair[1] in only.groups}
        self._due_pairs -= due
        return due

    def _take_topics(self, only: Watched | None) -> set[str]:
        due = self._due_topics | self._moving_topics
        if only is not None:
            due &= only.topics
        self._due_topics -= due
        return due

    def _take_groups(self, only: Watched | None) -> set[str]:
        due = self._due_groups if only is None else self._due_groups & only.groups
        self._due_groups = self._due_groups - due
        return due

    def _work_out_brokers(self, found: Findings) -> None:
        rows = {(row.broker_name, row.member): row for row in self._named_brokers()}
        found.brokers += [row for key, row in rows.items() if self.broker_rows.get(key) != row]
        found.gone_brokers += self.broker_rows.keys() - rows.keys()
        self.broker_rows = rows

    def _named_brokers(self) -> list[BrokerRow]:
        """One that answers is put after one that does not: of two addresses of a member it is the one."""
        named = [known for known in self.brokers.values() if known.name]
        return [known.row() for known in sorted(named, key=lambda known: known.is_reachable)]

    def _work_out_topic(
        self, found: Findings, topic: str, speakers: dict[str, KnownBroker], now: datetime
    ) -> None:
        parts = _parts(speakers, "topics", topic)
        if not parts:
            self._topic_memory.pop(topic, None)
            self._moving_topics.discard(topic)
            if self.topics.pop(topic, None) is not None:
                found.gone_topics.append(topic)
                found.points.append((("topic", topic, "put_rate"), None))
            return
        before = self.topics.get(topic)
        memory = self._topic_memory.setdefault(topic, TopicMemory())
        lags = self._lags_on(topic)
        quiet_until_s = 0.0 if topic in self._moving_topics else self._worked_out_s
        row = work_out_topic(topic, parts, memory, before, lags, self._cluster_name, now, quiet_until_s)
        _note(self._moving_topics, topic, bool(row.put_rate) or (row.put_rate is None and memory.is_counted))
        if row != before:
            self.topics[topic] = row
            found.topics.append(row)
        found.points.append((("topic", topic, "put_rate"), row.put_rate))
        if row.kind == "dlq":
            found.points.append((("topic", topic, "messages"), row.messages))

    def _lags_on(self, topic: str) -> list[int | None]:
        rows = (self.subscriptions.get((topic, group)) for group in self._groups_on.get(topic, ()))
        return [None if row is None or row.lag_is_partial else row.lag for row in rows]

    def _work_out_pair(
        self, found: Findings, pair: Pair, speakers: dict[str, KnownBroker], now_s: float
    ) -> None:
        topic, group = pair
        offsets = _parts(speakers, "offsets", f"{topic}@{group}")
        expression = _expression(speakers, topic, group)
        self._due_groups.add(group)
        if not offsets and expression is None:
            self._drop_pair(found, pair)
            return
        if group not in self._groups_on[topic]:
            self._groups_on[topic].add(group)
            self._topics_of[group].add(topic)
            self._due_topics.add(topic)
        memory = self._pair_memory.setdefault(pair, PairMemory())
        topics = _parts(speakers, "topics", topic)
        quiet_until_s = 0.0 if pair in self._moving_pairs else self._worked_out_s
        row = work_out_pair(pair, offsets, topics, expression or "", memory, now_s, quiet_until_s)
        # Known by their rate or lag to be different the next time even if no broker says so.
        _note(self._moving_pairs, pair, bool(offsets) and (bool(row.lag) or row.consume_rate != 0.0))
        before = self.subscriptions.get(pair)
        if row != before:
            self.subscriptions[pair] = row
            found.subscriptions.append(row)
            if before is None or row.lag != before.lag:
                self._due_topics.add(topic)

    def _drop_pair(self, found: Findings, pair: Pair) -> None:
        topic, group = pair
        self._groups_on[topic].discard(group)
        self._topics_of[group].discard(topic)
        self._moving_pairs.discard(pair)
        self._pair_memory.pop(pair, None)
        self._due_topics.add(topic)
        if self.subscriptions.pop(pair, None) is not None:
            found.gone_subscriptions.append((group, topic))

    def _work_out_group(
        self, found: Findings, group: str, speakers: dict[str, KnownBroker], now: datetime
    ) -> None:
        parts = _parts(speakers, "groups", group)
        topics = self._topics_of.get(group) or set()
        before = self.groups.get(group)
        if not parts and not topics:
            if self.groups.pop(group, None) is not None:
                found.gone_groups.append(group)
                found.points += [
                    (("group", group, metric), None) for metric in ("lag", "seconds", "consume_rate")
                ]
            return
        rows = [
            self.subscriptions[(topic, group)] for topic in topics if (topic, group) in self.subscriptions
        ]
        row = put_together(group, rows, members_of(parts), parts)
        if row != before:
            self.groups[group] = row
            found.groups.append(row)
            if (event := rebalance(group, before, row, now)) is not None:
                found.rebalances.append(event)
        seconds: float | None = None
        if row.lag == 0:
            seconds = 0.0
        elif row.oldest_unread_at is not None:
            seconds = max(0.0, round((now - row.oldest_unread_at).total_seconds(), 1))
        found.points.append((("group", group, "lag"), row.lag))
        found.points.append((("group", group, "seconds"), seconds))
        found.points.append((("group", group, "consume_rate"), row.consume_rate))


def _parts(speakers: dict[str, KnownBroker], table: str, name: str) -> dict[str, Any]:
    """What each broker group says of a name."""
    return {
        broker: known.tables[table][name] for broker, known in speakers.items() if name in known.tables[table]
    }


def _expression(speakers: dict[str, KnownBroker], topic: str, group: str) -> str | None:
    """What the online group wants of the topic; None when it does not subscribe to it now."""
    for known in speakers.values():
        subscriptions = (known.tables["groups"].get(group) or {}).get("subscriptions") or {}
        if topic in subscriptions:
            return str(subscriptions[topic][0] or "")
    return None


def _note(names: set[Any], name: Any, is_moving: bool) -> None:
    if is_moving:
        names.add(name)
    else:
        names.discard(name)
