"""Adding to the audit chain, and checking it.

    with transaction.atomic():                      # only the database changes: one row, same transaction
        …; audit.record(actor, "user.create", target=name, details={…}, now=now)

    with audit.attempt(actor, "topic.delete", cluster=…, target=…, now=clock) as outcome:
        …                                           # a broker is called: intent before, outcome after
        outcome.details["brokers"] = …

Details never hold secrets or message bodies. If the chain cannot be written, nothing is done.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import DatabaseError, transaction
from django.utils import timezone

from console.core.actors import Actor
from console.core.models.audit import AuditEntry, AuditHead
from console.core.storage_errors import after_the_call

_CHUNK = 1000


@dataclass(slots=True)
class Outcome:
    details: dict[str, Any] = field(default_factory=dict)
    is_ok: bool | None = True
    intent_id: int = 0


def record(
    actor: Actor,
    action: str,
    *,
    cluster: str = "",
    target: str = "",
    details: dict[str, Any] | None = None,
    now: datetime,
    phase: str = AuditEntry.Phase.DONE,
    intent_id: int | None = None,
    is_ok: bool | None = True,
) -> AuditEntry:
    """In the caller's transaction, or one of its own."""
    with transaction.atomic():
        head, _ = AuditHead.objects.select_for_update().get_or_create(pk=1)
        entry = AuditEntry(
            id=head.last_id + 1,
            at=now,
            actor=actor.name[:150],
            address=actor.address,
            action=action,
            cluster=cluster,
            target=target[:255],
            phase=phase,
            intent_id=intent_id,
            is_ok=is_ok,
            # As the database will give it back, so that the hash can be worked out again.
            details=json.loads(json.dumps(details or {}, default=str)),
            previous_hash=head.last_hash,
        )
        entry.hash = digest(entry)
        entry.save(force_insert=True)
        head.last_id, head.last_hash = entry.id, entry.hash
        head.save()
    return entry


@contextmanager
def attempt(
    actor: Actor,
    action: str,
    *,
    cluster: str = "",
    target: str = "",
    details: dict[str, Any] | None = None,
    clock: Callable[[], datetime] = timezone.now,
) -> Iterator[Outcome]:
    """An intent row, committed; whatever is done inside; an outcome row, also when it fails."""
    named = {"cluster": cluster, "target": target}
    intent = record(
        actor, action, **named, details=details, now=clock(), phase=AuditEntry.Phase.INTENT, is_ok=None
    )
    outcome = Outcome(intent_id=intent.id)
    try:
        try:
            yield outcome
        except BaseException as error:
            outcome.is_ok = False
            outcome.details.setdefault("error", str(error)[:500] or type(error).__name__)
            raise
        finally:
            record(
                actor,
                action,
                **named,
                details=outcome.details,
                now=clock(),
                phase=AuditEntry.Phase.OUTCOME,
                intent_id=intent.id,
                is_ok=outcome.is_ok,
            )
    except DatabaseError as error:
        if (problem := after_the_call(error)) is None:
            raise
        raise problem from error


def digest(entry: AuditEntry) -> str:
    values = [
        entry.id,
        entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        entry.actor,
        entry.address,
        entry.action,
        entry.cluster,
        entry.target,
        str(entry.phase),
        entry.intent_id,
        entry.is_ok,
        entry.details,
        entry.previous_hash,
    ]
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Verdict:
    checked: int
    broken_at: int | None
    reason: str


def verify() -> Verdict:
    """Walk the whole chain; the first row that does not fit, if any."""
    previous, expected = "", 1
    for entry in AuditEntry.objects.order_by("id").iterator(chunk_size=_CHUNK):
        if entry.id != expected:
            return Verdict(expected - 1, expected, f"row {expected} is missing")
        if entry.previous_hash != previous or digest(entry) != entry.hash:
            return Verdict(expected - 1, entry.id, f"row {entry.id} was changed")
        previous, expected = entry.hash, expected + 1
    head = AuditHead.objects.filter(pk=1).first()
    if head is not None and (head.last_id, head.last_hash) != (expected - 1, previous):
        return Verdict(expected - 1, expected, "the last rows are missing")
    return Verdict(expected - 1, None, "")
