"""Evaluating all rules, and every change of rules, channels and silences."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction

from clusters.actions.alert_judging import Judgement, judge, silenced_keys
from clusters.models import Alert, AlertChannel, AlertDelivery, AlertRule, AlertSilence, Cluster
from clusters.selectors.alert_figures import Observation, observe
from clusters.selectors.clusters import living
from console.core import audit
from console.core.actors import Actor
from console.core.events import publish
from console.core.sealing import seal
from console.core.waking import wake

DELIVER = "clusters.tasks.alerts.deliver"
HISTORY_KEPT = timedelta(days=90)


def do_evaluate_alerts(*, now: datetime) -> int:
    """Every few seconds. How many alerts changed their state or were told."""
    clusters = list(living())
    silences = list(AlertSilence.objects.filter(starts_at__lte=now, ends_at__gt=now))
    count = 0
    for rule in AlertRule.objects.filter(is_enabled=True).prefetch_related("channels"):
        seen = observe(rule, clusters, now)
        count += _settle(rule, seen, clusters, silences, now)
    return count + _end_orphans(now)


def _settle(
    rule: AlertRule, seen: Observation, clusters: list[Cluster], silences: list[AlertSilence], now: datetime
) -> int:
    names = {cluster.pk: cluster.name for cluster in clusters}
    with transaction.atomic():
        # One at a time per rule: two workers would begin the same alert twice.
        AlertRule.objects.select_for_update().get(pk=rule.pk)
        opened = list(Alert.objects.filter(rule=rule, state__in=Alert.OPEN, cluster__in=names))
        keys = {(one.cluster_id, one.subject, one.name) for one in opened}
        keys |= {figure.key for figure in seen.holding}
        keys |= {(cluster_id, "cluster", "") for cluster_id in seen.blind}
        silenced = silenced_keys([(key, names[key[0]]) for key in keys], rule.pk, silences, now)
        found = judge(rule.pk, rule.for_s, seen, opened, silenced, now)
        _write(rule, found, names, now)
    return len(found.new) + len(found.forgotten) + len(found.told)


def _write(rule: AlertRule, found: Judgement, names: dict[int, str], now: datetime) -> None:
    for alert in found.new:
        alert.save(force_insert=True)
    Alert.objects.bulk_update(
        found.changed,
        ["state", "value", "summary", "seen_at", "fired_at", "resolved_at", "is_silenced"],
        batch_size=200,
    )
    Alert.objects.filter(pk__in=[alert.pk for alert in found.forgotten]).delete()
    channels = [channel for channel in rule.channels.all() if channel.is_enabled]
    AlertDelivery.objects.bulk_create(
        AlertDelivery(
            channel=channel,
            alert=alert,
            event=event,
            payload=payload_of(rule, alert, names[alert.cluster_id], event),
            next_attempt_at=now,
            created_at=now,
        )
        for alert, event in found.told
        for channel in channels
    )
    if found.told and channels:
        wake(DELIVER)
    if found.new or found.changed or found.forgotten:
        publish("alerts", {"rule": rule.name})


def _end_orphans(now: datetime) -> int:
    """Of rules that were switched off and of clusters that are gone; and history that is old."""
    over = Alert.objects.filter(state__in=Alert.OPEN)
    count = over.filter(rule__is_enabled=False).update(state=Alert.State.RESOLVED, resolved_at=now)
    count += over.exclude(cluster__deleted_at=None).update(state=Alert.State.RESOLVED, resolved_at=now)
    Alert.objects.filter(state=Alert.State.RESOLVED, resolved_at__lt=now - HISTORY_KEPT).delete()
    if count:
        publish("alerts", {})
    return count


def payload_of(rule: AlertRule, alert: Alert, cluster: str, event: str) -> dict[str, Any]:
    return {
        "event": event,
        "rule": rule.name,
        "kind": rule.kind,
        "severity": rule.severity,
        "threshold": rule.threshold,
        "cluster": cluster,
        "subject": alert.subject,
        "name": alert.name,
        "state": alert.state,
        "value": alert.value,
        "summary": alert.summary,
        "since": alert.since.isoformat(),
        "fired_at": alert.fired_at.isoformat() if alert.fired_at else None,
        "resolved_at": alert.resolved_at.isoformat() if alert.resolved_at else None,
    }


# -- rules, channels, silences ------------------------------------------------------------------------------


def do_save_rule(rule: AlertRule | None, values: dict[str, Any], *, actor: Actor, now: datetime) -> AlertRule:
    channels = values.pop("channels", None)
    with transaction.atomic():
        before = {} if rule is None else _said(rule, values)
        action = "alert_rule.create" if rule is None else "alert_rule.change"
        rule = rule or AlertRule(created_by=actor.name[:150], created_at=now)
        for name, value in values.items():
            setattr(rule, name, value)
        rule.save()
        if channels is not None:
            rule.channels.set(channels)
        details = {"before": before, "after": _said(rule, values)}
        audit.record(actor, action, target=rule.name, details=details, now=now)
    return rule


def _said(rule: AlertRule, values: dict[str, Any]) -> dict[str, Any]:
    """What the rule says of these, for the audit chain."""
    return {name: getattr(rule, name) for name in values} | {
        "channels": sorted(channel.name for channel in rule.channels.all())
    }


def do_delete_rule(rule: AlertRule, *, actor: Actor, now: datetime) -> None:
    with transaction.atomic():
        audit.record(actor, "alert_rule.delete", target=rule.name, now=now)
        rule.delete()
        publish("alerts", {})


def do_save_channel(
    channel: AlertChannel | None, values: dict[str, Any], *, actor: Actor, now: datetime
) -> AlertChannel:
    """Addresses and secrets go in sealed, and never into the audit chain."""
    with transaction.atomic():
        before = {} if channel is None else _shown(channel)
        action = "alert_channel.create" if channel is None else "alert_channel.change"
        channel = channel or AlertChannel(created_by=actor.name[:150], created_at=now)
        if url := values.pop("url", ""):
            channel.sealed_url, channel.host = seal(url), urlsplit(url).netloc.rpartition("@")[2]
        if secret := values.pop("secret", ""):
            channel.sealed_secret = seal(secret)
        for name, value in values.items():
            setattr(channel, name, value)
        channel.save()
        details = {"before": before, "after": _shown(channel)}
        audit.record(actor, action, target=channel.name, details=details, now=now)
    return channel


def _shown(channel: AlertChannel) -> dict[str, Any]:
    return {
        "name": channel.name,
        "kind": channel.kind,
        "host": channel.host,
        "is_enabled": channel.is_enabled,
    }


def do_delete_channel(channel: AlertChannel, *, actor: Actor, now: datetime) -> None:
    with transaction.atomic():
        audit.record(actor, "alert_channel.delete", target=channel.name, now=now)
        channel.delete()


def do_create_silence(values: dict[str, Any], *, actor: Actor, now: datetime) -> AlertSilence:
    with transaction.atomic():
        silence = AlertSilence.objects.create(**values, created_by=actor.name[:150], created_at=now)
        details = {name: str(value) for name, value in values.items() if name != "rule"}
        details["rule"] = silence.rule.name if silence.rule else ""
        audit.record(actor, "alert_silence.create", target=str(silence.pk), details=details, now=now)
    return silence


def do_end_silence(silence: AlertSilence, *, actor: Actor, now: datetime) -> None:
    """It stays in the list, with the time at which it ended."""
    with transaction.atomic():
        silence.ends_at = min(silence.ends_at, max(now, silence.starts_at))
        silence.save()
        audit.record(actor, "alert_silence.end", target=str(silence.pk), now=now)
