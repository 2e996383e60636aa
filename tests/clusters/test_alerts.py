"""Alerts by REST with a real receiver: rules over live rows, signed webhooks, silences, rights, secrets."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from clusters.actions.alert_deliveries import RETRY_AFTER, do_deliver_alerts
from clusters.actions.alerts import do_evaluate_alerts
from clusters.gateway.webhooks import UNREACHABLE, post, read_url
from clusters.models import (
    Alert,
    AlertChannel,
    AlertDelivery,
    Cluster,
    Collection,
    LiveBroker,
    LiveGroup,
    LiveTopic,
)
from console.core.models.people import Role
from console.core.problems import Problem
from tests.platform_fixtures import People, client_of, make_user

pytestmark = pytest.mark.django_db
SECRET = "a secret of the receiver"


class Receiver(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        self.location = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?team=a"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append((dict(self.headers), body))
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class MailServer:
    """Takes one mail, and keeps what was said."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.text = b""
        self._thread = threading.Thread(target=self._take)

    def __enter__(self) -> MailServer:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.join(10)
        self._listener.close()

    def _take(self) -> None:
        peer, _ = self._listener.accept()
        with peer, peer.makefile("rb") as lines:
            peer.sendall(b"220 mail\r\n")
            is_body = False
            for line in lines:
                self.text += line
                if is_body and line != b".\r\n":
                    continue
                is_body = line.upper().startswith(b"DATA")
                peer.sendall(b"354 go on\r\n" if is_body else b"250 ok\r\n")
                if line.upper().startswith(b"QUIT"):
                    return


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def orders(db: None) -> Cluster:
    now = timezone.now()
    cluster = Cluster.objects.create(
        name="orders", broker_cluster_name="orders", kind=Cluster.Kind.ATTACHED, created_at=now
    )
    Collection.objects.create(cluster=cluster, sampled_at=now)
    LiveBroker.objects.create(
        cluster=cluster,
        broker_name="a",
        member=0,
        address="127.0.0.1:1",
        role="master",
        disk_ratio=0.4,
        sampled_at=now,
        is_reachable=True,
        ha={"role": "ASYNC_MASTER", "inSync": [0, 1], "minInSync": 1, "slaves": [{"lagBytes": 5}]},
    )
    LiveGroup.objects.create(cluster=cluster, name="billing", lag=500, member_count=2)
    return cluster


def make_channel(api: APIClient, receiver: Receiver, **more: Any) -> Any:
    body = {"name": "pager", "kind": "webhook", "url": receiver.url, "secret": SECRET} | more
    return api.post("/api/v1/alerts/channels/", body, format="json")


def make_rule(api: APIClient, **more: Any) -> Any:
    body = {"name": "lag", "kind": "lag", "threshold": 100, "for_s": 0, "channels": []} | more
    return api.post("/api/v1/alerts/rules/", body, format="json")


