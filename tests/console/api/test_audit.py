"""Reading the chain: filters, pairs, differences, exports, and tampering found."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from console.core import audit
from console.core.actors import Actor
from console.core.models import AuditEntry
from console.core.models.people import Role
from tests.platform_fixtures import People, client_of, make_user

pytestmark = pytest.mark.django_db
AUDIT = "/api/v1/audit/"
ANN = Actor("ann", "10.0.0.1")


def record(action: str = "topic.create", **values: Any) -> AuditEntry:
    return audit.record(values.pop("actor", ANN), action, **{"now": timezone.now(), **values})


def test_rows_are_found_by_what_they_say(people: People) -> None:
    now = timezone.now()
    record(cluster="prod", target="orders", now=now - timedelta(days=2))
    record("topic.delete", cluster="prod", target="billing", is_ok=False)
    record("user.create", actor=Actor("bob"), target="zoe")
    day = (now - timedelta(days=1)).isoformat().replace("+00:00", "Z")
    for query, count in {
        "": 3,
        "actor=bob": 1,
        "action=topic.": 2,
        "action=topic.delete": 1,
        "cluster=prod&target=ord": 1,
        "is_ok=false": 1,
        f"since={day}": 2,
        f"until={day}": 1,
        "actor=nobody": 0,
    }.items():
        assert people.admin.get(f"{AUDIT}?{query}").json()["count"] == count, query
    assert people.admin.get(f"{AUDIT}?since=yesterday").status_code == 400
    assert people.admin.get(f"{AUDIT}?actor=%00").status_code == 400


def test_a_list_takes_a_fixed_number_of_queries(people: People, django_assert_num_queries: Any) -> None:
    for number in range(20):
        record(target=str(number))
    with django_assert_num_queries(5):
        assert len(people.admin.get(f"{AUDIT}?limit=10").json()["results"]) == 10


def test_others_see_their_own_rows_and_those_of_clusters_that_they_administrate(people: People) -> None:
    record(actor=Actor("viewer"), cluster="prod")
    record(actor=Actor("viewer (token ci)"), cluster="prod")
    record(actor=Actor("viewer2"), cluster="prod")
    record(actor=Actor("viewer2"), cluster="other-1")
    assert people.viewer.get(AUDIT).json()["count"] == 2
    lead = client_of(make_user("lead", Role.ADMIN, clusters="other-*"))
    assert [row["cluster"] for row in lead.get(AUDIT).json()["results"]] == ["other-1"]
    narrow = client_of(make_user("narrow", Role.ADMIN, clusters="other-*", names="a*"))
    assert narrow.get(AUDIT).json()["count"] == 0
    assert people.other.get(f"{AUDIT}1/").status_code == 404
    assert people.viewer.get(f"{AUDIT}1/").status_code == 200


def test_an_intent_is_shown_with_its_outcome_and_what_changed(people: People) -> None:
    before = {"queues": 4, "perm": 6, "same": 1}
    with audit.attempt(ANN, "topic.update", cluster="prod", details={"before": before}) as outcome:
        outcome.details["after"] = {"queues": 8, "same": 1, "order": True}
    intent = people.admin.get(f"{AUDIT}1/").json()
    assert [row["id"] for row in intent["outcomes"]] == ["2"]
    assert intent["changes"] == [
        {"path": "order", "before": None, "after": True},
        {"path": "perm", "before": 6, "after": None},
        {"path": "queues", "before": 4, "after": 8},
    ]
    assert people.admin.get(f"{AUDIT}2/").json()["intent"]["id"] == "1"
    assert people.admin.get(f"{AUDIT}3/").status_code == 404


def test_an_export_has_every_row_in_order_and_leaves_its_own(people: People, monkeypatch: Any) -> None:
    monkeypatch.setattr("console.audit_reading.CHUNK", 3)
    for number in range(8):
        record(target=str(number))
    answer = people.admin.get(f"{AUDIT}export/")
    rows = [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]
    assert [row["id"] for row in rows] == list(range(1, 10))
    assert rows[-1]["action"] == "audit.export"
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert people.admin.get(f"{AUDIT}export/?format=xls").status_code == 400


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1", "-1", "@x", "\tx"])
def test_no_cell_of_an_export_is_a_formula(people: People, text: str) -> None:
    record(target=text)
    answer = people.admin.get(f"{AUDIT}export/?format=csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert rows[0]["target"] == f"'{text}"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "change", [{"target": "innocent"}, {"actor": "bob"}, {"details": {"x": 1}}, {"is_ok": False}]
)
def test_tampering_with_one_row_is_found(people: People, change: dict[str, Any]) -> None:
    for number in range(5):
        record(target=str(number))
    assert people.admin.get(f"{AUDIT}verify/").json()["is_intact"]
    call_command("verify_audit")
    AuditEntry.objects.filter(pk=3).update(**change)
    verdict = people.admin.get(f"{AUDIT}verify/").json()
    assert (verdict["is_intact"], verdict["broken_at"]) == (False, "3")
    with pytest.raises(CommandError, match="row 3"):
        call_command("verify_audit")


def test_a_row_taken_out_and_a_tail_cut_off_are_found(people: People) -> None:
    for number in range(5):
        record(target=str(number))
    AuditEntry.objects.filter(pk=5).delete()
    assert people.admin.get(f"{AUDIT}verify/").json()["broken_at"] == "5"
    AuditEntry.objects.filter(pk=2).delete()
    assert people.admin.get(f"{AUDIT}verify/").json()["broken_at"] == "2"
