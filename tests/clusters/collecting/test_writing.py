"""Rows of history: written, replaced, and gone when they are older than they are kept, a part per round."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from clusters.collecting import writing
from clusters.collecting.findings import Findings
from clusters.collecting.series_book import Key
from clusters.collecting.writing import LeaseLost, expire, store
from clusters.models import Cluster, Collection, RebalanceEvent, SeriesChunk
from clusters.selectors.packing import BUCKET_S, KEPT_S, pack
from tests.clusters.collecting.rounds import attach

pytestmark = pytest.mark.django_db

LAG: Key = ("group", "billing", "lag")


@pytest.fixture
def cluster(db: None) -> Cluster:
    made = attach("written", "127.0.0.1:1")
    Collection.objects.create(cluster=made, fence=7)
    return made


def test_a_chunk_is_replaced_by_its_longer_self(cluster: Cluster) -> None:
    start = 1_700_000_000 - 1_700_000_000 % 3600
    store(cluster.pk, 7, Findings(), [(LAG, 10, start, pack(0, 1.0))])
    store(cluster.pk, 7, Findings(), [(LAG, 10, start, pack(0, 1.0) + pack(3, None))])
    row = SeriesChunk.objects.get(cluster=cluster)
    assert bytes(row.points) == pack(0, 1.0) + pack(3, None)
    assert row.starts_at == datetime.fromtimestamp(start, UTC)


def test_without_the_lease_nothing_is_written(cluster: Cluster) -> None:
    with pytest.raises(LeaseLost):
        store(cluster.pk, 6, Findings(), [(LAG, 10, 0, pack(0, 1.0))])
    assert not SeriesChunk.objects.exists()


def test_old_history_goes_a_part_at_a_time(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "EXPIRED_AT_ONCE", 2)
    now = timezone.now()
    other = attach("another", "127.0.0.1:1")
    for resolution, kept_s in KEPT_S.items():
        oldest = now - timedelta(seconds=kept_s + BUCKET_S[resolution])
        for owner, name, at in (
            (cluster, "kept", oldest + timedelta(seconds=1)),
            (other, "of another cluster", oldest - timedelta(seconds=1)),
            *((cluster, f"old-{number}", oldest - timedelta(seconds=1)) for number in range(3)),
        ):
            SeriesChunk.objects.create(
                cluster=owner,
                subject="group",
                name=name,
                metric="lag",
                resolution_s=resolution,
                starts_at=at,
                points=b"",
            )
    for group, days in (("old", 31), ("new", 29)):
        RebalanceEvent.objects.create(
            cluster=cluster, group=group, at=now - timedelta(days=days), joined=[], left=[], member_count=0
        )
    assert expire(cluster.pk, now) is False, "there is more"
    assert SeriesChunk.objects.filter(name__startswith="old-").count() == len(KEPT_S)
    assert expire(cluster.pk, now) is True
    assert set(SeriesChunk.objects.values_list("name", flat=True)) == {"kept", "of another cluster"}
    assert list(RebalanceEvent.objects.values_list("group", flat=True)) == ["new"]
