"""A real broker on a disk that fills up, from its files to what the console answers: told before unexpired
messages are deleted, and afterwards which. Nobody has set anything: RocketMQ's defaults, the console's rules.
"""

from __future__ import annotations

import os
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.actions.alerts import do_evaluate_alerts
from clusters.actions.built_in_rules import do_make_built_in_rules
from clusters.models import AlertRule, Cluster, LiveBroker
from engine.client import Message, blocking
from tests.crash.checker.replica_equality import log_start
from tests.crash.small_disk import FORCE, MB, Disk, MountedDisk, SmallDisk
from tests.engine.client.servers import start_broker, start_name_server
from tests.platform_processes import collecting, soon
from tests.ports import free_port

pytestmark = pytest.mark.django_db(transaction=True)
SEGMENT = 1 * MB
SMALL = {
    "mappedFileSizeCommitLog": str(SEGMENT),
    "mappedFileSizeConsumeQueue": "20000",
    "maxMessageSize": "262144",
    "maxHashSlotNum": "500",
    "maxIndexNum": "1000",
    "cleanResourceInterval": "200",
    "diskMaxUsedSpaceRatio": "75",
}
BODY = os.urandom(200 * 1024)
"""Clients would compress anything else away."""
ALERTS = "/api/v1/alerts/"
TREND, DELETED = "Disk fills up within a day", "Messages deleted before they expired"


class FullBroker:
    """An attached cluster of one broker, whose store is on that disk."""

    def __init__(self, namesrv: str, metrics_port: int) -> None:
        self._namesrv = namesrv
        self._metrics_port = metrics_port

    def send(self, count: int) -> None:
        with blocking.Producer("senders", namesrv=self._namesrv) as producer:
            for _ in range(count):
                producer.send(Message("orders", BODY))

    def metrics(self) -> dict[str, float]:
        """Of the broker as a whole."""
        address = f"http://127.0.0.1:{self._metrics_port}/metrics"
        with urllib.request.urlopen(address, timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {
            line.split("{")[0]: float(line.split()[-1]) for line in lines if line.startswith("signalbox_")
        }


@contextmanager
def full_broker(home: Path, disk: Disk, store: Path) -> Iterator[FullBroker]:
    port = free_port()
    settings = SMALL | {"storePathRootDir": str(store), "storePathCommitLog": str(store / "commitlog")}
    settings |= {"metricsExporterType": "PROM", "metricsPromExporterPort": str(port)}
    server = start_name_server(home)
    broker = start_broker(home, server.address, "full", environment=disk.environment, **settings)
    try:
        Cluster.objects.create(
            name="full",
            broker_cluster_name="ClientCluster",
            kind=Cluster.Kind.ATTACHED,
            name_server_addresses=[server.address],
            broker_addresses=[broker.address],
            created_at=timezone.now(),
        )
        do_make_built_in_rules(now=timezone.now())
        AlertRule.objects.update(for_s=0)
        yield FullBroker(server.address, port)
    finally:
        broker.stop()
        server.stop()


def page(api: APIClient) -> dict[str, Any]:
    """What the broker's page has of the collector."""
    return dict(api.get("/api/v1/clusters/full/brokers/full-0/").json()["live"])


def firing(api: APIClient, rule: str) -> dict[str, Any] | None:
    """Its open alert, as beat has all rules judged every ten seconds."""
    do_evaluate_alerts(now=timezone.now())
    found = api.get(ALERTS, {"state": "firing", "rule": rule}).json()["results"]
    return dict(found[0]) if found else None


def assert_deletion_is_told(broker: FullBroker, api: APIClient) -> dict[str, Any]:
    """By metrics, the collector's row, the broker's page and an alert, and all of them agree."""
    counted = int(soon(lambda: broker.metrics()["signalbox_deleted_unexpired_segments_total"]))

    def collected() -> LiveBroker | None:
        return LiveBroker.objects.filter(retention__deletedUnexpired__segments__gte=counted).first()

    lost = soon(collected).retention["deletedUnexpired"]
    assert lost["bytes"] == lost["segments"] * SEGMENT
    assert lost["toOffset"] % SEGMENT == lost["fromOffset"] % SEGMENT == 0 < lost["toOffset"]
    shown = page(api)["retention"]
    assert shown["mayDeleteUnexpired"] is True
    assert int(shown["deletedUnexpired"]["segments"]) >= counted
    alert = soon(lambda: firing(api, DELETED))
    assert alert["name"] == "full-0"
    assert "segments were deleted before they expired, because the disk was full" in alert["summary"]
    return dict(lost)


def test_what_a_full_disk_cost_is_in_metrics_on_the_page_and_an_alert(
    tmp_path: Path, redis: str, api: APIClient
) -> None:
    store = tmp_path / "store"
    disk = SmallDisk(tmp_path / "disk", store)
    with full_broker(tmp_path, disk, store) as broker:
        broker.send(20)
        assert broker.metrics()["signalbox_may_delete_unexpired"] == 1
        assert broker.metrics()["signalbox_deleted_unexpired_segments_total"] == 0
        disk.fill(FORCE)
        soon(lambda: broker.metrics()["signalbox_deleted_unexpired_segments_total"])
        with collecting():
            lost = assert_deletion_is_told(broker, api)
            assert soon(lambda: firing(api, TREND))["value"] == 0
        assert log_start(store / "commitlog") >= lost["toOffset"], "what was told is what is gone"


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[MountedDisk]:
    disk = MountedDisk(tmp_path / "mounted")
    yield disk
    disk.close()


@pytest.mark.nightly
@pytest.mark.needs_mounts
@pytest.mark.timeout(1500)
def test_a_disk_that_grows_is_told_before_anything_is_deleted(
    tmp_path: Path, redis: str, api: APIClient, mounted: MountedDisk
) -> None:
    """In real time: there is no trend within ten minutes. A steady load fills 96 MB within a quarter of an
    hour; the alert must come before the deletion, and then the deletion."""
    store = mounted.mount_point / "store"
    with full_broker(tmp_path, mounted, store) as broker, collecting():
        broker.send(150)
        begun = time.monotonic()
        while (alert := firing(api, TREND)) is None:
            assert time.monotonic() - begun < 13.5 * 60, f"no alert; the row says {page(api)}"
            assert firing(api, DELETED) is None, "deleted before anybody was told"
            broker.send(1)
            time.sleep(3.5)
        told_s = time.monotonic() - begun
        ratio = page(api)["disk_ratio"]
        print(f"told after {told_s:.0f} s at {ratio:.1%}: {alert['summary']}")
        assert ratio < 0.85 and 0 < alert["value"] < 1
        assert "messages that have not expired are then deleted" in alert["summary"]
        assert broker.metrics()["signalbox_deleted_unexpired_segments_total"] == 0
        while not broker.metrics()["signalbox_deleted_unexpired_segments_total"]:
            broker.send(5)
        assert_deletion_is_told(broker, api)