def test_an_alert_fires_to_a_webhook_and_resolves(
    api: APIClient, orders: Cluster, receiver: Receiver
) -> None:
    assert make_channel(api, receiver).status_code == 201
    assert make_rule(api, channels=["pager"], severity="critical").status_code == 201
    do_evaluate_alerts(now=timezone.now())
    assert do_deliver_alerts() == 1
    headers, body = receiver.heard[0]
    told = json.loads(body)
    assert (told["event"], told["cluster"], told["name"], told["value"]) == (
        "firing",
        "orders",
        "billing",
        500,
    )
    assert (told["severity"], told["summary"]) == ("critical", "billing: 500 messages behind")
    at_s, _, sent = headers["X-Signalbox-Signature"].removeprefix("t=").partition(",v1=")
    expected = hmac.new(SECRET.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    assert sent == expected
    LiveGroup.objects.update(lag=0)
    do_evaluate_alerts(now=timezone.now())
    do_deliver_alerts()
    assert json.loads(receiver.heard[1][1])["event"] == "resolved"
    [row] = api.get("/api/v1/alerts/").json()["results"]
    assert row["state"] == "resolved"
    assert api.get("/api/v1/alerts/?state=open").json()["count"] == 0
    states = [row["state"] for row in api.get("/api/v1/alerts/deliveries/").json()["results"]]
    assert states == ["sent", "sent"]


@pytest.mark.parametrize(
    ("kind", "threshold", "make_hold"),
    [
        ("lag", 499, lambda: None),
        (
            "seconds",
            30,
            lambda: LiveGroup.objects.update(oldest_unread_at=timezone.now() - timedelta(minutes=1)),
        ),
        ("eta", 60, lambda: LiveGroup.objects.update(eta_s=61)),
        ("eta", 60, lambda: LiveGroup.objects.update(never_clears=True, eta_s=None)),
        ("no_members", 0, lambda: LiveGroup.objects.update(member_count=0)),
        ("disk", 0.8, lambda: LiveBroker.objects.update(disk_ratio=0.9)),
        ("in_sync", 3, lambda: None),
        ("in_sync", 0, lambda: LiveBroker.objects.update(ha={"inSync": [0], "minInSync": 2})),
        ("slave_lag", 4, lambda: None),
        ("broker_down", 0, lambda: LiveBroker.objects.update(is_reachable=False, error="no answer")),
        ("dlq_growth", 2, lambda: _dead_letters(3)),
    ],
)
def test_every_kind_of_rule_fires(
    api: APIClient, orders: Cluster, kind: str, threshold: float, make_hold: Callable[[], object]
) -> None:
    LiveGroup.objects.update(eta_s=1, oldest_unread_at=timezone.now())
    make_hold()
    assert make_rule(api, kind=kind, threshold=threshold).status_code == 201
    do_evaluate_alerts(now=timezone.now())
    [alert] = Alert.objects.all()
    assert alert.state == "firing", alert.summary
    assert alert.summary


@pytest.mark.parametrize(
    ("kind", "threshold"),
    [
        ("lag", 500),
        ("seconds", 30),
        ("eta", 60),
        ("no_members", 0),
        ("disk", 0.4),
        ("in_sync", 2),
        ("in_sync", 0),
        ("slave_lag", 5),
        ("broker_down", 0),
        ("dlq_growth", 3),
    ],
)
def test_no_rule_fires_at_its_threshold(api: APIClient, orders: Cluster, kind: str, threshold: float) -> None:
    LiveGroup.objects.update(eta_s=60, oldest_unread_at=timezone.now())
    _dead_letters(3)
    make_rule(api, kind=kind, threshold=threshold)
    do_evaluate_alerts(now=timezone.now())
    assert not Alert.objects.exists()


def _dead_letters(count: int) -> None:
    LiveTopic.objects.create(
        cluster=Cluster.objects.get(),
        name="%DLQ%billing",
        kind="dlq",
        read_queues=1,
        write_queues=1,
        perm=6,
        messages=count,
        last_write_at=timezone.now(),
    )


@pytest.mark.parametrize(
    "kind", ["lag", "seconds", "eta", "no_members", "disk", "in_sync", "slave_lag", "broker_down"]
)
def test_old_figures_are_no_data(api: APIClient, orders: Cluster, kind: str) -> None:
    old = timezone.now() - timedelta(minutes=1)
    LiveBroker.objects.update(sampled_at=old)
    Collection.objects.update(sampled_at=old)
    make_rule(api, kind=kind, threshold=100)
    do_evaluate_alerts(now=timezone.now())
    [alert] = Alert.objects.all()
    assert (alert.state, alert.subject, alert.value) == ("no_data", "cluster", None)


def test_a_figure_that_is_not_known_is_no_data(api: APIClient, orders: Cluster) -> None:
    LiveGroup.objects.update(oldest_unread_at=None, member_count=None)
    make_rule(api, kind="seconds", name="seconds")
    make_rule(api, kind="no_members", name="members")
    do_evaluate_alerts(now=timezone.now())
    assert {alert.state for alert in Alert.objects.all()} == {"no_data"}
    assert all("billing" in alert.summary for alert in Alert.objects.all())


def test_a_silence_is_kept_and_ended(api: APIClient, orders: Cluster, receiver: Receiver) -> None:
    make_channel(api, receiver)
    make_rule(api, channels=["pager"])
    now = timezone.now()
    body = {
        "name_pattern": "bill*",
        "rule": "lag",
        "starts_at": (now - timedelta(minutes=1)).isoformat(),
        "ends_at": (now + timedelta(hours=1)).isoformat(),
        "reason": "a deployment",
    }
    made = api.post("/api/v1/alerts/silences/", body, format="json")
    assert made.status_code == 201, made.json()
    do_evaluate_alerts(now=now)
    assert do_deliver_alerts() == 0
    [row] = api.get("/api/v1/alerts/?state=firing").json()["results"]
    assert row["is_silenced"]
    assert api.delete(f"/api/v1/alerts/silences/{made.json()['id']}/").status_code == 204
    do_evaluate_alerts(now=timezone.now())
    assert do_deliver_alerts() == 1


def test_a_delivery_is_tried_again_and_given_up(api: APIClient, orders: Cluster, receiver: Receiver) -> None:
    receiver.status = 500
    make_channel(api, receiver)
    make_rule(api, channels=["pager"])
    now = timezone.now()
    do_evaluate_alerts(now=now)
    for delay in (timedelta(0), *RETRY_AFTER):
        now += delay
        assert do_deliver_alerts(clock=lambda at=now: at) == 0
        assert do_deliver_alerts(clock=lambda at=now: at) == 0
    [row] = AlertDelivery.objects.all()
    assert (row.state, row.attempts, row.error) == ("failed", 5, "it answered 500")
    assert len(receiver.heard) == 5


def test_a_test_says_what_came_of_it(api: APIClient, receiver: Receiver) -> None:
    channel = make_channel(api, receiver).json()
    answer = api.post(f"/api/v1/alerts/channels/{channel['id']}/test/")
    assert (answer.status_code, answer.json()["is_complete"]) == (200, True)
    assert json.loads(receiver.heard[0][1])["event"] == "test"
    rule = make_rule(api, channels=["pager"]).json()
    receiver.status = 404
    answer = api.post(f"/api/v1/alerts/rules/{rule['id']}/test/")
    assert (answer.status_code, answer.json()["is_complete"]) == (207, False)


def test_secrets_go_in_and_never_come_out(api: APIClient, receiver: Receiver) -> None:
    made = make_channel(api, receiver, url=f"{receiver.url}&token=canary-in-url", secret="canary-secret")
    assert (made.json()["has_secret"], made.json()["host"]) == (True, f"127.0.0.1:{receiver.server_port}")
    channel_id = made.json()["id"]
    shown = [made, api.get("/api/v1/alerts/channels/"), api.get(f"/api/v1/alerts/channels/{channel_id}/")]
    shown.append(api.get("/api/v1/audit/"))
    assert all(b"canary" not in answer.content for answer in shown)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM clusters_alertchannel")
        assert "canary" not in str(cursor.fetchall())
    assert "canary" not in repr(AlertChannel.objects.get())


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.status, receiver.location = 302, receiver.url
    assert post(receiver.url, b"{}", "", 0) == "it answered 302"
    assert len(receiver.heard) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://127.1:{port}/",
        "http://0x7f.1:{port}/",
        "http://localhost:{port}/",
        "http://localhost.:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://169.254.169.254/latest/",
        "http://10.0.0.1/",
        "http://0.0.0.0:{port}/",
        "http://no-such-host.invalid/",
    ],
)
def test_a_webhook_does_not_reach_inside(receiver: Receiver, settings: Any, url: str) -> None:
    settings.DIAL_NETWORKS = []
    assert post(url.format(port=receiver.server_port), b"{}", "", 0) == UNREACHABLE
    assert receiver.heard == []


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "unix:///run/redis.sock",
        "file:///etc/passwd",
        "http://user:password@example.com/",
        "http://example.com/\r\nX-Evil: 1",
        "http://exa mple.com/",
        "http://example.com\\@evil.example/",
        "http://example.com:99999/",
        "http:///nowhere",
        "http://ex\u00e4mple.com/",
        "",
    ],
)
def test_an_address_that_is_not_plain_is_refused(api: APIClient, url: str) -> None:
    with pytest.raises(Problem, match="plain"):
        read_url(url)
    body = {"name": "pager", "kind": "webhook", "url": url}
    answer = api.post("/api/v1/alerts/channels/", body, format="json")
    assert answer.status_code == 400
    assert not AlertChannel.objects.exists()


