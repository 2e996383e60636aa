"""A broker that an operation removed is gone from every page at once, whatever the collector saw last."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.actions.operations import do_start_operation
from clusters.models import Broker, BrokerGroup, Cluster, Host, LiveBroker
from clusters.provisioning import executor
from clusters.provisioning.plans.plan import Plan, StepSpec
from clusters.selectors.live import freshness_of
from console.core.actors import Actor

pytestmark = pytest.mark.django_db(transaction=True)
BROKERS = "/api/v1/clusters/orders/brokers/"


@pytest.fixture
def orders(redis: str) -> Cluster:
    """Two groups of one broker, both seen by the collector."""
    now = timezone.now()
    host = Host.objects.create(name="here", address="127.0.0.1", data_root="/nowhere", joined_at=now)
    cluster = Cluster.objects.create(name="orders", broker_cluster_name="o", kind="managed", created_at=now)
    for number, name in enumerate(("broker-a", "broker-b")):
        group = BrokerGroup.objects.create(cluster=cluster, name=name)
        row = Broker.objects.create(group=group, member=0, host=host, port=20911 + 5 * number)
        _see(cluster, name, row.address)
    return cluster


def _see(cluster: Cluster, name: str, address: str) -> None:
    LiveBroker.objects.create(
        cluster=cluster, broker_name=name, member=0, address=address, role="master", sampled_at=timezone.now()
    )


def _forget(cluster: Cluster, *groups: str) -> None:
    what = {"groups": [{"name": name, "members": [{"member": 0, "host": "here"}]} for name in groups]}
    plan = Plan("shrink", "Shrink", ["It shrinks."], [[StepSpec("forget", "Forget", None, what)]])
    actor = Actor("alice", user_id=1)
    do_start_operation(cluster, plan, {}, needs_approval=False, actor=actor, now=timezone.now())
    assert executor.run_open_steps(None, "test", threading.Event()) == 1


def _labels(api: APIClient) -> list[Any]:
    return [row["label"] for row in api.get(BROKERS).data["results"]]


def test_a_removed_group_is_gone_at_once(api: APIClient, orders: Cluster) -> None:
    assert _labels(api) == ["broker-a-0", "broker-b-0"]
    _forget(orders, "broker-b")
    assert _labels(api) == ["broker-a-0"]
    assert api.get(f"{BROKERS}broker-b-0/").status_code == 404
    assert [one["broker"] for one in freshness_of(orders)["brokers"]] == ["broker-a"]


def test_what_a_round_under_way_still_writes_of_it_is_not_shown(api: APIClient, orders: Cluster) -> None:
    address = Broker.objects.select_related("host").get(group__name="broker-b").address
    _forget(orders, "broker-b")
    _see(orders, "broker-b", address)
    assert _labels(api) == ["broker-a-0"]


def test_of_somebody_elses_cluster_all_that_was_seen_is_shown(api: APIClient, orders: Cluster) -> None:
    Broker.objects.all().delete()
    Cluster.objects.update(kind="attached")
    assert _labels(api) == ["broker-a-0", "broker-b-0"]
