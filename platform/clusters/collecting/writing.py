"""Findings into rows: plain upserts, many at a time, in short transactions that each name the fence.

Django's own bulk writes build an expression per field and row; at ten thousand topics that alone would take
longer than a cycle may. The statements here are one text per table, executed with many parameters, the same
on SQLite and PostgreSQL. Synchronous, for a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from operator import attrgetter
from typing import Any

from django.db import connection, models, transaction

from clusters.collecting.findings import BrokerRow, Findings, GroupRow, SubscriptionRow, TopicRow
from clusters.collecting.leases import next_revision
from clusters.collecting.series_book import Stored
from clusters.models import (
    Collection,
    LiveBroker,
    LiveGroup,
    LiveSubscription,
    LiveTopic,
    RebalanceEvent,
    SeriesChunk,
)
from clusters.selectors.packing import BUCKET_S, KEPT_S

SLICE = 2_000
"""Rows of one transaction: others get their turn in between."""
EXPIRED_AT_ONCE = 3_000
"""Chunks of one resolution: a round has more to do."""
REBALANCES_KEPT = timedelta(days=30)

_TABLES: tuple[tuple[type[models.Model], tuple[str, ...], tuple[str, ...]], ...] = (
    (LiveBroker, BrokerRow._fields, ("broker_name", "member")),
    (LiveTopic, TopicRow._fields, ("name",)),
    (LiveSubscription, SubscriptionRow._fields, ("group", "topic")),
    (LiveGroup, GroupRow._fields, ("name",)),
)


class LeaseLost(Exception):
    """Somebody else collects the cluster now."""


def store(cluster_id: int, fence: int, found: Findings, chunks: Sequence[Stored]) -> None:
    listed = (found.brokers, found.topics, found.subscriptions, found.groups)
    for (model, columns, keys), rows in zip(_TABLES, listed, strict=True):
        for part in _slices(_by_key(rows, keys)):
            _upsert(model, cluster_id, fence, columns, keys, part)
    for part in _slices(chunks):
        _upsert_chunks(cluster_id, fence, part)
    _store_the_rest(cluster_id, fence, found)


def finish_round(cluster_id: int, fence: int, now: datetime, error: str) -> None:
    Collection.objects.filter(cluster_id=cluster_id, fence=fence).update(sampled_at=now, error=error)


def expire(cluster_id: int, now: datetime) -> bool:
    """History that is older than it is kept, a part of it; whether that was all."""
    is_all = True
    for resolution, kept_s in KEPT_S.items():
        oldest = now - timedelta(seconds=kept_s + BUCKET_S[resolution])
        old = SeriesChunk.objects.filter(cluster_id=cluster_id, resolution_s=resolution, starts_at__lt=oldest)
        count, _ = SeriesChunk.objects.filter(pk__in=old.values("pk")[:EXPIRED_AT_ONCE]).delete()
        is_all = is_all and count < EXPIRED_AT_ONCE
    RebalanceEvent.objects.filter(cluster_id=cluster_id, at__lt=now - REBALANCES_KEPT).delete()
    return is_all


def _upsert(
    model: type[models.Model],
    cluster_id: int,
    fence: int,
    columns: tuple[str, ...],
    keys: tuple[str, ...],
    rows: Iterable[tuple[Any, ...]],
) -> None:
    written = ("cluster_id", *columns, "revision")
    statement = _statement(model, written, ("cluster_id", *keys), connection.vendor)
    moments = _moments(model, written)
    adapt = cache(connection.ops.adapt_datetimefield_value)
    with transaction.atomic():
        revision = _revision(cluster_id, fence)
        parameters = [[cluster_id, *row, revision] for row in rows]
        for values in parameters:
            for place in moments:
                values[place] = adapt(values[place])
        with connection.cursor() as cursor:
            cursor.executemany(statement, parameters)


@cache
def _moments(model: type[models.Model], columns: tuple[str, ...]) -> tuple[int, ...]:
    """Where a row has times."""
    named = enumerate(map(model._meta.get_field, columns))
    return tuple(place for place, field in named if isinstance(field, models.DateTimeField))


def _upsert_chunks(cluster_id: int, fence: int, chunks: Iterable[Stored]) -> None:
    columns = ("subject", "name", "metric", "resolution_s", "starts_at")
    statement = _statement(
        SeriesChunk, ("cluster_id", *columns, "points"), ("cluster_id", *columns), connection.vendor
    )
    starts = cache(_moment)
    with transaction.atomic():
        _revision(cluster_id, fence)
        parameters = [
            (cluster_id, *key, resolution, starts(start), points) for key, resolution, start, points in chunks
        ]
        with connection.cursor() as cursor:
            cursor.executemany(statement, parameters)


def _moment(start_s: int) -> Any:
    return connection.ops.adapt_datetimefield_value(datetime.fromtimestamp(start_s, UTC))


def _store_the_rest(cluster_id: int, fence: int, found: Findings) -> None:
    gone = (found.gone_brokers, found.gone_topics, found.gone_groups, found.gone_subscriptions)
    if not any(gone) and not found.rebalances:
        return
    with transaction.atomic():
        _revision(cluster_id, fence)
        for name, member in found.gone_brokers:
            LiveBroker.objects.filter(cluster_id=cluster_id, broker_name=name, member=member).delete()
        for part in _slices(found.gone_topics, 500):
            LiveTopic.objects.filter(cluster_id=cluster_id, name__in=part).delete()
        for part in _slices(found.gone_groups, 500):
            LiveGroup.objects.filter(cluster_id=cluster_id, name__in=part).delete()
        for group, topic in found.gone_subscriptions:
            LiveSubscription.objects.filter(cluster_id=cluster_id, group=group, topic=topic).delete()
        RebalanceEvent.objects.bulk_create(
            [
                RebalanceEvent(
                    cluster_id=cluster_id,
                    group=event.group,
                    at=event.at,
                    joined=event.joined,
                    left=event.left,
                    member_count=event.member_count,
                )
                for event in found.rebalances
            ],
            batch_size=500,
        )


def _revision(cluster_id: int, fence: int) -> int:
    revision = next_revision(cluster_id, fence)
    if revision is None:
        raise LeaseLost
    return revision


@cache
def _statement(
    model: type[models.Model], columns: tuple[str, ...], keys: tuple[str, ...], vendor: str
) -> str:
    quote = connection.ops.quote_name
    named = ", ".join(map(quote, columns))
    marks = ", ".join(["%s"] * len(columns))
    changes = ", ".join(f"{quote(name)} = excluded.{quote(name)}" for name in columns if name not in keys)
    return (
        f"INSERT INTO {quote(model._meta.db_table)} ({named}) VALUES ({marks}) "
        f"ON CONFLICT ({', '.join(map(quote, keys))}) DO UPDATE SET {changes}"
    )


def _by_key(rows: Sequence[Any], keys: tuple[str, ...]) -> list[Any]:
    """In one order for all, so that two writers on PostgreSQL cannot wait for each other."""
    return sorted(rows, key=attrgetter(*keys))


def _slices(rows: Sequence[Any], size: int = SLICE) -> Iterator[Sequence[Any]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
