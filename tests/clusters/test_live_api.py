"""Series, routing, rebalances and the fleet by REST: from rows, with their age, in few queries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.collecting.findings import Findings
from clusters.collecting.series_book import SeriesBook
from clusters.collecting.writing import store
from clusters.models import (
    Cluster,
    Collection,
    LiveBroker,
    LiveGroup,
    LiveSubscription,
    LiveTopic,
    RebalanceEvent,
)
from tests.platform_fixtures import People

pytestmark = pytest.mark.django_db


@pytest.fixture
def orders(db: None) -> Cluster:
    return make_cluster("orders")


def make_cluster(name: str) -> Cluster:
    now = timezone.now()
    cluster = Cluster.objects.create(
        name=name, broker_cluster_name=name, kind=Cluster.Kind.ATTACHED, created_at=now
    )
    Collection.objects.create(cluster=cluster, fence=1)
    LiveBroker.objects.create(
        cluster=cluster,
        broker_name="a",
        member=0,
        address="127.0.0.1:1",
        role="master",
        version="V5_3_2",
        rates={"put": 3.0, "got": 2.0},
        disk_ratio=0.4,
        producers={"shop": [["c1", "10.0.0.1", "JAVA", 400]]},
        sampled_at=now - timedelta(seconds=4),
        is_reachable=True,
    )
    part = {"readQueues": 4, "writeQueues": 4, "perm": 6, "queues": [[0, 0, 9]]}
    for topic in ("invoices", "team-x"):
        LiveTopic.objects.create(
            cluster=cluster,
            name=topic,
            kind="normal",
            read_queues=4,
            write_queues=4,
            perm=6,
            brokers={"a": part},
            put_rate=3.0,
            messages=9,
        )
        for group in ("billing", "team-g"):
            LiveSubscription.objects.create(
                cluster=cluster, group=group, topic=topic, lag=5, queues=[{"broker": "a", "queue": 0}]
            )
    for group in ("billing", "team-g"):
        LiveGroup.objects.create(cluster=cluster, name=group, lag=10, topic_count=2, member_count=1)
        RebalanceEvent.objects.create(cluster=cluster, group=group, at=now, joined=["c1"], member_count=1)
    return cluster


def write_history(cluster: Cluster, end_s: int, lags: dict[int, float], heard: set[int]) -> None:
    """By the collector's own writers: slots are tens of seconds before the end."""
    book = SeriesBook()
    for back in range(30, 0, -1):
        at_s = end_s - back * 10
        book.advance(at_s)
        if back in lags:
            book.note(at_s, [(("group", "billing", "lag"), lags[back])])
        if back in heard:
            book.note(at_s, [(("broker", "a", "sampled"), 1.0)])
    store(cluster.pk, 1, Findings(), book.take_due(2**40, is_last=True))


def series(api: APIClient, **query: Any) -> Any:
    return api.get("/api/v1/clusters/orders/series/", query)


def test_a_series_has_gaps_where_nobody_was_heard(api: APIClient, orders: Cluster) -> None:
    end_s = int(timezone.now().timestamp()) // 10 * 10
    write_history(orders, end_s, {20: 5.0, 10: 7.0}, set(range(20, 0, -1)) - {15, 14})
    times = {"from": _iso(end_s - 220), "to": _iso(end_s), "resolution": 10}
    body = series(api, subject="group", name="billing", metric="lag", **times).json()
    values = [point["value"] for point in body["points"]]
    assert values == [None] * 2 + [5.0] * 5 + [None] * 2 + [5.0] * 3 + [7.0] * 10
    assert body["points"][0]["at"] == end_s - 220
    assert body["sampled_at"] is not None


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"subject": "group", "name": "g", "metric": "put_rate"}, "metric"),
        ({"subject": "planet", "name": "g", "metric": "lag"}, "subject"),
        ({"subject": "group", "metric": "lag"}, "name"),
        ({"subject": "cluster", "name": "x", "metric": "lag"}, "name"),
        ({"subject": "cluster", "metric": "lag", "resolution": 7}, "resolution"),
        ({"subject": "cluster", "metric": "lag", "from": "yesterday"}, "from"),
        ({"subject": "cluster", "metric": "lag", "from": _iso(100), "to": _iso(50)}, "to"),
        ({"subject": "cluster", "metric": "lag", "from": _iso(0), "resolution": 10}, "resolution"),
    ],
)
def test_a_question_about_history_that_cannot_be_answered(
    api: APIClient, orders: Cluster, query: dict[str, Any], field: str
) -> None:
    answer = series(api, **query)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == field