def test_a_channel_is_changed_without_its_secrets_and_deleted(api: APIClient, receiver: Receiver) -> None:
    channel_id = make_channel(api, receiver).json()["id"]
    address = f"/api/v1/alerts/channels/{channel_id}/"
    changed = api.patch(address, {"name": "night pager", "is_enabled": False}, format="json").json()
    assert (changed["name"], changed["is_enabled"], changed["has_secret"]) == ("night pager", False, True)
    assert api.post(f"{address}test/").json()["is_complete"]
    assert "X-Signalbox-Signature" in receiver.heard[0][0]
    assert api.delete(address).status_code == 204
    assert api.get(address).status_code == 404


def test_mail_goes_to_the_server_that_is_set(api: APIClient, settings: Any) -> None:
    with MailServer() as server:
        settings.MAIL_URL = f"smtp://127.0.0.1:{server.port}"
        body = {"name": "mail", "kind": "mail", "recipients": ["a@example.com", "b@example.com"]}
        channel = api.post("/api/v1/alerts/channels/", body, format="json").json()
        answer = api.post(f"/api/v1/alerts/channels/{channel['id']}/test/")
        assert answer.json()["is_complete"], answer.json()
    text = server.text.decode()
    assert "rcpt TO:<a@example.com>" in text and "rcpt TO:<b@example.com>" in text
    assert "Subject: [info] test: a test by root" in text
    answer = api.post(f"/api/v1/alerts/channels/{channel['id']}/test/")
    assert (answer.status_code, answer.json()["is_complete"]) == (207, False)


