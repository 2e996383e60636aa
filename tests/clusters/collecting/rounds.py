"""A cluster's collector without its loop: rounds when a test wants them, by a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connections
from django.utils import timezone
from redis.asyncio import Redis

from clusters.collecting.cluster_collector import ClusterCollector
from clusters.models import Cluster, Collection


class Clock:
    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        return timezone.now() + self.ahead

    def show(self, moment: datetime) -> None:
        self.ahead = moment - timezone.now()


def attach(name: str, name_server: str, *brokers: str, cluster_name: str = "ClientCluster") -> Cluster:
    return Cluster.objects.create(
        name=name,
        broker_cluster_name=cluster_name,
        kind=Cluster.Kind.ATTACHED,
        name_server_addresses=[name_server],
        broker_addresses=list(brokers),
        created_at=timezone.now(),
    )


@asynccontextmanager
async def rounds_of(cluster: Cluster) -> AsyncIterator[tuple[ClusterCollector, Clock]]:
    """As whoever took the lease last."""
    row, _ = await sync_to_async(Collection.objects.get_or_create)(cluster=cluster)
    await sync_to_async(Collection.objects.filter(pk=row.pk).update)(fence=row.fence + 1)
    clock, executor = Clock(), ThreadPoolExecutor(1)
    connection = Redis.from_url(settings.REDIS_URL)
    made = ClusterCollector(cluster.pk, row.fence + 1, connection, executor, clock)
    try:
        yield made, clock
    finally:
        await made._end()
        await connection.aclose()
        executor.submit(connections.close_all)
        executor.shutdown()
