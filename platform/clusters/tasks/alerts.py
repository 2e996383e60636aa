"""Alerts: all rules are looked at every ten seconds; channels are told when there is something to tell."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from clusters.actions.alert_deliveries import do_deliver_alerts
from clusters.actions.alerts import do_evaluate_alerts


@shared_task
def evaluate() -> None:
    """By beat. Deliveries that are due again are sent, too."""
    do_evaluate_alerts(now=timezone.now())
    do_deliver_alerts()


@shared_task
def deliver() -> None:
    do_deliver_alerts()