def test_mail_without_a_server_is_refused_not_swallowed(api: APIClient) -> None:
    body = {"name": "mail", "kind": "mail", "recipients": ["a@example.com"]}
    answer = api.post("/api/v1/alerts/channels/", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (422, "mail_not_configured")


def test_who_may_make_rules_and_channels(people: People, orders: Cluster, receiver: Receiver) -> None:
    team = client_of(make_user("team", Role.OPERATOR, clusters="orders", names="team-*"))
    odd = client_of(make_user("odd", Role.OPERATOR, clusters="orders", names="team-?"))
    assert make_rule(people.viewer).status_code == 403
    assert make_rule(people.anonymous).status_code == 401
    assert make_rule(team, name="all").status_code == 403
    assert make_rule(team, name="wide", cluster_pattern="orders", name_pattern="*").status_code == 403
    assert make_rule(team, name="own", cluster_pattern="orders", name_pattern="team-a*").status_code == 201
    assert make_rule(odd, name="odd", cluster_pattern="orders", name_pattern="team-*").status_code == 403
    assert make_channel(people.operator, receiver).status_code == 403
    assert make_channel(people.admin, receiver).status_code == 201
    rule = make_rule(people.operator).json()
    assert team.get(f"/api/v1/alerts/rules/{rule['id']}/").status_code == 404
    assert people.viewer.delete(f"/api/v1/alerts/rules/{rule['id']}/").status_code == 403
    assert team.get("/api/v1/alerts/rules/").json()["count"] == 1
    do_evaluate_alerts(now=timezone.now())
    assert people.viewer.get("/api/v1/alerts/").json()["count"] == 1
    assert team.get("/api/v1/alerts/").json()["count"] == 0
    assert people.other.get("/api/v1/alerts/").json()["count"] == 0


def test_rules_and_silences_of_one_cluster_are_listed(api: APIClient) -> None:
    for number, pattern in enumerate(["*", "prod-*", "orders"]):
        assert make_rule(api, name=f"rule {number}", cluster_pattern=pattern).status_code == 201
        silence = {
            "cluster_pattern": pattern,
            "starts_at": "2030-01-01T10:00:00Z",
            "ends_at": "2030-01-01T12:00:00Z",
            "reason": "deployment",
        }
        assert api.post("/api/v1/alerts/silences/", silence, format="json").status_code == 201
    for kind in ("rules", "silences"):
        rows = api.get(f"/api/v1/alerts/{kind}/", {"cluster": "prod-1"}).json()["results"]
        assert {row["cluster_pattern"] for row in rows} == {"*", "prod-*"}, kind


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "moon"),
        ("threshold", -1),
        ("threshold", "nan"),
        ("for_s", 100_000),
        ("name_pattern", "a[b]"),
        ("name_pattern", "a?"),
        ("channels", ["nobody"]),
        ("severity", "loud"),
        ("name", ""),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(api: APIClient, field: str, value: Any) -> None:
    answer = make_rule(api, **{field: value})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"].startswith(field)


def test_a_rule_that_is_switched_off_or_deleted_leaves_nothing_open(api: APIClient, orders: Cluster) -> None:
    rule = make_rule(api).json()
    do_evaluate_alerts(now=timezone.now())
    assert api.get("/api/v1/alerts/?state=firing").json()["count"] == 1
    api.patch(f"/api/v1/alerts/rules/{rule['id']}/", {"is_enabled": False}, format="json")
    do_evaluate_alerts(now=timezone.now())
    assert api.get("/api/v1/alerts/?state=open").json()["count"] == 0
    assert api.delete(f"/api/v1/alerts/rules/{rule['id']}/").status_code == 204


def test_lists_of_alerts_take_few_queries(
    people: People, orders: Cluster, django_assert_num_queries: Any
) -> None:
    for number in range(5):
        LiveGroup.objects.create(cluster=orders, name=f"g{number}", lag=1000)
    make_rule(people.root)
    do_evaluate_alerts(now=timezone.now())
    with django_assert_num_queries(5):
        assert people.viewer.get("/api/v1/alerts/").json()["count"] == 6
    with django_assert_num_queries(5):
        assert people.viewer.get("/api/v1/alerts/rules/").json()["count"] == 1
