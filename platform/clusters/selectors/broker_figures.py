"""What alert rules look at of brokers: reachability, replication, disks, damage, certificates.

Everything is from live rows and the history; no broker is asked. Sections that a broker does not report
(Apache's, older releases) are unknown, not fine: see `_reporting`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q

from clusters.models import AlertRule, Cluster, LiveBroker
from clusters.selectors.disk_trend import forecast, limit_of, read_trends
from clusters.selectors.figures import Figure
from clusters.selectors.live import speaking

Kind = AlertRule.Kind
REPAIR_TOLD = timedelta(days=1)
"""How long a damaged record that was repaired stays a reason: the disk that damaged it is still there."""
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


def _disk(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    holds = Q(disk_ratio__gt=rule.threshold) | Q(disk_ratio=None)
    for row in LiveBroker.objects.filter(holds, cluster=cluster):
        ratio = row.disk_ratio
        text = "" if ratio is None else f"{label_of(row)}: the disk is {ratio:.0%} full"
        yield Figure(cluster.pk, "broker", label_of(row), ratio, text)


def _in_sync(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    for name, row in speaking(LiveBroker.objects.filter(cluster=cluster)).items():
        if "inSync" not in row.ha:
            if rule.threshold:
                yield Figure(cluster.pk, "broker", name, None, "")
            continue
        count, wanted = len(row.ha["inSync"]), int(rule.threshold) or row.ha.get("minInSync", 1)
        if count < wanted:
            text = f"{name}: {count} members are in sync, {wanted} are wanted"
            yield Figure(cluster.pk, "broker", name, float(count), text)


def _slave_lag(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    for name, row in speaking(LiveBroker.objects.filter(cluster=cluster)).items():
        behind = max((slave["lagBytes"] for slave in row.ha.get("slaves", [])), default=0)
        if behind > rule.threshold:
            yield Figure(
                cluster.pk, "broker", name, float(behind), f"{name}: a slave is {behind} bytes behind"
            )


def _broker_down(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    for row in LiveBroker.objects.filter(cluster=cluster, is_reachable=False):
        yield Figure(
            cluster.pk, "broker", label_of(row), 1.0, f"{label_of(row)} does not answer: {row.error}"
        )


# -- disks that fill up, and what they cost -----------------------------------------------------------------


def _disk_trend(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    """`threshold`: hours ahead."""
    rows = list(LiveBroker.objects.filter(cluster=cluster))
    trends = read_trends(cluster, [label_of(row) for row in rows], now)
    for row in rows:
        label, trend = label_of(row), trends.get(label_of(row))
        limit = limit_of(row.retention)
        ratio = row.disk_ratio if row.is_reachable else None
        if ratio is None:
            yield Figure(cluster.pk, "broker", label, None, "")
        elif ratio >= limit.ratio:
            text = f"{label}: the disk is {ratio:.0%} full, {limit.ratio:.0%} is the limit: {limit.reached}"
            yield Figure(cluster.pk, "broker", label, 0.0, text)
        elif trend is None:
            why = "with too little history for a trend"
            yield Figure(cluster.pk, "broker", label, None, "", why)
        else:
            hours = forecast(ratio, limit.ratio, trend)
            if hours is not None and hours <= rule.threshold:
                text = (
                    f"{label}: the disk is {ratio:.0%} full and reaches {limit.ratio:.0%} in about "
                    f"{_hours(hours)}: {limit.ahead}"
                )
                yield Figure(cluster.pk, "broker", label, hours, text)


def _deleted_unexpired(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    """`threshold`: for how many hours after the last time; 0: until the broker starts anew."""

    def look(row: LiveBroker) -> Figure | None:
        deleted = row.retention.get("deletedUnexpired")
        if deleted is None:
            return None
        at = _moment(deleted["atMs"])
        if rule.threshold and now - at > rule.threshold * _HOUR:
            return None
        text = (
            f"{label_of(row)}: {_size(deleted['bytes'])} in {deleted['segments']} segments were deleted "
            f"before they expired, because the disk was full; last at {at:%Y-%m-%d %H:%M} UTC, commit-log "
            f"offsets {deleted['fromOffset']} to {deleted['toOffset']}"
        )
        return Figure(cluster.pk, "broker", label_of(row), float(deleted["bytes"]), text)

    return _reporting(cluster, look)


def _damage(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    """`threshold`: messages that were skipped. One that was repaired is told for a day."""

    def look(row: LiveBroker) -> Figure | None:
        if row.damage is None:
            return None
        skipped, repaired, last = row.damage["skipped"], row.damage["repaired"], row.damage.get("last")
        is_recent = last is not None and now - _moment(last["atMs"]) <= REPAIR_TOLD
        # Neither skipped nor repaired: the scrub found something that nobody has read yet.
        count = skipped or (1 if is_recent or not repaired else 0)
        if count <= rule.threshold:
            return None
        text = f"{label_of(row)}: damaged records, {skipped} skipped, {repaired} repaired from another member"
        if last is not None:
            text += f"; last: {last['outcome']}, {last['size']} bytes at commit-log offset {last['offset']}"
        return Figure(cluster.pk, "broker", label_of(row), float(count), text)

    return _reporting(cluster, look)


def _certificate(rule: AlertRule, cluster: Cluster, now: datetime) -> Iterable[Figure]:
    """`threshold`: days ahead. A broker without a certificate has none that could end."""
    for row in LiveBroker.objects.filter(cluster=cluster, certificate__isnull=False):
        ends = _moment(row.certificate["notAfterMs"])
        days = round((ends - now) / _DAY, 1)
        if days > rule.threshold:
            continue
        when = f"{ends:%Y-%m-%d %H:%M} UTC"
        text = f"ended at {when}" if ends <= now else f"ends in {_left(ends - now)}, at {when}"
        yield Figure(
            cluster.pk, "broker", label_of(row), days, f"{label_of(row)}: the TLS certificate {text}"
        )


def _reporting(cluster: Cluster, look: Callable[[LiveBroker], Figure | None]) -> Iterable[Figure]:
    """Brokers that report `retention` are looked at. Where others of the same cluster do not, those are not
    known; a cluster of which none does (Apache's, older releases) is passed over, and its pages say so."""
    rows = list(LiveBroker.objects.filter(cluster=cluster))
    if all(row.retention is None for row in rows):
        return
    for row in rows:
        if row.retention is None:
            yield Figure(cluster.pk, "broker", label_of(row), None, "", "that do not report it")
        elif (found := look(row)) is not None:
            yield found


def label_of(row: LiveBroker) -> str:
    return f"{row.broker_name}-{row.member}"


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _size(count: int) -> str:
    return f"{count} bytes" if count < 1 << 20 else f"{count / (1 << 20):.0f} MB"


def _hours(hours: float) -> str:
    return f"{max(1, round(hours * 60))} minutes" if hours < 1 else f"{hours:g} hours"


def _left(left: timedelta) -> str:
    """Words that change slowly: an open alert is told again whenever they do."""
    if left >= 2 * _DAY:
        return f"{left.days} days"
    return f"{max(1, round(left / _HOUR))} hours"


BROKER_LOOKS: dict[str, Any] = {
    Kind.DISK: _disk,
    Kind.IN_SYNC: _in_sync,
    Kind.SLAVE_LAG: _slave_lag,
    Kind.BROKER_DOWN: _broker_down,
    Kind.DISK_TREND: _disk_trend,
    Kind.DELETED_UNEXPIRED: _deleted_unexpired,
    Kind.DAMAGE: _damage,
    Kind.CERTIFICATE: _certificate,
}
