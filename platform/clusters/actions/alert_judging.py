"""What becomes of a rule's alerts after a look: pure, `now` passed in.

holds                     none → pending → (for_s later) firing
does not hold             pending → forgotten; firing → resolved
cannot be seen            what is open stays open; the cluster gets a `no_data` alert of the rule
silenced                  as above, and nobody is told; when the silence ends, a firing one is told
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from clusters.models import Alert, AlertSilence
from clusters.selectors.alert_figures import Figure, Observation
from console.core.rights import fits

State = Alert.State
Key = tuple[int, str, str]


@dataclass(slots=True)
class Judgement:
    new: list[Alert] = field(default_factory=list)
    changed: list[Alert] = field(default_factory=list)
    forgotten: list[Alert] = field(default_factory=list)
    told: list[tuple[Alert, str]] = field(default_factory=list)
    """Alerts that channels hear of, and as what."""


def judge(
    rule_id: int,
    for_s: int,
    seen: Observation,
    opened: Iterable[Alert],
    silenced: Mapping[Key, bool],
    now: datetime,
) -> Judgement:
    """`silenced` says of which keys nobody is to be told; what is not in it is not silenced."""
    found = Judgement()
    by_key = {(alert.cluster_id, alert.subject, alert.name): alert for alert in opened}
    wanted = {figure.key: (figure, State.PENDING) for figure in seen.holding}
    for cluster_id, why in seen.blind.items():
        figure = Figure(cluster_id, "cluster", "", None, f"no data: {why}")
        wanted[figure.key] = (figure, State.NO_DATA)
    for key, (figure, state) in wanted.items():
        alert = by_key.pop(key, None)
        if alert is None:
            alert = _begin(rule_id, figure, state, now)
            found.new.append(alert)
        _go_on(found, alert, figure, for_s, silenced.get(key, False), now)
    for key, alert in by_key.items():
        if key[0] not in seen.blind or alert.state == State.NO_DATA:
            _end(found, alert, silenced.get(key, False), now)
    return found


def silenced_keys(
    keys: Iterable[tuple[Key, str]], rule_id: int, silences: Iterable[AlertSilence], now: datetime
) -> dict[Key, bool]:
    """`keys` with the names of their clusters."""
    active = [
        silence
        for silence in silences
        if silence.starts_at <= now < silence.ends_at and silence.rule_id in (None, rule_id)
    ]
    return {
        key: any(
            fits(silence.cluster_pattern, cluster) and fits(silence.name_pattern, key[2])
            for silence in active
        )
        for key, cluster in keys
    }


def _begin(rule_id: int, figure: Figure, state: str, now: datetime) -> Alert:
    return Alert(
        rule_id=rule_id,
        cluster_id=figure.cluster_id,
        subject=figure.subject,
        name=figure.name,
        state=state,
        value=figure.value,
        summary=figure.text[:512],
        since=now,
        seen_at=now,
    )


def _go_on(
    found: Judgement, alert: Alert, figure: Figure, for_s: int, is_silenced: bool, now: datetime
) -> None:
    before = (alert.state, alert.value, alert.summary, alert.is_silenced, alert.fired_at)
    alert.value, alert.summary, alert.seen_at = figure.value, figure.text[:512], now
    if alert.fired_at is None and now - alert.since >= timedelta(seconds=for_s):
        alert.fired_at = now
        if alert.state == State.PENDING:
            alert.state = State.FIRING
        alert.is_silenced = is_silenced
        if not is_silenced:
            found.told.append((alert, "firing"))
    elif alert.fired_at is not None and alert.is_silenced != is_silenced:
        alert.is_silenced = is_silenced
        if not is_silenced:
            found.told.append((alert, "firing"))
    after = (alert.state, alert.value, alert.summary, alert.is_silenced, alert.fired_at)
    if alert.pk is not None and before != after:
        found.changed.append(alert)


def _end(found: Judgement, alert: Alert, is_silenced: bool, now: datetime) -> None:
    if alert.fired_at is None:
        found.forgotten.append(alert)
        return
    alert.state, alert.resolved_at, alert.seen_at = State.RESOLVED, now, now
    found.changed.append(alert)
    # Who was never told that it fired need not hear that it is over.
    if not alert.is_silenced and not is_silenced:
        found.told.append((alert, "resolved"))
