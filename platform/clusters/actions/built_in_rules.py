"""Alert rules that every console begins with, so that a fresh one warns before messages are lost.

Made by `manage.py up`, each of them once: the audit chain remembers that it was, so a rule that somebody
changed or deleted stays as they left it, and a later release may add to the list. They have no channels,
because a fresh console has none: what fires is on the pages.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.actions.alerts import do_save_rule
from clusters.models import AlertRule
from console.core.actors import Actor
from console.core.models import AuditEntry

ACTOR = Actor.system("built-in-rules")
Kind, Severity = AlertRule.Kind, AlertRule.Severity

RULES: tuple[dict[str, Any], ...] = (
    {
        "name": "Disk fills up within a day",
        "kind": Kind.DISK_TREND,
        "threshold": 24,
        "for_s": 300,
        "severity": Severity.WARNING,
    },
    {
        "name": "Messages deleted before they expired",
        "kind": Kind.DELETED_UNEXPIRED,
        "threshold": 24,
        "for_s": 60,
        "severity": Severity.CRITICAL,
    },
    {
        "name": "Damaged records",
        "kind": Kind.DAMAGE,
        "threshold": 0,
        "for_s": 60,
        "severity": Severity.WARNING,
    },
    {
        "name": "TLS certificate ends within 30 days",
        "kind": Kind.CERTIFICATE,
        "threshold": 30,
        "for_s": 60,
        "severity": Severity.INFO,
    },
    {
        "name": "TLS certificate ends within 7 days",
        "kind": Kind.CERTIFICATE,
        "threshold": 7,
        "for_s": 60,
        "severity": Severity.WARNING,
    },
    {
        "name": "TLS certificate ends within a day",
        "kind": Kind.CERTIFICATE,
        "threshold": 1,
        "for_s": 60,
        "severity": Severity.CRITICAL,
    },
)


def do_make_built_in_rules(*, now: datetime) -> list[str]:
    """Names of those that were made now."""
    with transaction.atomic():
        once = AuditEntry.objects.filter(actor=ACTOR.name, action="alert_rule.create")
        made, taken = (
            set(once.values_list("target", flat=True)),
            set(AlertRule.objects.values_list("name", flat=True)),
        )
        wanted = [rule for rule in RULES if rule["name"] not in made | taken]
        for rule in wanted:
            do_save_rule(None, dict(rule), actor=ACTOR, now=now)
    return [rule["name"] for rule in wanted]
