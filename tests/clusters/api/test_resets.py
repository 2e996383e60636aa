"""Resets by REST on a real broker: previewed, applied by the same code, read back, undone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from clusters.models import Cluster, OffsetReset
from console.core.models import AuditEntry
from console.core.models.people import Role
from engine.client import blocking
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from tests.clusters.api.conftest import HERE, until
from tests.engine.client.servers import Cluster as EngineCluster
from tests.platform_fixtures import client_of, make_user

Made = Callable[..., str]


@pytest.fixture
def stands(
    admin: blocking.Admin, engine: EngineCluster, group: str, made: Made
) -> tuple[str, Callable[[], dict[int, int]]]:
    """A topic of two queues with ten messages each, the group at 4 and 6; and where it is now."""
    topic = made(messages=10, queues=2)
    admin.offsets.reset_queue(engine.broker, group, topic, 0, 4)
    admin.offsets.reset_queue(engine.broker, group, topic, 1, 6)
    return topic, lambda: admin.offsets.all_on_broker(engine.broker)[f"{topic}@{group}"]


def reset(api: APIClient, group: str, body: dict[str, Any], query: str = "") -> Any:
    return api.post(f"{HERE}groups/{group}/resets/{query}", body, format="json")


def moved(answer: Any) -> list[tuple[int, str | None]]:
    return [(row["queue"], row["to"]) for row in answer.json()["queues"]]


@pytest.mark.parametrize(
    ("body", "ends", "replayed", "skipped"),
    [
        ({"to": "earliest"}, {0: 0, 1: 0}, "10", "0"),
        ({"to": "latest"}, {0: 10, 1: 10}, "0", "10"),
        ({"to": "shift", "by": "-3"}, {0: 1, 1: 3}, "6", "0"),
        ({"to": "shift", "by": 5}, {0: 9, 1: 10}, "0", "9"),
    ],
)
def test_a_preview_says_what_the_reset_then_does(
    api: APIClient,
    attached: Cluster,
    group: str,
    stands: tuple[str, Callable[[], dict[int, int]]],
    body: dict[str, Any],
    ends: dict[int, int],
    replayed: str,
    skipped: str,
) -> None:
    topic, now = stands
    body = body | {"topics": [topic]}
    preview = reset(api, group, body, "?dry_run=true")
    assert preview.status_code == 200, preview.json()
    assert (preview.json()["replayed"], preview.json()["skipped"]) == (replayed, skipped)
    assert preview.json()["members_online"] == 0
    assert now() == {0: 4, 1: 6} and not OffsetReset.objects.exists()
    done = reset(api, group, body)
    assert done.status_code == 201, done.json()
    assert moved(done) == moved(preview) == [(queue, str(offset)) for queue, offset in ends.items()]
    assert now() == ends
    assert all(row["ok"] and row["read_back"] == row["to"] for row in done.json()["queues"])


def test_a_reset_by_time_goes_to_the_first_message_after_it(
    api: APIClient, attached: Cluster, group: str, stands: tuple[str, Callable[[], dict[int, int]]]
) -> None:
    topic, now = stands
    before = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    assert reset(api, group, {"to": "time", "at": before, "topics": [topic]}).status_code == 201
    assert now() == {0: 0, 1: 0}
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert reset(api, group, {"to": "time", "at": later, "topics": [topic]}).status_code == 201
    assert now() == {0: 10, 1: 10}


def test_exact_queues_move_and_the_others_stay(
    api: APIClient,
    attached: Cluster,
    group: str,
    stands: tuple[str, Callable[[], dict[int, int]]],
    engine: EngineCluster,
) -> None:
    topic, now = stands
    place = {"topic": topic, "broker": engine.broker_name, "queue": 1, "offset": "2"}
    assert reset(api, group, {"to": "exact", "queues": [place]}).status_code == 201
    assert now() == {0: 4, 1: 2}
    for wrong in ({"offset": "11"}, {"queue": 7}, {"broker": "nobody"}):
        answer = reset(api, group, {"to": "exact", "queues": [place | wrong]})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "queues")
    assert now() == {0: 4, 1: 2}


def test_a_group_is_put_beside_another(
    api: APIClient,
    attached: Cluster,
    admin: blocking.Admin,
    engine: EngineCluster,
    stands: tuple[str, Callable[[], dict[int, int]]],
    group: str,
    fresh: Callable[[str], str],
) -> None:
    topic, _ = stands
    other = fresh("beside")
    admin.groups.create(engine.broker, SubscriptionGroupConfig(other))
    body = {"to": "copy", "source_group": group, "topics": [topic]}
    preview = reset(api, other, body, "?dry_run=true").json()
    assert preview["replayed"] is None, "nothing was committed before: that is not zero"
    assert reset(api, other, body).status_code == 201
    assert admin.offsets.all_on_broker(engine.broker)[f"{topic}@{other}"] == {0: 4, 1: 6}


def test_an_undo_puts_the_old_offsets_back_and_says_what_was_read_meanwhile(
    api: APIClient,
    attached: Cluster,
    admin: blocking.Admin,
    engine: EngineCluster,
    group: str,
    stands: tuple[str, Callable[[], dict[int, int]]],
) -> None:
    topic, now = stands
    done = reset(api, group, {"to": "earliest"}).json()
    assert now() == {0: 0, 1: 0}
    admin.offsets.reset_queue(engine.broker, group, topic, 0, 2)
    url = f"{HERE}groups/{group}/resets/{done['id']}/"
    preview = api.post(f"{url}undo/?dry_run=true").json()
    assert [(row["to"], row["consumed_meanwhile"]) for row in preview["queues"]] == [("4", "2"), ("6", "0")]
    assert now() == {0: 2, 1: 0}
    undone = api.post(f"{url}undo/")
    assert (undone.status_code, undone.json()["undoes"]) == (201, done["id"])
    assert now() == {0: 4, 1: 6}
    listed = api.get(f"{HERE}groups/{group}/resets/").json()
    assert [row["target"]["to"] for row in listed["results"]] == ["undo", "earliest"]
    assert api.get(url).json()["queues"][0]["committed"] == "4"
    actions = AuditEntry.objects.filter(target=group, phase="outcome").order_by("id")
    assert list(actions.values_list("action", "is_ok")) == [("offsets.reset", True), ("offsets.undo", True)]


def test_an_online_group_gets_the_messages_again(
    api: APIClient,
    attached: Cluster,
    group: str,
    made: Made,
    member: Callable[..., list[Any]],
) -> None:
    topic = made(messages=3, queues=2)
    got = member(group, topic)
    until(lambda: len(got) == 6)
    until(lambda: _committed(api, group, topic) == ["3", "3"])
    done = reset(api, group, {"to": "earliest", "topics": [topic]})
    assert done.status_code == 201, done.json()
    until(lambda: len(got) >= 12)
    for row in done.json()["queues"]:
        # The member goes on at once: what was read back is the new offset, or further and said so.
        assert row["ok"] and (row["read_back"] == "0" or "gone on" in row["detail"])


def _committed(api: APIClient, group: str, topic: str) -> list[str | None]:
    preview = reset(api, group, {"to": "latest", "topics": [topic]}, "?dry_run=true").json()
    return [row["committed"] for row in preview["queues"]]


def test_queues_that_cannot_be_shifted_are_named(
    api: APIClient, attached: Cluster, group: str, made: Made, admin: blocking.Admin, engine: EngineCluster
) -> None:
    topic = made(messages=3, queues=2)
    nothing = reset(api, group, {"to": "shift", "by": -1, "topics": [topic]})
    assert (nothing.status_code, nothing.json()["code"]) == (409, "nothing_to_move")
    admin.offsets.reset_queue(engine.broker, group, topic, 0, 2)
    partial = reset(api, group, {"to": "shift", "by": -1, "topics": [topic]})
    assert partial.status_code == 207 and not partial.json()["is_complete"]
    assert [row["ok"] for row in partial.json()["queues"]] == [True, False]
    assert "nothing is committed" in partial.json()["queues"][1]["detail"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "to"),
        ({"to": "sideways"}, "to"),
        ({"to": "time"}, "at"),
        ({"to": "time", "at": "yesterday"}, "at"),
        ({"to": "shift"}, "by"),
        ({"to": "shift", "by": 2**63}, "by"),
        ({"to": "exact", "queues": []}, "queues"),
        ({"to": "copy"}, "source_group"),
        ({"to": "latest", "by": 3}, "by"),
        ({"to": "latest", "topics": ["a b"]}, "topics"),
        ({"to": "latest", "topics": ["no-such-topic"]}, "topics"),
        ({"to": "latest"}, "topics"),
    ],
)
def test_bad_input_is_refused_with_its_field(
    api: APIClient, attached: Cluster, group: str, body: dict[str, Any], field: str
) -> None:
    answer = reset(api, group, body)
    assert 400 <= answer.status_code < 500
    assert answer.json()["errors"][0]["field"].startswith(field), answer.json()
    assert not OffsetReset.objects.exists()


def test_a_group_that_no_broker_knows_is_not_reset(
    api: APIClient, attached: Cluster, made: Made, fresh: Callable[[str], str]
) -> None:
    answer = reset(api, fresh("stranger"), {"to": "latest", "topics": [made(messages=1)]})
    assert answer.status_code == 502
    assert OffsetReset.objects.get().state == "failed"
    assert AuditEntry.objects.filter(action="offsets.reset", phase="outcome").get().is_ok is False


def test_rights_are_asked_for_the_group_its_topics_and_the_other_group(
    attached: Cluster, group: str, stands: tuple[str, Any]
) -> None:
    topic, _ = stands
    own = client_of(make_user("own", Role.OPERATOR, names="group-*"))
    assert reset(own, group, {"to": "latest", "topics": [topic]}).status_code == 403
    assert reset(own, group, {"to": "copy", "source_group": "bank"}).status_code == 403
    assert reset(own, "bank", {"to": "latest"}).status_code == 403
