"""Alerts before and after messages are lost: disks that fill up, deleted and damaged messages, certificates.

Figures are rows and history as the collector writes them; a real broker is in the last test.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.actions.alerts import do_evaluate_alerts
from clusters.actions.built_in_rules import RULES, do_make_built_in_rules
from clusters.models import Alert, AlertRule, Cluster, Collection, LiveBroker, SeriesChunk
from clusters.selectors.disk_trend import Trend, forecast, limit_of, trend_of
from clusters.selectors.packing import SAMPLED, bucket_start, pack
from console.core.models import AuditEntry
from engine.client import ConsumeFromWhere, ConsumerOptions, Message, blocking
from tests.certificates import Authority
from tests.engine.client.servers import start_broker, start_name_server
from tests.platform_fixtures import People
from tests.platform_processes import collecting, soon

pytestmark = pytest.mark.django_db
RETENTION = {
    "mayDeleteUnexpired": True,
    "reservedHours": 72,
    "cleanRatio": 0.75,
    "forceRatio": 0.85,
    "refuseRatio": 0.9,
}
HOUR_S = 3600


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def cluster(db: None, now: datetime) -> Cluster:
    cluster = Cluster.objects.create(
        name="orders", broker_cluster_name="orders", kind=Cluster.Kind.ATTACHED, created_at=now
    )
    Collection.objects.create(cluster=cluster, sampled_at=now)
    return cluster


def broker(cluster: Cluster, now: datetime, name: str = "a", **more: Any) -> LiveBroker:
    values = {"role": "master", "disk_ratio": 0.6, "sampled_at": now, "is_reachable": True}
    values |= {"retention": RETENTION, "address": f"127.0.0.1:{ord(name)}", **more}
    return LiveBroker.objects.create(cluster=cluster, broker_name=name, member=0, **values)


def history(cluster: Cluster, label: str, now: datetime, ratios: list[float], resolution_s: int = 60) -> None:
    """One a minute, the last one now."""
    now_s = int(now.timestamp())
    for metric in (SAMPLED, "disk_ratio"):
        chunks: dict[int, bytes] = {}
        for age, ratio in enumerate(reversed(ratios)):
            at = now_s - now_s % 60 - 60 * age
            start = bucket_start(at, resolution_s)
            point = pack((at - start) // resolution_s, 1.0 if metric == SAMPLED else ratio)
            chunks[start] = point + chunks.get(start, b"")
        for start, points in chunks.items():
            SeriesChunk.objects.create(
                cluster=cluster,
                subject="broker",
                name=label,
                metric=metric,
                resolution_s=resolution_s,
                starts_at=datetime.fromtimestamp(start, now.tzinfo),
                points=points,
            )


def line(first: float, last: float, minutes: int) -> list[float]:
    """As brokers round it."""
    return [round(first + (last - first) * number / minutes, 3) for number in range(minutes + 1)]


def judge(kind: str, threshold: float, now: datetime) -> list[Alert]:
    AlertRule.objects.create(
        name=kind, kind=kind, threshold=threshold, for_s=0, created_by="ann", created_at=now
    )
    do_evaluate_alerts(now=now)
    return list(Alert.objects.order_by("name"))


# -- disk trend ---------------------------------------------------------------------------------------------


def test_a_disk_that_fills_up_is_told_before_messages_are_deleted(cluster: Cluster, now: datetime) -> None:
    broker(cluster, now, disk_ratio=0.7)
    history(cluster, "a-0", now, line(0.4, 0.7, 360))
    [alert] = judge("disk_trend", 24, now)
    assert (alert.state, alert.name, alert.value) == ("firing", "a-0", 3.0)
    assert alert.summary == (
        "a-0: the disk is 70% full and reaches 85% in about 3 hours: "
        "messages that have not expired are then deleted"
    )


def test_where_nothing_unexpired_is_deleted_the_limit_is_where_writes_are_refused(
    cluster: Cluster, now: datetime
) -> None:
    broker(cluster, now, disk_ratio=0.7, retention=RETENTION | {"mayDeleteUnexpired": False})
    history(cluster, "a-0", now, line(0.4, 0.7, 360))
    [alert] = judge("disk_trend", 24, now)
    assert alert.value == 4.0
    assert "reaches 90% in about 4 hours: writes are then refused" in alert.summary


@pytest.mark.parametrize(
    ("ratios", "why"),
    [
        (line(0.7, 0.7, 360), "it does not grow"),
        (line(0.7, 0.4, 360), "it shrinks"),
        (line(0.69, 0.7, 360), "it takes longer than a day"),
        (line(0.4, 0.7, 290) + [0.7] * 70, "it grew, and no more"),
        ([0.7, 0.701] * 180, "noise of the rounding"),
    ],
)
def test_no_trend_no_alert(cluster: Cluster, now: datetime, ratios: list[float], why: str) -> None:
    broker(cluster, now, disk_ratio=0.7)
    history(cluster, "a-0", now, ratios)
    assert judge("disk_trend", 24, now) == [], why


def test_a_disk_beyond_its_limit_needs_no_history(cluster: Cluster, now: datetime) -> None:
    broker(cluster, now, disk_ratio=0.87)
    [alert] = judge("disk_trend", 24, now)
    assert (alert.state, alert.value) == ("firing", 0.0)
    assert "messages that have not expired are deleted" in alert.summary


def test_too_little_history_is_no_data(cluster: Cluster, now: datetime) -> None:
    broker(cluster, now)
    history(cluster, "a-0", now, line(0.5, 0.6, 8))
    [alert] = judge("disk_trend", 24, now)
    assert (alert.state, alert.summary) == (
        "no_data",
        "no data: 1 with too little history for a trend: a-0",
    )


def test_history_that_ended_is_no_data(cluster: Cluster, now: datetime) -> None:
    broker(cluster, now)
    history(cluster, "a-0", now - timedelta(minutes=30), line(0.4, 0.7, 300))
    [alert] = judge("disk_trend", 24, now)
    assert alert.state == "no_data"


@pytest.mark.parametrize("minutes_stored", [0, 9])
def test_minutes_that_are_not_stored_yet_are_taken_from_slots(
    cluster: Cluster, now: datetime, minutes_stored: int
) -> None:
    """A collector stores minutes every ten minutes, slots of ten seconds every minute."""
    broker(cluster, now, disk_ratio=0.7)
    ratios = line(0.6, 0.7, 21)
    if minutes_stored:
        end = now - timedelta(minutes=21 - minutes_stored)
        history(cluster, "a-0", end, ratios[: minutes_stored + 1])
    history(cluster, "a-0", now, ratios, resolution_s=10)
    [alert] = judge("disk_trend", 24, now)
    assert (alert.state, alert.value) == ("firing", 0.5)


def test_a_broker_that_does_not_say_its_limits_is_held_to_rocketmqs(cluster: Cluster, now: datetime) -> None:
    broker(cluster, now, disk_ratio=0.8, retention=None)
    history(cluster, "a-0", now, line(0.5, 0.8, 360))
    [alert] = judge("disk_trend", 24, now)
    assert alert.value == 1.0
    assert "RocketMQ deletes messages there that have not expired, by default" in alert.summary


def test_slopes_and_forecasts() -> None:
    hourly = [(minute * 60, 0.5 + 0.1 * minute / 60) for minute in range(120)]
    trend = trend_of(hourly)
    assert trend is not None and trend.growth_per_hour == pytest.approx(0.1)
    assert trend_of(hourly[:8]) is None and trend_of([]) is None
    assert forecast(0.6, 0.85, Trend(0.1)) == 2.0
    assert forecast(0.8, 0.85, Trend(0.1)) == 0.5
    assert forecast(0.9, 0.85, Trend(0.0)) == 0.0
    assert forecast(0.6, 0.85, Trend(0.0)) is None
    assert limit_of(RETENTION).ratio == 0.85
    assert limit_of(RETENTION | {"mayDeleteUnexpired": False}).ratio == 0.9


# -- deleted, damaged ---------------------------------------------------------------------------------------


def deleted(now: datetime, hours_ago: float) -> dict[str, Any]:
    at_ms = int((now - timedelta(hours=hours_ago)).timestamp() * 1000)
    lost = {"segments": 2, "bytes": 2048, "fromOffset": 0, "toOffset": 2048, "atMs": at_ms}
    return RETENTION | {"deletedUnexpired": lost}


@pytest.mark.parametrize(("hours_ago", "threshold", "fires"), [(1, 24, 1), (30, 24, 0), (3000, 0, 1)])
def test_unexpired_messages_that_were_deleted(
    cluster: Cluster, now: datetime, hours_ago: float, threshold: float, fires: int
) -> None:
    broker(cluster, now, retention=deleted(now, hours_ago))
    broker(cluster, now, "b")
    found = judge("deleted_unexpired", threshold, now)
    assert len(found) == fires
    for alert in found:
        assert (alert.state, alert.name, alert.value) == ("firing", "a-0", 2048)
        assert "2048 bytes in 2 segments were deleted before they expired" in alert.summary


@pytest.mark.parametrize(
    ("damage", "value"),
    [
        (None, None),
        ({"skipped": 3, "repaired": 1, "last": "skipped"}, 3),
        ({"skipped": 0, "repaired": 4, "last": "repaired"}, 1),
        ({"skipped": 0, "repaired": 4, "last": "repaired", "days": 2}, None),
        # The scrub found it, nobody has read it yet.
        ({"skipped": 0, "repaired": 0}, 1),
    ],
)
def test_damaged_records(cluster: Cluster, now: datetime, damage: Any, value: float | None) -> None:
    if damage is not None and "last" in damage:
        at = now - timedelta(days=damage.pop("days", 0), minutes=1)
        last = {"file": "0" * 20, "offset": 4711, "size": 300, "atMs": int(at.timestamp() * 1000)}
        damage["last"] = last | {"outcome": damage["last"]}
    broker(cluster, now, damage=damage)
    found = judge("damage", 0, now)
    assert [alert.value for alert in found] == ([] if value is None else [value])
    for alert in found:
        assert alert.state == "firing" and "damaged records" in alert.summary
        assert "last" not in (damage or {}) or "commit-log offset 4711" in alert.summary


@pytest.mark.parametrize("kind", ["deleted_unexpired", "damage"])
def test_what_some_brokers_do_not_report_is_no_data_and_what_none_does_is_passed_over(
    cluster: Cluster, now: datetime, kind: str
) -> None:
    broker(cluster, now, retention=None)
    assert judge(kind, 0, now) == []
    broker(cluster, now, "b")
    do_evaluate_alerts(now=now)
    [alert] = Alert.objects.all()
    assert (alert.state, alert.summary) == ("no_data", "no data: 1 that do not report it: a-0")


# -- certificates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "threshold", "said"),
    [
        (timedelta(days=29, hours=1), 30, "ends in 29 days"),
        (timedelta(days=31), 30, None),
        (timedelta(days=6, hours=1), 7, "ends in 6 days"),
        (timedelta(hours=20), 1, "ends in 20 hours"),
        (timedelta(hours=-3), 1, "ended at"),
        (None, 30, None),
    ],
)
def test_certificates_that_end(
    cluster: Cluster, now: datetime, left: timedelta | None, threshold: float, said: str | None
) -> None:
    ends = None if left is None else {"notAfterMs": int((now + left).timestamp() * 1000)}
    broker(cluster, now, certificate=ends)
    found = judge("certificate", threshold, now)
    assert len(found) == (0 if said is None else 1)
    for alert in found:
        assert alert.state == "firing" and f"the TLS certificate {said}" in alert.summary


# -- rules that every console begins with -------------------------------------------------------------------


def test_built_in_rules_are_made_once_and_stay_as_people_left_them(
    api: APIClient, cluster: Cluster, now: datetime
) -> None:
    assert do_make_built_in_rules(now=now) == [rule["name"] for rule in RULES]
    shown = api.get("/api/v1/alerts/rules/").json()["results"]
    assert {rule["created_by"] for rule in shown} == {"system:built-in-rules"}
    first, second = shown[0], shown[1]
    address = f"/api/v1/alerts/rules/{first['id']}/"
    assert api.patch(address, {"threshold": 12}, format="json").status_code == 200
    assert api.delete(f"/api/v1/alerts/rules/{second['id']}/").status_code == 204
    assert do_make_built_in_rules(now=now) == []
    assert api.get(address).json()["threshold"] == 12
    assert AlertRule.objects.count() == len(RULES) - 1
    assert AuditEntry.objects.filter(actor="system:built-in-rules").count() == len(RULES)


def test_a_rule_of_that_name_that_somebody_made_is_left_alone(now: datetime) -> None:
    name = RULES[0]["name"]
    AlertRule.objects.create(name=name, kind="lag", created_by="ann", created_at=now)
    assert name not in do_make_built_in_rules(now=now)
    assert AlertRule.objects.get(name=name).kind == "lag"


def test_a_fresh_console_warns_without_being_set_up(people: People, cluster: Cluster, now: datetime) -> None:
    do_make_built_in_rules(now=now)
    broker(
        cluster,
        now,
        disk_ratio=0.95,
        retention=deleted(now, 1),
        damage={"skipped": 1, "repaired": 0},
        certificate={"notAfterMs": int(now.timestamp() * 1000)},
    )
    do_evaluate_alerts(now=now)
    do_evaluate_alerts(now=now + timedelta(seconds=20))
    LiveBroker.objects.update(sampled_at=now + timedelta(seconds=301))
    do_evaluate_alerts(now=now + timedelta(seconds=301))
    assert sorted(Alert.objects.values_list("rule__kind", "state")) == [
        ("certificate", "firing"),
        ("certificate", "firing"),
        ("certificate", "firing"),
        ("damage", "firing"),
        ("deleted_unexpired", "firing"),
        ("disk_trend", "firing"),
    ]
    for client, count in ((people.root, 6), (people.viewer, 6), (people.other, 0)):
        assert client.get("/api/v1/alerts/?state=open").json()["count"] == count


def test_a_cluster_that_is_being_made_leaves_no_alerts_behind(cluster: Cluster, now: datetime) -> None:
    do_make_built_in_rules(now=now)
    Collection.objects.update(sampled_at=None)
    do_evaluate_alerts(now=now)
    assert set(Alert.objects.values_list("state", flat=True)) == {"no_data"}
    broker(cluster, now + timedelta(seconds=20), disk_ratio=0.2)
    do_evaluate_alerts(now=now + timedelta(seconds=30))
    assert list(Alert.objects.values_list("rule__kind", "state")) == [("disk_trend", "no_data")]


# -- from a real broker to the page's answer ----------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_what_a_real_broker_says_of_its_disk_its_records_and_its_certificate(
    tmp_path: Path, redis: str, api: APIClient
) -> None:
    issued = Authority(tmp_path / "ca").issue("server", days=5)
    server = start_name_server(tmp_path)
    tls = {"tls.server.certPath": issued.cert, "tls.server.keyPath": issued.key}
    broker = start_broker(tmp_path, server.address, "sick", **tls)
    try:
        with blocking.Producer("senders", namesrv=server.address) as producer:
            for number in range(5):
                producer.send(Message("orders", b"message %d" % number))
        broker.stop()
        _damage(tmp_path / "sick", b"message 2")
        broker = start_broker(tmp_path, server.address, "sick", **tls)
        _read(server.address, "orders", count=4)
        Cluster.objects.create(
            name="sick",
            broker_cluster_name="ClientCluster",
            kind=Cluster.Kind.ATTACHED,
            name_server_addresses=[server.address],
            broker_addresses=[broker.address],
            created_at=timezone.now(),
        )
        with collecting():
            row = soon(lambda: LiveBroker.objects.filter(damage__skipped=1).first())
            soon(lambda: SeriesChunk.objects.filter(name="sick-0", metric="disk_ratio").exists())
    finally:
        broker.stop()
        server.stop()
    assert row.retention["mayDeleteUnexpired"] is True
    assert 0 < row.retention["forceRatio"] <= row.retention["refuseRatio"] <= 1
    [shown] = api.get("/api/v1/clusters/sick/brokers/").json()["results"]
    assert shown["live"]["retention"] == row.retention
    assert shown["live"]["damage"]["last"]["offset"] == str(row.damage["last"]["offset"])
    do_make_built_in_rules(now=row.sampled_at)
    AlertRule.objects.update(for_s=0)
    do_evaluate_alerts(now=row.sampled_at)
    texts = list(Alert.objects.filter(state="firing").values_list("summary", flat=True))
    assert any("sick-0: damaged records, 1 skipped, 0 repaired" in text for text in texts), texts
    assert sum("the TLS certificate ends in 4 days" in text for text in texts) == 2, texts


def _damage(store: Path, body: bytes) -> None:
    """One bit of its record; the broker is down, or it would trust what it wrote itself."""
    with (store / "commitlog" / "00000000000000000000").open("r+b") as file:
        at = file.read(1 << 16).index(body)
        file.seek(at)
        file.write(bytes([body[0] ^ 0x10]))


def _read(namesrv: str, topic: str, count: int) -> None:
    read: list[bytes] = []
    options = ConsumerOptions(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, rebalance_s=1.0)
    consumer = blocking.PushConsumer(
        "readers", lambda each: read.append(each.body), namesrv=namesrv, options=options
    )
    consumer.subscribe(topic)
    with consumer:
        soon(lambda: len(read) >= count)
