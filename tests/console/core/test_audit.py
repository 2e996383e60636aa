"""The audit chain: rows that fit each other, and every way of breaking it found."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import transaction

from console.core import audit
from console.core.actors import Actor
from console.core.models import AuditEntry, AuditHead

NOW = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)
ANN = Actor("ann", "10.0.0.1", 1)
pytestmark = pytest.mark.django_db


def write(count: int = 3) -> None:
    for number in range(count):
        audit.record(ANN, "topic.create", cluster="c", target=f"t-{number}", details={"n": number}, now=NOW)


def test_a_chain_that_nobody_touched_fits() -> None:
    write()
    assert audit.verify() == audit.Verdict(3, None, "")


def test_an_empty_chain_fits() -> None:
    assert audit.verify().broken_at is None


@pytest.mark.parametrize(
    "change", [{"actor": "bob"}, {"details": {"n": 9}}, {"is_ok": False}, {"target": "x"}]
)
def test_a_changed_row_is_found(change: dict[str, object]) -> None:
    write()
    AuditEntry.objects.filter(pk=2).update(**change)
    assert audit.verify().broken_at == 2


def test_a_removed_row_is_found_wherever_it_was() -> None:
    for victim in (1, 2, 3):
        AuditEntry.objects.all().delete()
        AuditHead.objects.all().delete()
        write()
        AuditEntry.objects.filter(pk=victim).delete()
        assert audit.verify().broken_at == victim


def test_what_is_attempted_leaves_an_intent_before_and_an_outcome_after() -> None:
    with audit.attempt(ANN, "topic.delete", cluster="c", target="t") as outcome:
        assert AuditEntry.objects.get().phase == "intent"
        outcome.details["brokers"] = 2
    last = AuditEntry.objects.first()
    assert (last.phase, last.is_ok, last.intent_id, last.details) == ("outcome", True, 1, {"brokers": 2})


def test_what_fails_says_so() -> None:
    with pytest.raises(RuntimeError), audit.attempt(ANN, "topic.delete"):
        raise RuntimeError("broker is gone")
    last = AuditEntry.objects.first()
    assert (last.is_ok, last.details) == (False, {"error": "broker is gone"})
    assert audit.verify().broken_at is None


def test_a_change_that_is_rolled_back_leaves_no_row() -> None:
    write(1)
    with pytest.raises(RuntimeError), transaction.atomic():
        audit.record(ANN, "user.create", now=NOW)
        raise RuntimeError
    assert audit.verify() == audit.Verdict(1, None, "")


def test_details_are_hashed_as_the_database_gives_them_back() -> None:
    audit.record(ANN, "x", details={"when": NOW, 3: (1, 2), "ü": "ß"}, now=NOW)
    assert audit.verify().broken_at is None
