"""Lists and pages of topics and groups: from rows alone, sorted, searched, paged, query counts pinned."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework.test import APIClient

from clusters.models import (
    Cluster,
    LiveBroker,
    LiveGroup,
    LiveSubscription,
    LiveTopic,
    RebalanceEvent,
    Topic,
)
from console.core.models.people import Role
from tests.platform_fixtures import client_of, make_user

HERE = "/api/v1/clusters/attached/"
NOW = timezone.now().replace(microsecond=0)


@pytest.fixture
def seeded(attached: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Fifty topics, thirty groups, as a collector leaves them. No broker can be asked."""
    monkeypatch.setattr("clusters.gateway.connections._kept", None)
    LiveBroker.objects.create(
        cluster=attached,
        broker_name="b-a",
        member=0,
        address="127.0.0.1:1",
        sampled_at=NOW,
        is_reachable=True,
    )
    held = {"b-a": {"readQueues": 2, "writeQueues": 2, "perm": 6, "queues": [[0, 5, 10], [1, 0, 7]]}}
    LiveTopic.objects.bulk_create(
        LiveTopic(
            cluster=attached,
            name=f"topic-{n:02}",
            kind="normal",
            read_queues=2,
            write_queues=2,
            perm=6,
            brokers=held,
            messages=n or None,
            put_rate=float(n) if n % 2 else None,
            last_write_at=NOW - timedelta(minutes=n),
            group_count=1 if n < 30 else 0,
            lag=0 if n >= 30 else None if n == 7 else n * 10,
        )
        for n in range(50)
    )
    LiveTopic.objects.create(
        cluster=attached, name="%RETRY%g", kind="retry", read_queues=1, write_queues=1, perm=6, brokers=held
    )
    LiveGroup.objects.bulk_create(
        LiveGroup(
            cluster=attached,
            name=f"group-{n:02}",
            topic_count=1,
            lag=n * 10 if n != 7 else None,
            oldest_unread_at=NOW - timedelta(seconds=n) if n else None,
            member_count=n % 3 if n != 7 else None,
            is_sampled=n != 7,
        )
        for n in range(30)
    )
    LiveSubscription.objects.bulk_create(
        LiveSubscription(
            cluster=attached,
            group=f"group-{n:02}",
            topic=f"topic-{n:02}",
            lag=n * 10 if n != 7 else None,
            oldest_unread_at=NOW - timedelta(seconds=n) if n else None,
            queues=[
                {"broker": "b-a", "queue": 0, "committed": 3, "max": 10, "eta_s": "never"},
                {"broker": "b-a", "queue": 1, "committed": 7, "max": 7},
            ],
        )
        for n in range(30)
    )
    return attached