def test_the_resolution_is_chosen_by_age(api: APIClient, orders: Cluster) -> None:
    now = int(timezone.now().timestamp())
    for back_s, resolution in ((3600, 10), (3 * 86_400, 60), (30 * 86_400, 3600)):
        query = {"subject": "cluster", "metric": "lag", "from": _iso(now - back_s)}
        assert series(api, **query).json()["resolution_s"] == resolution


def test_routing_shows_brokers_groups_and_producers(api: APIClient, orders: Cluster) -> None:
    body = api.get("/api/v1/clusters/orders/routing/", {"search": "inv"}).json()
    [topic] = body["results"]
    assert topic["topic"] == "invoices"
    assert topic["brokers"] == [{"broker": "a", "read_queues": 4, "write_queues": 4, "perm": 6}]
    assert [(edge["group"], edge["lag"]) for edge in topic["groups"]] == [("billing", "5"), ("team-g", "5")]
    assert body["producers"][0]["producer_group"] == "shop"
    assert body["freshness"]["sampled_at"] is not None


def test_routing_names_who_sends_where_every_broker_says_so(api: APIClient, orders: Cluster) -> None:
    def senders() -> Any:
        [topic] = api.get("/api/v1/clusters/orders/routing/", {"search": "invoices"}).json()["results"]
        return topic["senders"]

    assert senders() is None, "its broker does not say"
    row = LiveTopic.objects.get(name="invoices")
    [part] = row.brokers.values()
    row.brokers = {"a": part | {"senders": ["shop"]}, "b": part | {"senders": ["app", "shop"]}}
    row.save()
    assert senders() == ["app", "shop"]
    row.brokers["b"].pop("senders")
    row.save()
    assert senders() is None


def test_routing_begins_with_the_busiest_or_the_furthest_behind(api: APIClient, orders: Cluster) -> None:
    LiveTopic.objects.filter(name="team-x").update(put_rate=7.0)
    LiveSubscription.objects.filter(topic="invoices").update(lag=50)
    LiveTopic.objects.create(
        cluster=orders, name="new", kind="normal", read_queues=1, write_queues=1, perm=6, brokers={}
    )

    def names(**query: Any) -> list[str]:
        answer = api.get("/api/v1/clusters/orders/routing/", query)
        return [row["topic"] for row in answer.json()["results"]]

    assert names(ordering="-rate") == ["team-x", "invoices", "new"], "unknown comes last"
    assert names(ordering="-lag", limit=1) == ["invoices"]
    assert api.get("/api/v1/clusters/orders/routing/", {"ordering": "perm"}).status_code == 400


def test_routing_finds_the_topics_of_a_group(orders: Cluster, people: People) -> None:
    from console.core.models.people import Role
    from tests.platform_fixtures import client_of, make_user

    LiveSubscription.objects.filter(topic="team-x", group="billing").delete()

    def found(client: APIClient, search: str) -> list[str]:
        answer = client.get("/api/v1/clusters/orders/routing/", {"search": search})
        return [row["topic"] for row in answer.json()["results"]]

    assert found(people.viewer, "BILL") == ["invoices"]
    team = client_of(make_user("team", Role.VIEWER, clusters="orders", names="team-*"))
    assert found(team, "bill") == [], "a group that one may not see leads nowhere"
    assert found(team, "team-g") == ["team-x"]


