"""/metrics, /healthz, /readyz."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from clusters.models import Cluster, Host, LiveBroker
from console.core.tokens import new_token
from tests.platform_fixtures import make_user

pytestmark = pytest.mark.django_db
AWAY = {"REMOTE_ADDR": "10.0.0.9"}


def samples(body: bytes) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def test_metrics_say_what_the_rows_say() -> None:
    now = timezone.now()
    cluster = Cluster.objects.create(name="prod", broker_cluster_name="C", kind="attached", created_at=now)
    Host.objects.create(name="h1", address="10.0.0.1", data_root="x", joined_at=now, heartbeat_at=now)
    Host.objects.create(name="silent", address="10.0.0.2", data_root="x", joined_at=now)
    for number, (age, is_up) in enumerate([(5, True), (60, False)]):
        LiveBroker.objects.create(
            cluster=cluster,
            broker_name=f"b{number}",
            member=0,
            address=f"10.0.0.1:{number}",
            sampled_at=now - timedelta(seconds=age),
            is_reachable=is_up,
        )
    client = Client()
    client.get("/healthz")
    found = samples(client.get("/metrics").content)
    assert found["signalbox_clusters", "attached"] == 1
    assert found["signalbox_host_heartbeat_timestamp_seconds", "h1"] == pytest.approx(now.timestamp())
    assert ("signalbox_host_heartbeat_timestamp_seconds", "silent") not in found, "unknown is not 0"
    assert found["signalbox_sampled_timestamp_seconds", "prod"] == pytest.approx(now.timestamp() - 60)
    assert found["signalbox_brokers_unreachable", "prod"] == 1
    assert found["signalbox_operations_open", "failed"] == 0
    assert found["signalbox_http_request_seconds_count", "GET", "healthz", "200"] >= 1
    assert "process_resident_memory_bytes" in {name for name, *_ in found}


def test_a_stranger_from_elsewhere_gets_no_metrics() -> None:
    client = Client(**AWAY)
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer sbx_guess"}).status_code == 401


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Forwarded-Proto"])
def test_what_came_through_a_proxy_of_this_machine_is_not_local(header: str) -> None:
    assert Client().get("/metrics", headers={header: "127.0.0.1"}).status_code == 401


def test_a_token_from_elsewhere_gets_them() -> None:
    lifetime = timedelta(days=1)
    _, secret = new_token(make_user("prom", 1), "scrape", 1, "*", now=timezone.now(), lifetime=lifetime)
    answer = Client(**AWAY).get("/metrics", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200


def test_paths_and_methods_that_strangers_make_up_do_not_become_series() -> None:
    client = Client()
    for number in range(20):
        client.get(f"/made-up-{number}")
        client.generic(f"METHOD{number}", "/healthz")
    text = client.get("/metrics").content.decode()
    assert "made-up" not in text and "METHOD1" not in text


def test_health_needs_nothing_and_readiness_needs_redis(redis: str, settings: Any) -> None:
    assert Client().get("/healthz").json() == {"status": "ok"}
    assert Client().get("/readyz").json()["checks"] == {
        "database": True,
        "writes": True,
        "room": True,
        "redis": True,
    }
    backend = "django.core.cache.backends.redis.RedisCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "redis://127.0.0.1:1"}}
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["checks"]["redis"]) == (503, False)
