"""Dead letters by REST, made by a real consumer that fails: listing, triage, resending, redriving, kills."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from clusters.actions.dead_letters import harmless
from clusters.actions.redrive_runs import do_run_redrive, open_redrives
from clusters.models import Cluster, LiveTopic, MaskRule, Redrive, RedriveOutcome
from clusters.selectors.redriving import Tally, stop_reason
from console.core.job_leases import LEASE
from console.core.models import AuditEntry
from console.core.models.people import Role
from engine.client import Message, blocking
from tests.clusters.failing_consumers import NO_DELAY, Collected, bury, consuming, dead_letters, fail, until
from tests.engine.client.servers import ROOT, start_broker, start_name_server
from tests.engine.client.servers import Cluster as EngineCluster
from tests.platform_fixtures import People, client_of, make_user
from tests.platform_processes import database_url

HERE = "/api/v1/clusters/attached/"


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineCluster]:
    """A broker of its own: retries take no time."""
    home = tmp_path_factory.mktemp("mortal")
    name_server = start_name_server(home)
    broker = start_broker(
        home, name_server.address, "mortal-a", messageDelayLevel=NO_DELAY, traceTopicEnable="true"
    )
    yield EngineCluster(name_server.address, "mortal-a", broker.address)
    broker.stop()
    name_server.stop()


@pytest.fixture
def cluster(db: None, mortal: EngineCluster, redis: str) -> Cluster:
    return Cluster.objects.create(
        name="attached",
        broker_cluster_name="ClientCluster",
        kind=Cluster.Kind.ATTACHED,
        name_server_addresses=[mortal.namesrv],
        broker_addresses=[mortal.broker],
        created_at=timezone.now(),
    )


@pytest.fixture(scope="module")
def buried(mortal: EngineCluster) -> tuple[str, str]:
    """A topic, and a group with nine dead letters of three causes; read only."""
    topic, group = "shared-orders", "shared-billing"
    messages = [
        Message(topic, b"%d" % n, tags="paid", keys=f"order-{n}", properties={"n": str(n)}) for n in range(7)
    ]
    messages += [Message(topic, b'=HYPERLINK("x")', tags="sent"), Message(topic, b"\xff\xfe", keys="@cmd")]
    bury(mortal.namesrv, topic, group, messages)
    return topic, group


@pytest.fixture
def grave(mortal: EngineCluster, fresh: Callable[[str], str]) -> Callable[[int], tuple[str, str]]:
    """A topic and a group with so many dead letters."""

    def dug(count: int) -> tuple[str, str]:
        topic, group = fresh("grave"), fresh("dead")
        bury(mortal.namesrv, topic, group, [Message(topic, b"%d" % n, keys=f"k{n}") for n in range(count)])
        return topic, group

    return dug


def letters(client: APIClient, group: str, **query: Any) -> list[dict[str, Any]]:
    answer = client.get(f"{HERE}dlq/{group}/", {"order": "oldest", "limit": 100} | query)
    assert answer.status_code == 200, answer.content
    return answer.json()["messages"]


def redrive(client: APIClient, group: str, **asked: Any) -> dict[str, Any]:
    given = {"all": True, "canary": 0, "rate": 500} | asked
    answer = client.post(f"{HERE}dlq/{group}/redrives/", given, format="json")
    assert answer.status_code == 202, answer.content
    return answer.json()


def run(
    job: dict[str, Any], ahead: timedelta = timedelta(), sleep: Callable[[float], None] = time.sleep
) -> bool:
    return do_run_redrive(
        uuid.UUID(job["id"]), worker="test", clock=lambda: timezone.now() + ahead, sleep=sleep
    )


def got(client: APIClient, job: dict[str, Any]) -> dict[str, Any]:
    return client.get(f"{HERE}redrives/{job['id']}/").json()


# -- listing ------------------------------------------------------------------------------------------------


def test_a_dead_letter_says_where_it_came_from_and_how_often_it_was_tried(
    people: People, cluster: Cluster, buried: tuple[str, str]
) -> None:
    topic, group = buried
    found = letters(people.viewer, group, reasons=True)
    assert len(found) == 9
    first = next(one for one in found if one["body"]["text"] == "0")
    assert (first["topic"], first["origin_topic"], first["tries"]) == (f"%DLQ%{group}", topic, 2)
    assert (first["tags"], first["keys"], first["properties"]["n"]) == ("paid", ["order-0"], "0")
    assert (first["reason"], first["redriven"]) == ("EXCEPTION", None)
    assert len(first["origin_id"]) == 32
    assert AuditEntry.objects.filter(action="message.read", target=f"%DLQ%{group}").count() == 1


def test_letters_are_bundled_by_what_they_have_in_common(
    api: APIClient, cluster: Cluster, buried: tuple[str, str]
) -> None:
    _topic, group = buried
    triage = api.get(f"{HERE}dlq/{group}/signatures/").json()
    assert (triage["scanned"], triage["about"], triage["is_complete"]) == ("9", "9", True)
    found = [(one["count"], one["tag"], one["key_stem"], one["reason"]) for one in triage["signatures"]]
    assert found[0] == (7, "paid", "order-", "EXCEPTION")
    assert sorted(found[1:], key=str) == sorted(
        [(1, "sent", None, "EXCEPTION"), (1, None, "@cmd", "EXCEPTION")], key=str
    )
    part = api.get(f"{HERE}dlq/{group}/signatures/", {"max_scan": 4}).json()
    assert (part["scanned"], part["is_complete"]) == ("4", False)


def test_an_export_is_harmless_and_says_whether_it_is_whole(
    api: APIClient, cluster: Cluster, buried: tuple[str, str]
) -> None:
    _topic, group = buried
    answer = api.get(f"{HERE}dlq/{group}/export/", {"format": "csv"})
    assert answer["Content-Type"].startswith("text/csv")
    assert (answer["X-Content-Type-Options"], "attachment" in answer["Content-Disposition"]) == (
        "nosniff",
        True,
    )
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert len(rows) == 9
    assert not [cell for row in rows for cell in row.values() if cell[:1] in ("=", "+", "-", "@")]
    assert '\'=HYPERLINK("x")' in {row["body"] for row in rows}
    cut = api.get(f"{HERE}dlq/{group}/export/", {"max_messages": 4}).content.decode().splitlines()
    assert (len(cut), cut[-1]) == (6, "incomplete: 4 of about 9")
    document = json.loads(api.get(f"{HERE}dlq/{group}/export/", {"format": "json"}).content)
    assert (len(document["messages"]), document["is_complete"]) == (9, True)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_cell_that_begins_like_a_formula_is_quoted(cell: str) -> None:
    assert harmless(cell) == "'" + cell


def test_groups_with_dead_letters_come_from_live_rows_with_a_pinned_number_of_queries(
    people: People, cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for name, count in [("a", 5), ("b", 9), ("team-c", None), ("empty", 0)]:
        LiveTopic.objects.create(
            cluster=cluster,
            name=f"%DLQ%{name}",
            kind="dlq",
            read_queues=1,
            write_queues=1,
            perm=6,
            messages=count,
        )
    with django_assert_num_queries(8):  # session, user, grants, cluster, count, page, redrives, freshness
        page = people.viewer.get(f"{HERE}dlq/").json()
    assert [(row["group"], row["messages"]) for row in page["results"]] == [
        ("b", "9"),
        ("a", "5"),
        ("team-c", None),
    ]
    team = client_of(make_user("team", Role.VIEWER, names="team-*"))
    assert [row["group"] for row in team.get(f"{HERE}dlq/").json()["results"]] == ["team-c"]
    assert team.get(f"{HERE}dlq/a/").status_code == 403
    assert people.viewer.get(f"{HERE}dlq/", {"ordering": "evil"}).status_code == 400
    found = people.viewer.get(f"{HERE}dlq/", {"search": "TEAM"}).json()
    assert found["count"] == 1


def test_redrives_are_listed_with_a_pinned_number_of_queries(
    people: People,
    cluster: Cluster,
    buried: tuple[str, str],
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    _topic, group = buried
    for _ in range(3):
        job = redrive(people.operator, group)
        assert people.operator.post(f"{HERE}redrives/{job['id']}/cancel/").status_code == 200
    redrive(people.operator, group)
    with django_assert_num_queries(8):  # session, user, grants, cluster, masks, count, page, tallies
        page = people.viewer.get(f"{HERE}redrives/").json()
    assert [row["state"] for row in page["results"]] == ["running"] + ["cancelled"] * 3
    open_ones = people.viewer.get(f"{HERE}redrives/", {"state": "running", "group": group}).json()
    assert open_ones["count"] == 1
    team = client_of(make_user("team", Role.ADMIN, names="team-*"))
    assert team.get(f"{HERE}redrives/").json()["count"] == 0
    assert team.post(f"{HERE}redrives/{page['results'][0]['id']}/cancel/").status_code == 404
    assert people.viewer.post(f"{HERE}redrives/{page['results'][0]['id']}/cancel/").status_code == 403


def test_a_group_without_dead_letters_is_not_found(api: APIClient, cluster: Cluster) -> None:
    assert api.get(f"{HERE}dlq/nobody/").status_code == 404
    answer = api.post(f"{HERE}dlq/nobody/redrives/", {"all": True}, format="json")
    assert answer.status_code == 404


def test_the_masks_of_the_topic_they_came_from_hold_for_dead_letters(
    people: People, cluster: Cluster, buried: tuple[str, str]
) -> None:
    topic, group = buried
    MaskRule.objects.create(
        cluster_pattern="*", topic_pattern=topic, hides_body=True, created_by="t", created_at=timezone.now()
    )
    assert {one["body"]["kind"] for one in letters(people.viewer, group)} == {"masked"}
    assert "HYPERLINK" not in people.viewer.get(f"{HERE}dlq/{group}/export/").content.decode()
    page = people.viewer.get(f"{HERE}dlq/{group}/", {"body": "HYPERLINK"}).json()
    assert (page["messages"], page["withheld"], page["is_complete"]) == ([], 9, False)


# -- sending again ------------------------------------------------------------------------------------------


def test_a_letter_is_changed_and_reaches_its_group_alone(
    people: People, cluster: Cluster, mortal: EngineCluster, grave: Callable[[int], tuple[str, str]]
) -> None:
    topic, group = grave(1)
    [letter] = letters(people.operator, group)
    resend = f"{HERE}dlq/{group}/messages/{letter['offset_id']}/resend/"
    assert people.viewer.post(resend, {}, format="json").status_code == 403
    other = people.operator.post(resend.replace(group, "another"), {}, format="json")
    assert other.status_code == 404
    fixed, others = Collected(), Collected()
    with (
        consuming(mortal.namesrv, group, topic, fixed),
        consuming(mortal.namesrv, f"{group}-other", topic, others),
    ):
        until(lambda: others.bodies == [b"0"], "the other group gets the first message")
        answer = people.operator.post(resend, {"body": "mended", "tags": "fixed"}, format="json")
        assert (answer.status_code, answer.json()["fate"]) == (200, "sent")
        until(lambda: b"mended" in fixed.bodies, "the group gets it")
        time.sleep(0.5)
    assert others.bodies == [b"0"]
    intent = AuditEntry.objects.get(action="dead_letter.resend", phase="intent")
    assert intent.details["edited"] == ["body", "tags"]
    assert intent.details["body_before"] != intent.details["body_after"]
    assert "mended" not in json.dumps(intent.details)


def test_all_letters_are_redriven_once_each_with_an_outcome(
    people: People, cluster: Cluster, mortal: EngineCluster, grave: Callable[[int], tuple[str, str]]
) -> None:
    topic, group = grave(12)
    plan = people.operator.post(
        f"{HERE}dlq/{group}/redrives/?dry_run=true", {"all": True}, format="json"
    ).json()
    assert (plan["total"], Redrive.objects.count()) == ("12", 0)
    assert plan["plan"][0] == f"send 12 dead letters to {group} alone, through its retry topic"
    assert people.viewer.post(f"{HERE}dlq/{group}/redrives/", {"all": True}, format="json").status_code == 403
    healed = Collected()
    with consuming(mortal.namesrv, group, topic, healed):
        job = redrive(people.operator, group, canary=3, canary_window_s=1)
        assert job["state"] == "canary"
        assert run(job) is False
        until(lambda: len(healed.bodies) >= 12, "all are consumed")
    done = got(people.viewer, job)
    assert (done["state"], done["position"], done["outcomes"]["sent"]) == ("done", "12", 12)
    assert sorted(map(int, healed.bodies)) == list(range(12))
    page = people.viewer.get(f"{HERE}redrives/{job['id']}/outcomes/", {"state": "sent"}).json()
    assert page["count"] == 12
    one = page["results"][0]
    assert (one["status"], one["topic"]) == ("SEND_OK", f"%RETRY%{group}")
    assert {letter["redriven"] for letter in letters(people.viewer, group)} == {"sent"}
    actions = AuditEntry.objects.filter(action__startswith="redrive.").order_by("id")
    assert [(row.action, row.actor) for row in actions] == [
        ("redrive.create", "operator"),
        ("redrive.done", "system:redrives"),
    ]
    file = people.viewer.get(f"{HERE}redrives/{job['id']}/export/").content.decode()
    assert [row["state"] for row in csv.DictReader(io.StringIO(file))] == ["sent"] * 12
    rows = json.loads(people.viewer.get(f"{HERE}redrives/{job['id']}/export/", {"format": "json"}).content)
    assert [row["position"] for row in rows] == [str(n) for n in range(12)]
    again = redrive(people.operator, group)
    run(again)
    assert got(people.operator, again)["outcomes"]["skipped"] == 12


def test_a_canary_that_comes_back_stops_the_rest(
    api: APIClient, cluster: Cluster, mortal: EngineCluster, grave: Callable[[int], tuple[str, str]]
) -> None:
    topic, group = grave(10)
    with consuming(mortal.namesrv, group, topic, fail):
        job = redrive(api, group, canary=3, canary_window_s=30, max_failure_share=0.3)
        assert run(job) is False
    stopped = got(api, job)
    assert (stopped["state"], stopped["position"]) == ("stopped", "3")
    assert "came back" in stopped["reason"]
    assert stopped["outcomes"]["came_back"] >= 1
    busy = api.post(f"{HERE}dlq/{group}/redrives/", {"all": True}, format="json")
    assert (busy.status_code, busy.json()["code"]) == (409, "busy")
    assert AuditEntry.objects.filter(action="redrive.stopped").count() == 1
    resumed = api.post(f"{HERE}redrives/{job['id']}/resume/").json()
    # As it was: a canary may come back while the last of it is still being sent.
    assert resumed["state"] in ("canary", "watching")
    cancelled = api.post(f"{HERE}redrives/{job['id']}/cancel/").json()
    assert (cancelled["state"], cancelled["position"]) == ("cancelled", "3")
    assert run(job) is False
    assert dead_letters(mortal.namesrv, group) == 13


def test_the_rate_is_kept_and_a_pause_holds(
    api: APIClient, cluster: Cluster, grave: Callable[[int], tuple[str, str]]
) -> None:
    _topic, group = grave(9)
    slept: list[float] = []
    job = redrive(api, group, rate=4)

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 1:
            assert api.post(f"{HERE}redrives/{job['id']}/pause/").json()["state"] == "paused"

    assert run(job, sleep=sleep) is False
    assert (got(api, job)["state"], got(api, job)["outcomes"]["sent"]) == ("paused", 4)
    assert 0.5 < slept[0] <= 1.0
    assert run(job, sleep=sleep) is False, "a paused one stays"
    assert api.post(f"{HERE}redrives/{job['id']}/pause/").status_code == 409
    assert api.post(f"{HERE}redrives/{job['id']}/resume/").json()["state"] == "running"
    run(job, sleep=sleep)
    assert (got(api, job)["state"], got(api, job)["outcomes"]["sent"]) == ("done", 9)
    assert len(slept) == 3


def test_a_selection_is_redriven_and_strangers_in_it_are_refused(
    api: APIClient, cluster: Cluster, mortal: EngineCluster, grave: Callable[[int], tuple[str, str]]
) -> None:
    topic, group = grave(3)
    chosen = [one["offset_id"] for one in letters(api, group)][:2]
    with blocking.Producer("p", namesrv=mortal.namesrv) as producer:
        stranger = producer.send(Message(topic, b"alive")).offset_msg_id
    job = redrive(
        api, group, all=False, selection=[*chosen, stranger, "7F000001" + "0" * 24], max_failure_share=1
    )
    run(job)
    outcomes = api.get(f"{HERE}redrives/{job['id']}/outcomes/").json()["results"]
    assert [one["state"] for one in outcomes] == ["sent", "sent", "refused", "refused"]
    assert "no dead letter" in outcomes[2]["detail"]
    assert "not a broker of this cluster" in outcomes[3]["detail"]


def test_a_redrive_to_topics_needs_rights_there_and_obeys_masks(
    cluster: Cluster, mortal: EngineCluster, grave: Callable[[int], tuple[str, str]]
) -> None:
    topic, group = grave(2)
    with blocking.Producer("p", namesrv=mortal.namesrv) as producer:
        producer.send(Message(f"{topic}-open", b"x"))
    owner = client_of(make_user("owner", Role.OPERATOR, names=f"{group}*"))
    job = redrive(owner, group, target="original", max_failure_share=1)
    run(job)
    assert got(owner, job)["outcomes"]["refused"] == 2
    elsewhere = {"all": True, "target": "topic", "topic": f"{topic}-open"}
    assert owner.post(f"{HERE}dlq/{group}/redrives/", elsewhere, format="json").status_code == 403
    both = client_of(make_user("both", Role.OPERATOR))
    MaskRule.objects.create(
        cluster_pattern="*", topic_pattern=topic, hides_body=True, created_by="t", created_at=timezone.now()
    )
    masked = redrive(both, group, target="topic", topic=f"{topic}-open", max_failure_share=1)
    run(masked)
    outcomes = RedriveOutcome.objects.filter(redrive_id=masked["id"])
    assert {(one.state, "masking rule" in one.detail) for one in outcomes} == {("refused", True)}
    origin = redrive(both, group, target="original")
    run(origin)
    assert got(both, origin)["outcomes"]["sent"] == 2


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"all": True, "selection": ["0" * 32]},
        {"selection": []},
        {"selection": ["../x"]},
        {"all": True, "target": "topic"},
        {"all": True, "topic": "t"},
        {"all": True, "rate": 0},
        {"all": True, "max_failure_share": 2},
        {"all": True, "canary": -1},
    ],
)
def test_a_redrive_that_makes_no_sense_is_refused(
    api: APIClient, cluster: Cluster, asked: dict[str, Any]
) -> None:
    answer = api.post(f"{HERE}dlq/anything/redrives/", asked, format="json")
    assert (answer.status_code, Redrive.objects.count()) == (400, 0), answer.content


@pytest.mark.parametrize(
    ("tally", "canary", "share", "stops"),
    [
        (Tally(sent=9, refused=1), 10, 0.1, False),
        (Tally(sent=8, came_back=2), 10, 0.1, True),
        (Tally(unsure=1), 10, 0.1, False),
        (Tally(unsure=1), 0, 0.5, True),
        (Tally(sent=1000, came_back=50, refused=51), 10, 0.1, False),
        (Tally(refused=1), 1, 0.0, True),
        (Tally(skipped=100), 10, 0.0, False),
        (Tally(refused=100), 10, 1.0, False),
    ],
)
def test_it_stops_when_the_share_is_exceeded(tally: Tally, canary: int, share: float, stops: bool) -> None:
    assert bool(stop_reason(tally, canary=canary, max_share=share)) is stops


# -- kills --------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("moment", "fate"), [("before", "unsure"), ("after", "sent")])
def test_a_killed_worker_costs_no_letter_and_sends_none_twice(
    api: APIClient,
    cluster: Cluster,
    mortal: EngineCluster,
    grave: Callable[[int], tuple[str, str]],
    moment: str,
    fate: str,
) -> None:
    topic, group = grave(10)
    job = redrive(api, group, rate=3, max_failure_share=1)
    environment = os.environ | {"DATABASE_URL": database_url()}
    died = subprocess.run(
        [sys.executable, "-m", "tests.clusters.redrive_worker", job["id"], moment, "2"],
        cwd=ROOT,
        env=environment,
        timeout=60,
    )
    assert died.returncode == -signal.SIGKILL
    left = got(api, job)
    assert (left["position"], left["outcomes"]["sent"], left["outcomes"]["under_way"]) == ("6", 3, 3)
    assert run(job) is False and got(api, job)["outcomes"]["under_way"] == 3, "its lease still holds"
    ahead = LEASE + timedelta(seconds=1)
    assert open_redrives(timezone.now() + ahead) == [uuid.UUID(job["id"])]
    run(job, ahead=ahead, sleep=lambda seconds: None)
    done = got(api, job)
    unsure = 3 if fate == "unsure" else 0
    assert (done["state"], done["outcomes"]["sent"], done["outcomes"]["unsure"]) == (
        "done",
        10 - unsure,
        unsure,
    )
    told = {one["offset_id"] for one in api.get(f"{HERE}redrives/{job['id']}/outcomes/").json()["results"]}
    assert told == {one["offset_id"] for one in letters(api, group)}
    healed = Collected()
    with consuming(mortal.namesrv, group, topic, healed):
        until(lambda: len(healed.bodies) >= 10 - unsure, "what was sent is consumed")
        time.sleep(0.5)
    assert len(healed.bodies) == len(set(healed.bodies)) == 10 - unsure


@pytest.mark.django_db(transaction=True)
def test_intents_of_a_cancelled_redrive_are_settled_too(
    api: APIClient, cluster: Cluster, grave: Callable[[int], tuple[str, str]]
) -> None:
    _topic, group = grave(4)
    job = redrive(api, group, rate=2)
    environment = os.environ | {"DATABASE_URL": database_url()}
    subprocess.run(
        [sys.executable, "-m", "tests.clusters.redrive_worker", job["id"], "after", "1"],
        cwd=ROOT,
        env=environment,
        timeout=60,
    )
    assert api.post(f"{HERE}redrives/{job['id']}/cancel/").status_code == 200
    ahead = LEASE + timedelta(seconds=1)
    assert open_redrives(timezone.now() + ahead) == [uuid.UUID(job["id"])]
    run(job, ahead=ahead)
    left = got(api, job)
    assert (left["state"], left["outcomes"]["sent"], left["outcomes"]["under_way"]) == ("cancelled", 2, 0)
    assert open_redrives(timezone.now() + ahead) == []
