"""Making and taking away rules that mask messages. Database only: one transaction with the audit row."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from clusters.models import MaskRule
from console.core import audit
from console.core.actors import Actor


def do_create_mask_rule(values: dict[str, Any], *, actor: Actor, now: datetime) -> MaskRule:
    with transaction.atomic():
        rule = MaskRule.objects.create(**values, created_by=actor.name, created_at=now)
        audit.record(
            actor,
            "mask.create",
            cluster=rule.cluster_pattern,
            target=rule.topic_pattern,
            details=_details(rule),
            now=now,
        )
    return rule


def do_delete_mask_rule(rule: MaskRule, *, actor: Actor, now: datetime) -> None:
    with transaction.atomic():
        audit.record(
            actor,
            "mask.delete",
            cluster=rule.cluster_pattern,
            target=rule.topic_pattern,
            details=_details(rule),
            now=now,
        )
        rule.delete()


def _details(rule: MaskRule) -> dict[str, Any]:
    return {
        "id": rule.pk,
        "up_to_role": rule.up_to_role,
        "is_default": rule.is_default,
        "hides_body": rule.hides_body,
        "json_paths": rule.json_paths,
        "properties": rule.properties,
        "reveal_role": rule.reveal_role,
    }
