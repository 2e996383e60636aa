"""One search: everything that has a name, only what one may see, without asking a broker."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.utils import timezone

from clusters.models import Cluster, ConsumerGroup, LiveBroker, LiveGroup, LiveTopic, Operation, Topic
from console.core.models.people import Role
from engine.protocol.message_ids import offset_msg_id
from tests.platform_fixtures import People, client_of, make_user

pytestmark = pytest.mark.django_db
SEARCH = "/api/v1/search/"
UNIQUE = "7F00000100002A9F0000000000000A1B"


@pytest.fixture
def filled() -> None:
    now = timezone.now()
    for name in ("prod", "other-1"):
        cluster = Cluster.objects.create(name=name, broker_cluster_name="C", kind="attached", created_at=now)
        for topic in ("orders", "orders-eu", "my-Orders", "%RETRY%orders", "billing"):
            LiveTopic.objects.create(
                cluster=cluster, name=topic, kind="normal", read_queues=8, write_queues=8, perm=6
            )
        LiveGroup.objects.create(cluster=cluster, name="orders-reader")
        Topic.objects.create(cluster=cluster, name="orders-next", created_at=now, updated_at=now)
        Topic.objects.create(
            cluster=cluster, name="orders-gone", created_at=now, updated_at=now, deleted_at=now
        )
        ConsumerGroup.objects.create(cluster=cluster, name="orders-reader", created_at=now, updated_at=now)


def names(answer: Any, kind: str) -> list[str]:
    return [f"{hit['cluster']}/{hit['name']}" for hit in answer.json()["results"] if hit["kind"] == kind]


def test_the_very_name_comes_first_then_what_begins_so(people: People, filled: None) -> None:
    answer = people.admin.get(f"{SEARCH}?q=orders&limit=50")
    found = [name for name in names(answer, "topic") if name.startswith("prod/")]
    assert found == [
        "prod/orders",
        "prod/orders-eu",
        "prod/%RETRY%orders",
        "prod/my-Orders",
        "prod/orders-next",
    ]
    assert names(answer, "group") == ["other-1/orders-reader", "prod/orders-reader"]
    assert "%25RETRY%25orders" in str(answer.json())


def test_nobody_finds_what_they_may_not_see(people: People, filled: None) -> None:
    answer = people.other.get(f"{SEARCH}?q=r&limit=50")
    assert names(answer, "cluster") == ["other-1/other-1"]
    assert {name.split("/")[0] for name in names(answer, "topic")} == {"other-1"}
    assert names(answer, "user") == []
    narrow = client_of(make_user("narrow", Role.VIEWER, "prod", "orders*"))
    assert names(narrow.get(f"{SEARCH}?q=r"), "topic") == [
        "prod/orders",
        "prod/orders-eu",
        "prod/orders-next",
    ]
    nobody = client_of(make_user("nobody"))
    assert nobody.get(f"{SEARCH}?q=o").json()["results"] == []


def test_a_deleted_clusters_rows_are_gone(people: People, filled: None) -> None:
    Cluster.objects.filter(name="prod").update(deleted_at=timezone.now())
    assert "prod/" not in str(names(people.admin.get(f"{SEARCH}?q=orders&limit=50"), "topic"))


def test_people_are_found_by_administrators(people: People) -> None:
    answer = people.admin.get(f"{SEARCH}?q=view&kind=user")
    assert [hit["name"] for hit in answer.json()["results"]] == ["viewer"]


def test_an_operation_is_found_by_its_id(people: People, filled: None) -> None:
    operation = Operation.objects.create(
        cluster=Cluster.objects.get(name="prod"),
        kind="x",
        summary="grow prod",
        state="running",
        created_by="ann",
        created_at=timezone.now(),
    )
    [hit] = people.viewer.get(f"{SEARCH}?q={operation.pk}").json()["results"]
    assert (hit["kind"], hit["detail"]) == ("operation", "grow prod")
    assert people.other.get(f"{SEARCH}?q={operation.pk}").json()["results"] == []
    assert people.viewer.get(f"{SEARCH}?q={uuid.uuid4()}").json()["results"] == []


def test_a_message_id_is_known_by_its_shape(people: People, filled: None) -> None:
    answer = people.viewer.get(f"{SEARCH}?q={UNIQUE}&kind=message")
    assert names(answer, "message") == [f"other-1/{UNIQUE}", f"prod/{UNIQUE}"]
    assert people.viewer.get(f"{SEARCH}?q={UNIQUE[:-1]}").json()["results"] == []


def test_an_id_that_names_a_known_broker_leads_to_its_cluster(people: People, filled: None) -> None:
    LiveBroker.objects.create(
        cluster=Cluster.objects.get(name="prod"), broker_name="b", member=0, address="10.0.0.7:10911"
    )
    known = offset_msg_id(("10.0.0.7", 10911), 4711)
    assert names(people.viewer.get(f"{SEARCH}?q={known}"), "message") == [f"prod/{known}"]
    assert people.other.get(f"{SEARCH}?q={known}&kind=message").json()["results"][0]["cluster"] == "other-1"


def test_more_is_said_not_hidden(people: People, filled: None) -> None:
    answer = people.admin.get(f"{SEARCH}?q=orders&limit=2").json()
    assert answer["more"] == ["topic"]
    assert [hit["kind"] for hit in answer["results"]].count("topic") == 2


@pytest.mark.parametrize("query", ["", "q=", "q=x&limit=0", "q=x&limit=51", "q=x&kind=secret", "q=%00"])
def test_a_bad_question_is_refused(people: People, query: str) -> None:
    assert people.viewer.get(f"{SEARCH}?{query}").status_code == 400


@pytest.mark.parametrize("text", ["100%", "a_b", "\\", "'", "*"])
def test_characters_that_mean_something_to_databases_mean_themselves(people: People, text: str) -> None:
    answer = people.admin.get(SEARCH, {"q": text})
    assert (answer.status_code, answer.json()["results"]) == (200, [])


def test_a_search_takes_a_fixed_number_of_queries(
    people: People, filled: None, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(9):
        people.admin.get(f"{SEARCH}?q=orders")
