"""Telling channels: deliveries that wait are sent, again later when they fail, and given up in the end.

Whoever raises `attempts` has the delivery for this attempt. What was sent twice (a worker that died after
sending) carries the same id: receivers can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import orjson
from django.db.models import F
from django.utils import timezone

from clusters.gateway import mail, webhooks
from clusters.models import AlertChannel, AlertDelivery, AlertRule
from console.core import audit
from console.core.actors import Actor
from console.core.sealing import unseal

RETRY_AFTER = tuple(timedelta(seconds=seconds) for seconds in (10, 60, 300, 1800))
"""After the last one it is given up."""
_CLAIMED_FOR = timedelta(seconds=30)
_AT_ONCE = 100
HISTORY_KEPT = timedelta(days=30)

State = AlertDelivery.State


def do_deliver_alerts(*, clock: Callable[[], datetime] = timezone.now) -> int:
    """Everything that is due. How many were sent."""
    now = clock()
    waiting = AlertDelivery.objects.filter(state=State.WAITING, next_attempt_at__lte=now)
    sent = 0
    for delivery in waiting.select_related("channel").order_by("next_attempt_at")[:_AT_ONCE]:
        if _claim(delivery, clock()):
            sent += _attempt(delivery, clock)
    AlertDelivery.objects.exclude(state=State.WAITING).filter(created_at__lt=now - HISTORY_KEPT).delete()
    return sent


def do_test_channel(channel: AlertChannel, rule: AlertRule | None, *, actor: Actor) -> AlertDelivery:
    """A message that says it is a test, sent at once, once."""
    now = timezone.now()
    payload = {
        "event": "test",
        "rule": rule.name if rule else "",
        "severity": rule.severity if rule else "info",
        "summary": f"a test by {actor.name}",
        "since": now.isoformat(),
    }
    with audit.attempt(actor, "alert_channel.test", target=channel.name) as outcome:
        delivery = AlertDelivery.objects.create(
            channel=channel, event=AlertDelivery.Event.TEST, payload=payload, created_at=now, attempts=1
        )
        _finish(delivery, send(delivery), timezone.now(), is_last=True)
        outcome.is_ok = delivery.state == State.SENT
        outcome.details["error"] = delivery.error
    return delivery


def send(delivery: AlertDelivery) -> str:
    """ "" or why not."""
    channel, payload = delivery.channel, delivery.payload | {"delivery": delivery.pk}
    if channel.kind == AlertChannel.Kind.MAIL:
        subject = f"[{payload.get('severity', '')}] {payload['event']}: {payload['summary']}"
        lines = [f"{name}: {value}" for name, value in payload.items() if value not in (None, "")]
        return mail.send(channel.recipients, subject, "\n".join(lines))
    secret = unseal(channel.sealed_secret) if channel.sealed_secret else ""
    at_s = int(timezone.now().timestamp())
    return webhooks.post(unseal(channel.sealed_url), orjson.dumps(payload), secret, at_s)


def _claim(delivery: AlertDelivery, now: datetime) -> bool:
    won = AlertDelivery.objects.filter(
        pk=delivery.pk, attempts=delivery.attempts, state=State.WAITING
    ).update(attempts=F("attempts") + 1, next_attempt_at=now + _CLAIMED_FOR)
    delivery.attempts += 1
    return bool(won)


def _attempt(delivery: AlertDelivery, clock: Callable[[], datetime]) -> bool:
    error = send(delivery)
    _finish(delivery, error, clock(), is_last=delivery.attempts > len(RETRY_AFTER))
    return not error


def _finish(delivery: AlertDelivery, error: str, now: datetime, *, is_last: bool) -> None:
    delivery.error = error[:255]
    if not error:
        delivery.state, delivery.finished_at, delivery.next_attempt_at = State.SENT, now, None
    elif is_last:
        delivery.state, delivery.finished_at, delivery.next_attempt_at = State.FAILED, now, None
    else:
        delivery.next_attempt_at = now + RETRY_AFTER[delivery.attempts - 1]
    delivery.save()