def test_names_that_one_may_not_see_are_not_named(orders: Cluster, people: People) -> None:
    from console.core.models.people import Role
    from tests.platform_fixtures import client_of, make_user

    team = client_of(make_user("team", Role.VIEWER, clusters="orders", names="team-*"))
    body = team.get("/api/v1/clusters/orders/routing/").json()
    [topic] = body["results"]
    assert topic["topic"] == "team-x"
    assert ([edge["group"] for edge in topic["groups"]], topic["hidden_groups"]) == (["team-g"], 1)
    assert body["producers"] is None
    events = team.get("/api/v1/clusters/orders/rebalances/").json()["results"]
    assert [event["group"] for event in events] == ["team-g"]
    query = {"subject": "group", "name": "billing", "metric": "lag"}
    assert team.get("/api/v1/clusters/orders/series/", query).status_code == 403
    query = {"subject": "cluster", "metric": "lag"}
    assert team.get("/api/v1/clusters/orders/series/", query).status_code == 403
    [row] = team.get("/api/v1/fleet/").json()["clusters"]
    assert (row["lag"], row["top_lag"], row["firing_alerts"]) == (None, None, None)


def test_the_fleet_in_one_answer(people: People, orders: Cluster) -> None:
    make_cluster("other-1")
    rows = {row["name"]: row for row in people.viewer.get("/api/v1/fleet/").json()["clusters"]}
    assert rows.keys() == {"orders", "other-1"}
    row = rows["orders"]
    assert (row["health"], row["put_rate"], row["lag"], row["disk_ratio"]) == ("ok", 3.0, "20", 0.4)
    assert [one["group"] for one in row["top_lag"]] == ["billing", "team-g"]
    assert 3 < row["age_s"] < 60
    assert [row["name"] for row in people.other.get("/api/v1/fleet/").json()["clusters"]] == ["other-1"]


def test_the_brokers_own_topics_and_groups_are_not_counted(api: APIClient, orders: Cluster) -> None:
    about = {"read_queues": 1, "write_queues": 1, "perm": 6}
    for name, kind in (("%RETRY%billing", "retry"), ("%DLQ%billing", "dlq"), ("TBW102", "system")):
        LiveTopic.objects.create(cluster=orders, name=name, kind=kind, **about)
    for name in ("TOOLS_CONSUMER", "CID_RMQ_SYS_TRANS"):
        LiveGroup.objects.create(cluster=orders, name=name)
    [row] = api.get("/api/v1/fleet/").json()["clusters"]
    assert (row["topic_count"], row["group_count"]) == (2, 2)


def test_health_is_never_better_than_what_is_known(api: APIClient, orders: Cluster) -> None:
    def health() -> tuple[str, str]:
        [row] = api.get("/api/v1/fleet/").json()["clusters"]
        return row["health"], row["health_reason"]

    brokers = LiveBroker.objects.filter(cluster=orders)
    brokers.update(sampled_at=timezone.now() - timedelta(minutes=5))
    assert health()[0] == "unknown"
    brokers.update(is_reachable=False, error="no answer")
    assert health() == ("down", "no master answers")
    brokers.update(sampled_at=None)
    assert health()[0] == "unknown"
    brokers.update(sampled_at=timezone.now(), is_reachable=True, ha={"inSync": [0], "minInSync": 2})
    assert health()[0] == "degraded"
    LiveBroker.objects.all().delete()
    [row] = api.get("/api/v1/fleet/").json()["clusters"]
    assert (row["health"], row["lag"], row["put_rate"], row["age_s"]) == ("unknown", None, None, None)


@pytest.mark.parametrize(
    ("path", "queries"),
    [
        ("fleet/", 10),
        ("clusters/orders/routing/", 10),
        ("clusters/orders/rebalances/", 7),
        ("clusters/orders/series/?subject=group&name=billing&metric=lag", 7),
    ],
)
def test_queries_do_not_grow_with_rows(
    people: People, orders: Cluster, path: str, queries: int, django_assert_num_queries: Any
) -> None:
    make_cluster("other-2")
    with django_assert_num_queries(queries):
        assert people.viewer.get(f"/api/v1/{path}").status_code == 200
