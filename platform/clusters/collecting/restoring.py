"""What the last collector wrote, read back as the state that the next one goes on from. Synchronous."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import models

from clusters.collecting.cluster_state import ClusterState
from clusters.collecting.findings import GroupRow, SubscriptionRow, TopicRow
from clusters.collecting.known_broker import SAID, KnownBroker, dumps
from clusters.collecting.series_book import SeriesBook, Stored
from clusters.models import LiveBroker, LiveGroup, LiveSubscription, LiveTopic, SeriesChunk
from clusters.selectors.packing import RESOLUTIONS, bucket_start

_JSON = frozenset(("brokers", "queues", "members"))


def restore_state(cluster_id: int, broker_cluster_name: str) -> ClusterState:
    topics: list[TopicRow] = list(_rows(LiveTopic, TopicRow, cluster_id))
    groups: list[GroupRow] = list(_rows(LiveGroup, GroupRow, cluster_id))
    subscriptions: list[SubscriptionRow] = list(_rows(LiveSubscription, SubscriptionRow, cluster_id))
    brokers = [_broker(row) for row in _brokers(cluster_id)]
    _fill_tables({known.name: known for known in brokers}, cluster_id)
    state = ClusterState(broker_cluster_name)
    state.restore(brokers, topics, groups, subscriptions)
    return state


def restore_book(cluster_id: int, now: datetime) -> SeriesBook:
    now_s = int(now.timestamp())
    book = SeriesBook()
    book.load(_open_chunks(cluster_id, now_s), now_s)
    return book


def _rows(model: type[models.Model], row_type: type[Any], cluster_id: int) -> Iterator[Any]:
    names = row_type._fields
    places = [number for number, name in enumerate(names) if name in _JSON]
    rows = model._default_manager.filter(cluster_id=cluster_id).values_list(*names)
    for values in rows.iterator(chunk_size=2_000):
        changed = list(values)
        for place in places:
            changed[place] = None if values[place] is None else dumps(values[place])
        yield row_type(*changed)


def _brokers(cluster_id: int) -> list[LiveBroker]:
    """Masters last: of each group it is they who spoke."""
    rows = LiveBroker.objects.filter(cluster_id=cluster_id)
    return sorted(rows, key=lambda row: (row.role == "master", row.epoch or 0))


def _broker(row: LiveBroker) -> KnownBroker:
    known = KnownBroker(row.address, row.broker_name, row.member)
    known.version, known.sampled_at, known.error = row.version, row.sampled_at, row.error
    known.singles = {"ha": row.ha, "rates": row.rates, "log": row.log, "producers": row.producers}
    for section in SAID:
        if (said := getattr(row, section)) is not None:
            known.singles[section] = said
    if row.disk_ratio is not None:
        known.singles["disk"] = {"usageRatio": row.disk_ratio}
    if row.booted_at is not None:
        known.singles["broker"] = {"bootedMs": int(row.booted_at.timestamp() * 1000)}
    return known


def _fill_tables(brokers: dict[str, KnownBroker], cluster_id: int) -> None:
    for name, parts in LiveTopic.objects.filter(cluster_id=cluster_id).values_list("name", "brokers"):
        for broker, part in parts.items():
            if broker in brokers:
                brokers[broker].tables["topics"][name] = part
    wanted: dict[str, dict[str, list[str]]] = {}
    rows = LiveSubscription.objects.filter(cluster_id=cluster_id)
    for group, topic, expression, queues in rows.values_list("group", "topic", "expression", "queues"):
        if expression:
            wanted.setdefault(group, {})[topic] = [expression, ""]
        for queue in queues:
            if queue["broker"] in brokers and queue["committed"] is not None:
                table = brokers[queue["broker"]].tables["offsets"]
                entry = [queue["queue"], queue["committed"]]
                entry += [queue["oldest_ms"]] if "oldest_ms" in queue else []
                table.setdefault(f"{topic}@{group}", []).append(entry)
    _fill_groups(brokers, cluster_id, wanted)


def _fill_groups(
    brokers: dict[str, KnownBroker], cluster_id: int, wanted: dict[str, dict[str, list[str]]]
) -> None:
    """Who was where is not kept: all of them count as everybody's until the broker says so itself."""
    rows = LiveGroup.objects.filter(cluster_id=cluster_id)
    for name, members, model, kind in rows.values_list("name", "members", "model", "consume_type"):
        value: dict[str, Any] = {"members": None}
        if members is not None:
            listed = [[one["client_id"], one["address"], one["language"], one["version"]] for one in members]
            value = {"members": listed, "model": model, "type": kind} if listed else {"members": []}
        if name in wanted:
            value["subscriptions"] = wanted[name]
        for known in brokers.values():
            known.tables["groups"][name] = value


def _open_chunks(cluster_id: int, now_s: int) -> Iterator[Stored]:
    for resolution in RESOLUTIONS:
        start = bucket_start(now_s, resolution)
        rows = SeriesChunk.objects.filter(
            cluster_id=cluster_id,
            resolution_s=resolution,
            starts_at=datetime.fromtimestamp(start).astimezone(),
        ).values_list("subject", "name", "metric", "points")
        for subject, name, metric, points in rows.iterator(chunk_size=2_000):
            yield (subject, name, metric), resolution, start, bytes(points)