def names(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.json()
    return [row["name"] for row in answer.json()["results"]]


def test_a_page_of_topics_costs_the_same_whatever_is_on_it(
    api: APIClient, seeded: Cluster, django_assert_num_queries: Any
) -> None:
    api.get(f"{HERE}topics/?limit=1")
    # session, user, cluster, count, keys, page, declared rows, favourites, ages
    with django_assert_num_queries(9):
        assert len(names(api.get(f"{HERE}topics/?limit=10"))) == 10
    with django_assert_num_queries(9):
        assert len(names(api.get(f"{HERE}topics/?limit=50&ordering=-lag"))) == 50


def test_a_page_of_groups_costs_the_same_whatever_is_on_it(
    api: APIClient, seeded: Cluster, django_assert_num_queries: Any
) -> None:
    api.get(f"{HERE}groups/?limit=1")
    # session, user, cluster, count, page, ages, declared rows, favourites
    with django_assert_num_queries(8):
        assert len(names(api.get(f"{HERE}groups/?limit=25&ordering=-lag"))) == 25


@pytest.mark.parametrize(
    ("ordering", "first", "last"),
    [
        ("name", "%RETRY%g", "topic-49"),
        ("-name", "topic-49", "%RETRY%g"),
        ("-messages", "topic-49", "topic-00"),
        ("-rate", "topic-49", "topic-48"),
        ("-last_write", "topic-00", "%RETRY%g"),
        ("last_write", "topic-49", "%RETRY%g"),
    ],
)
def test_topics_are_sorted_and_unknown_figures_come_last(
    api: APIClient, seeded: Cluster, ordering: str, first: str, last: str
) -> None:
    listed = names(api.get(f"{HERE}topics/?limit=100&ordering={ordering}"))
    assert listed[0] == first
    assert listed[-1] == last


def test_lag_sorts_topics_and_is_unknown_when_one_group_is(api: APIClient, seeded: Cluster) -> None:
    rows = api.get(f"{HERE}topics/?limit=100&ordering=-lag").json()["results"]
    assert [row["name"] for row in rows[:2]] == ["topic-29", "topic-28"]
    by_name = {row["name"]: row for row in rows}
    assert by_name["topic-29"]["lag"] == "290"
    assert by_name["topic-07"]["lag"] is None
    assert by_name["topic-40"]["lag"] == "0"
    assert [row["lag"] for row in rows[-2:]] == [None, None], "what is not known comes last"


def test_topics_are_searched_filtered_and_paged(api: APIClient, seeded: Cluster) -> None:
    assert names(api.get(f"{HERE}topics/?search=PIC-4")) == [f"topic-4{n}" for n in range(10)]
    assert names(api.get(f"{HERE}topics/?kind=retry")) == ["%RETRY%g"]
    page = api.get(f"{HERE}topics/?limit=5&offset=5&kind=normal").json()
    assert (page["count"], page["results"][0]["name"]) == (50, "topic-05")
    Topic.objects.create(
        cluster=seeded, name="topic-03", owner="ann", team="shop", created_at=NOW, updated_at=NOW
    )
    assert names(api.get(f"{HERE}topics/?owner=ann")) == ["topic-03"]
    assert names(api.get(f"{HERE}topics/?team=bank")) == []
    api.put(f"{HERE}topics/topic-09/favourite/", {"is_favourite": True}, format="json")
    assert names(api.get(f"{HERE}topics/?favourites=true")) == ["topic-09"]


@pytest.mark.parametrize("query", ["ordering=size", "kind=odd", "favourites=perhaps", "search=%00"])
def test_bad_queries_are_refused(api: APIClient, seeded: Cluster, query: str) -> None:
    answer = api.get(f"{HERE}topics/?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == query.partition("=")[0]


def test_a_name_pattern_hides_the_rest(seeded: Cluster) -> None:
    viewer = client_of(make_user("narrow", Role.VIEWER, names="topic-1*"))
    page = viewer.get(f"{HERE}topics/").json()
    assert page["count"] == 10
    assert viewer.get(f"{HERE}topics/topic-20/").status_code == 403
    assert viewer.get(f"{HERE}groups/").json()["count"] == 0
    assert viewer.get(f"{HERE}topics/topic-10/groups/").json()["results"] == []


def test_ages_stand_beside_the_figures(api: APIClient, seeded: Cluster) -> None:
    page = api.get(f"{HERE}topics/").json()
    assert page["freshness"]["sampled_at"] == NOW.isoformat().replace("+00:00", "Z")
    LiveBroker.objects.create(cluster=seeded, broker_name="b-b", member=0, address="127.0.0.1:2")
    ages = api.get(f"{HERE}topics/").json()["freshness"]
    assert ages["sampled_at"] is None
    assert [row["is_reachable"] for row in ages["brokers"]] == [True, False]


def test_a_topics_page_has_queues_routes_and_groups(api: APIClient, seeded: Cluster) -> None:
    page = api.get(f"{HERE}topics/topic-05/").json()
    assert page["queues"][0] == {"broker": "b-a", "queue": 0, "min": "5", "max": "10", "messages": "5"}
    assert page["declared"] is None and page["drift"] == []
    [route] = api.get(f"{HERE}topics/topic-05/routes/").json()["routes"]
    assert (route["broker"], route["write_queues"], route["has_reachable_master"]) == ("b-a", 2, True)
    [reader] = api.get(f"{HERE}topics/topic-05/groups/").json()["results"]
    assert (reader["group"], reader["lag"], reader["lag_s"]) == ("group-05", "50", 5.0)
    assert api.get(f"{HERE}topics/no-such/").status_code == 404


def test_what_was_declared_and_is_otherwise_is_drift(api: APIClient, seeded: Cluster) -> None:
    about = {"cluster": seeded, "created_at": NOW, "updated_at": NOW}
    Topic.objects.create(name="topic-05", config={"read_queues": 8, "perm": 6}, **about)
    Topic.objects.create(name="unseen", config={"read_queues": 8}, **about)
    [drift] = api.get(f"{HERE}topics/topic-05/").json()["drift"]
    assert drift == {"broker": "b-a", "field": "read_queues", "declared": "8", "live": "2"}
    unseen = api.get(f"{HERE}topics/unseen/").json()
    assert (unseen["is_live"], unseen["messages"], unseen["lag"]) == (False, None, None)
    assert unseen["drift"][0]["live"] == "missing"


def test_a_group_that_is_not_sampled_has_no_figures(api: APIClient, seeded: Cluster) -> None:
    rows = {row["name"]: row for row in api.get(f"{HERE}groups/?limit=100").json()["results"]}
    unsampled = rows["group-07"]
    assert (unsampled["lag"], unsampled["lag_s"], unsampled["member_count"]) == (None, None, None)
    assert (rows["group-00"]["lag"], rows["group-00"]["lag_s"]) == ("0", 0.0)
    assert (rows["group-05"]["lag"], rows["group-05"]["lag_s"]) == ("50", 5.0)
    assert rows["group-00"]["oldest_unread_at"] is None
    assert parse_datetime(rows["group-05"]["oldest_unread_at"]) == NOW - timedelta(seconds=5)


def test_groups_are_sorted_by_messages_and_by_seconds(api: APIClient, seeded: Cluster) -> None:
    assert names(api.get(f"{HERE}groups/?ordering=-lag&limit=1")) == ["group-29"]
    assert names(api.get(f"{HERE}groups/?ordering=-seconds&limit=1")) == ["group-29"]
    assert names(api.get(f"{HERE}groups/?ordering=seconds&limit=1")) == ["group-01"]
    assert len(names(api.get(f"{HERE}groups/?has_members=false"))) == 10


def test_the_brokers_own_groups_are_listed_when_asked_for(api: APIClient, seeded: Cluster) -> None:
    LiveGroup.objects.create(cluster=seeded, name="TOOLS_CONSUMER")
    LiveGroup.objects.create(cluster=seeded, name="CID_RMQ_SYS_TRANS")
    assert api.get(f"{HERE}groups/").json()["count"] == 30
    assert api.get(f"{HERE}groups/?system=true").json()["count"] == 32


def test_a_groups_page_has_every_queue(api: APIClient, seeded: Cluster) -> None:
    RebalanceEvent.objects.create(
        cluster=seeded, group="group-05", at=NOW, joined=["c1"], left=[], member_count=2
    )
    page = api.get(f"{HERE}groups/group-05/").json()
    first, second = page["topics"][0]["queues"]
    assert (first["lag"], first["lag_s"], first["never_clears"]) == ("7", None, True)
    assert (second["lag"], second["lag_s"]) == ("0", 0.0)
    [event] = api.get(f"{HERE}groups/group-05/rebalances/").json()["results"]
    assert (event["joined"], event["member_count"]) == (["c1"], 2)
    assert api.get(f"{HERE}groups/no-such/").status_code == 404


def test_groups_are_described_and_marked_without_asking_a_broker(api: APIClient, seeded: Cluster) -> None:
    url = f"{HERE}groups/group-05/"
    assert api.patch(url, {"owner": "ann", "labels": {"tier": "2"}}, format="json").status_code == 200
    assert api.put(f"{url}favourite/", {"is_favourite": True}, format="json").status_code == 200
    assert names(api.get(f"{HERE}groups/?favourites=true")) == ["group-05"]
    assert names(api.get(f"{HERE}groups/?owner=ann")) == ["group-05"]
    assert api.get(url).json()["labels"] == {"tier": "2"}
    assert api.put(f"{url}favourite/", {"is_favourite": False}, format="json").status_code == 200
    assert names(api.get(f"{HERE}groups/?favourites=true")) == []
    assert api.put(f"{url}favourite/", {}, format="json").status_code == 400
