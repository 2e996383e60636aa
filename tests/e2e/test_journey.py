"""An administrator's day on a platform started by `make up`, by REST and the websocket alone.

The platform, its cluster and an application's user are shared; each test makes the topic and the groups that
it counts in, so it holds in any order and whichever other tests were skipped. Messages are sent and received
by real clients with the credentials that the console made, through real brokers that it started.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from engine.client import ConsumeFromWhere, ConsumerOptions, Message, ProducerOptions, blocking
from engine.client.messages import ReceivedMessage
from engine.errors import EngineError
from engine.protocol.signing import Credentials
from tests.e2e.load import Load
from tests.e2e.running import Platform, Rest, until
from tests.interop.guarded import signed
from tests.interop.java_client import JavaClient

pytestmark = pytest.mark.timeout(420)

CLUSTER, USER = "orders", "shop"
EVERY_QUEUE = 20
"""Messages enough that each of the eight queues has one: a queue without an offset has no lag."""
OVERRIDES = {
    "mappedFileSizeCommitLog": "16777216",
    "messageDelayLevel": " ".join(["1s"] * 18),
    "flushConsumerOffsetInterval": "500",
}
WISH = {
    "name": CLUSTER,
    "name_servers": 1,
    "groups": 2,
    "slaves": 1,
    "profile": "safe",
    "overrides": OVERRIDES,
    "allow_same_host": True,
}


class World:
    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.rest: Rest = platform.signed_in()
        self.rest.finish(self.rest.post("clusters/", WISH))
        self.namesrv = self.rest.get(self.path())["name_server_addresses"][0]
        made = self.rest.post(self.path("acl/users/"), {"name": USER})
        self.credentials = Credentials(USER, made["secret"])
        self._policies: list[dict[str, Any]] = []
        self._grant("Topic:RMQ_SYS_TRACE_TOPIC", "Pub", "Sub", "Get")

    def path(self, rest: str = "") -> str:
        return f"clusters/{CLUSTER}/{rest}"

    def _grant(self, resource: str, *actions: str) -> None:
        self._policies.append({"resource": resource, "actions": list(actions)})
        self.rest.put(self.path(f"acl/users/{USER}/policies/"), {"policies": self._policies})

    def shop(self, name: str) -> Shop:
        """A topic and a group of this name, which the application's user may use."""
        self.rest.post(self.path("topics/"), {"name": name, "read_queues": 4, "write_queues": 4})
        self.rest.post(self.path("groups/"), {"name": name, "retry_max_times": 1})
        self._grant(f"Topic:{name}", "Pub", "Sub", "Get")
        self._grant(f"Group:{name}", "Sub", "Get")
        return Shop(self, name)


class Shop:
    """What one test sends and receives, under one name for its topic and its group."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self.name = name
        self.sent: list[str] = []
        """Ids of messages."""

    def send(self, *bodies: str, credentials: Credentials | None = None) -> None:
        with blocking.Producer(
            "shops",
            namesrv=self._world.namesrv,
            credentials=credentials or self._world.credentials,
            options=ProducerOptions(trace=True),
        ) as producer:
            for body in bodies:
                result = producer.send(Message(self.name, body.encode(), keys=[f"key-{body}"]))
                self.sent.append(result.msg_id)

    def consume(self, listener: Any, *, tries: int = -1) -> blocking.PushConsumer:
        options = ConsumerOptions(
            from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            commit_interval_s=0.2,
            rebalance_s=1.0,
            max_reconsume_times=tries,
            trace=True,
        )
        consumer = blocking.PushConsumer(
            self.name,
            listener,
            namesrv=self._world.namesrv,
            options=options,
            credentials=self._world.credentials,
        )
        consumer.subscribe(self.name)
        return consumer

    def send_and_consume(self, count: int) -> None:
        """Afterwards nothing is unread, and the console knows it."""
        received: set[str] = set()
        self.send(*(f"read-{number}" for number in range(count)))
        with self.consume(lambda message: received.add(message.body.decode())):
            until(lambda: len(received) == count, f"{count} messages arrive")
        until(lambda: self.lag() == 0, "nothing is unread", 20)

    def lag(self) -> int | None:
        lag = self._world.rest.get(self._world.path(f"groups/{self.name}/"))["lag"]
        return None if lag is None else int(lag)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    platform = Platform(tmp_path_factory.mktemp("journey") / "data", cluster=False)
    try:
        platform.start()
        yield World(platform)
    finally:
        platform.stop()


def test_a_plan_makes_nothing_and_a_cluster_has_its_brokers(world: World) -> None:
    before = world.rest.get("clusters/")["count"]
    plan = world.rest.post("clusters/?dry_run=true", WISH | {"name": "planned"})
    assert len(plan["plan"]) >= 5 and world.rest.get("clusters/")["count"] == before
    assert len(world.rest.get(world.path("brokers/"))["results"]) == 4


def test_policies_of_a_user_are_explained(world: World) -> None:
    shop = world.shop("explained")
    question = {"user": USER, "action": "pub", "topic": shop.name, "address": "127.0.0.1"}
    assert world.rest.post(world.path("acl/explain/"), question)["is_allowed"] is True
    question["topic"] = "salaries"
    assert world.rest.post(world.path("acl/explain/"), question)["is_allowed"] is False


def test_an_application_sends_and_receives(world: World) -> None:
    shop = world.shop("sending")
    shop.send_and_consume(EVERY_QUEUE)
    with pytest.raises(EngineError):
        shop.send("never", credentials=Credentials(USER, "a wrong secret"))


@pytest.mark.needs_maven
def test_the_official_java_client_sends_and_receives(world: World, tmp_path: Path) -> None:
    shop = world.shop("java")
    java = JavaClient("5", world.namesrv, tmp_path)
    there = {"nameServer": world.namesrv, "topic": shop.name, **signed(world.credentials)}
    try:
        assert java.do("acl-send", body="from Java", **there) == "SEND_OK"
        assert java.do("acl-pull", group=shop.name, **there)
    finally:
        java.close()
    received: list[str] = []
    with shop.consume(lambda message: received.append(message.body.decode())):
        until(lambda: "from Java" in received, "what Java sent arrives")
    until(lambda: shop.lag() == 0, "nothing is unread", 20)


def test_lag_moves_on_the_websocket_within_two_seconds_of_a_send(world: World) -> None:
    shop = world.shop("lagging")
    shop.send_and_consume(EVERY_QUEUE)
    with world.rest.live(f"groups/{CLUSTER}?names={shop.name}") as live:
        live.until(lambda rows: rows.get(shop.name, {}).get("lag") == "0", 20)
        shop.send(*(f"unread-{number}" for number in range(7)))
        took_s = live.until(lambda rows: rows[shop.name]["lag"] == "7", 6)
    print(f"lag on the websocket after {took_s:.2f} s")
    assert took_s <= 2.0


def test_a_reset_is_previewed_applied_and_undone(world: World) -> None:
    shop = world.shop("resetting")
    shop.send_and_consume(EVERY_QUEUE)
    shop.send(*(f"unread-{number}" for number in range(7)))
    until(lambda: shop.lag() == 7, "the lag is that of the new messages", 20)
    wish = {"to": "earliest", "topics": [shop.name]}
    path = world.path(f"groups/{shop.name}/resets/")
    preview = world.rest.post(f"{path}?dry_run=true", wish)
    assert sum(int(queue["replayed"] or 0) for queue in preview["queues"]) == EVERY_QUEUE
    assert shop.lag() == 7
    reset = world.rest.post(path, wish)
    assert reset["is_complete"] and all(queue["ok"] for queue in reset["queues"])
    until(lambda: shop.lag() == EVERY_QUEUE + 7, "the lag is that of all messages", 20)
    undone = world.rest.post(f"{path}{reset['id']}/undo/")
    assert undone["is_complete"]
    until(lambda: shop.lag() == 7, "the lag is what it was", 20)


def test_dead_letters_are_redriven(world: World) -> None:
    def fail(message: ReceivedMessage) -> None:
        raise ValueError("no stock")

    def dead() -> int:
        status, body = world.rest.call("GET", world.path(f"dlq/{shop.name}/?limit=100"))
        return len(body["messages"]) if status == 200 else 0

    shop = world.shop("failing")
    shop.send(*(f"fails-{number}" for number in range(28)))
    with shop.consume(fail, tries=1):
        until(lambda: dead() == 28, "28 messages are dead", 90, 1.0)
    received: set[str] = set()
    with shop.consume(lambda message: received.add(message.body.decode())):
        wish = {"all": True, "canary": 3, "canary_window_s": 1, "rate": 200}
        redrive = world.rest.post(world.path(f"dlq/{shop.name}/redrives/"), wish)
        path = world.path(f"redrives/{redrive['id']}/")
        ended = until(lambda: _ended(world.rest.get(path)), "the redrive ends", 60)
        assert (ended["state"], ended["outcomes"]["sent"]) == ("done", 28), ended
        until(lambda: len(received) == 28, "they arrive once more", 30)


def _ended(redrive: dict[str, Any]) -> dict[str, Any] | None:
    return redrive if redrive["state"] in ("done", "stopped", "failed", "cancelled") else None


def test_the_trace_of_a_message_tells_its_story(world: World) -> None:
    shop = world.shop("traced")
    shop.send_and_consume(1)

    def traced() -> dict[str, Any] | None:
        story = world.rest.get(world.path(f"messages/{shop.sent[0]}/trace/?topic={shop.name}"))
        return story if '"shops"' in (text := json.dumps(story)) and f'"{shop.name}"' in text else None

    story = until(traced, "both parts of the trace", 30)
    assert "shops" in json.dumps(story)


def test_an_alert_reaches_a_webhook(world: World) -> None:
    shop = world.shop("alerting")
    shop.send_and_consume(EVERY_QUEUE)
    heard: list[dict[str, Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    channel = {"name": "hook", "kind": "webhook", "url": f"http://127.0.0.1:{server.server_port}/alerts"}
    world.rest.post("alerts/channels/", channel)
    rule = {"name": "it is behind", "kind": "lag", "cluster_pattern": CLUSTER, "name_pattern": shop.name}
    world.rest.post("alerts/rules/", rule | {"threshold": 5, "for_s": 0, "channels": ["hook"]})
    shop.send(*(f"unread-{number}" for number in range(7)))
    until(lambda: any(shop.name in json.dumps(each) for each in heard), "the webhook is called", 60)
    server.shutdown()


def test_a_document_is_planned_applied_and_watched(world: World) -> None:
    document = {
        "name": "team-shop",
        "clusters": [
            {
                "name": CLUSTER,
                "topics": [{"name": "returns", "read_queues": 2, "write_queues": 2}],
                "groups": [{"name": "returns-desk"}],
            }
        ],
    }
    plan = world.rest.post("documents/plan/", document)
    assert {each["name"] for each in plan["create"]} == {"returns", "returns-desk"}
    applied = world.rest.post("documents/apply/", document)
    for operation in applied["operations"]:
        world.rest.finish({"id": operation, "summary": "apply the document"})
    assert not world.rest.post("documents/plan/", document)["create"]
    status, _ = world.rest.call("PATCH", world.path("topics/returns/"), {"read_queues": 3, "write_queues": 3})
    assert status == 200
    assert "returns" in json.dumps(world.rest.get("documents/team-shop/drift/"))


def test_a_search_job_finds_a_body(world: World) -> None:
    shop = world.shop("searched")
    shop.send(*(f"hay-{number}" for number in range(7)))
    wish = {"topics": [shop.name], "body": "hay-3"}
    job = world.rest.post(world.path("searches/"), wish)
    path = world.path(f"searches/{job['id']}/")
    done = until(
        lambda: (seen := world.rest.get(path))["state"] in ("done", "failed") and seen, "the search ends", 60
    )
    assert (done["state"], done["found"], done["is_complete"]) == ("done", 1, True), done


def test_a_rolling_restart_under_load_loses_nothing(world: World) -> None:
    shop = world.shop("restarting")
    with Load(world.namesrv, world.credentials, shop.name) as load:
        world.rest.finish(world.rest.post(world.path("restart/")), 240)
    load.check_nothing_is_lost(shop.name)


def test_a_killed_broker_is_healed_within_thirty_seconds(world: World) -> None:
    shop = world.shop("healing")
    with Load(world.namesrv, world.credentials, shop.name) as load:
        victim = world.rest.get(world.path("brokers/"))["results"][0]
        os.kill(victim["process"]["pid"], signal.SIGKILL)
        killed = time.monotonic()

        def healed() -> bool:
            row = next(
                row
                for row in world.rest.get(world.path("brokers/"))["results"]
                if row["label"] == victim["label"]
            )
            return (
                row["process"]["observed"] == "running" and row["process"]["pid"] != victim["process"]["pid"]
            )

        until(healed, "the broker is back", 30)
        print(f"healed after {time.monotonic() - killed:.1f} s")
    load.check_nothing_is_lost(shop.name)


def test_it_grows_and_shrinks(world: World) -> None:
    grown = {"groups": 1, "slaves": 1, "allow_same_host": True}
    world.rest.finish(world.rest.post(world.path("grow/"), grown))
    groups = _broker_names(world)
    assert len(groups) == 3
    newest = max(groups)
    wish = {"group": newest, "data": "remove"}
    world.rest.finish(world.rest.post(world.path("shrink/"), wish))
    assert _broker_names(world) == groups - {newest}


def _broker_names(world: World) -> set[str]:
    return {row["broker_name"] for row in world.rest.get(world.path("brokers/"))["results"]}


def test_a_slave_is_promoted(world: World) -> None:
    shop = world.shop("promoting")
    rows = world.rest.get(world.path("brokers/"))["results"]
    group = rows[0]["broker_name"]
    slave = next(row for row in rows if row["broker_name"] == group and not row["is_master"])
    member = int(slave["label"].rpartition("-")[2])
    world.rest.finish(world.rest.post(world.path("promote/"), {"group": group, "member": member}))
    rows = world.rest.get(world.path("brokers/"))["results"]
    assert [row["label"] for row in rows if row["broker_name"] == group and row["is_master"]] == [
        slave["label"]
    ]
    shop.send("after the promotion")


def test_two_operations_at_once_are_refused(world: World) -> None:
    operation = world.rest.post(world.path("restart/"))
    status, problem = world.rest.call("POST", world.path("restart/"), {})
    assert (status, operation["id"] in json.dumps(problem)) == (409, True), problem
    world.rest.finish(operation, 240)


def test_it_is_deleted_and_restored(world: World) -> None:
    shop = world.shop("restored")
    status, problem = world.rest.call("DELETE", world.path("?confirm=wrong"))
    assert status == 400, problem
    status, operation = world.rest.call("DELETE", world.path(f"?confirm={CLUSTER}&keep_data=true"))
    assert status == 202, operation
    world.rest.finish(operation, 180)
    assert world.rest.call("GET", world.path())[0] == 404
    world.rest.finish(world.rest.post(world.path("restore/")), 180)
    world.namesrv = world.rest.get(world.path())["name_server_addresses"][0]
    topics = [row["name"] for row in world.rest.get(world.path("topics/?kind=normal"))["results"]]
    until(lambda: shop.name in topics or topics.extend(_topics(world)), "its topics are back", 30)
    shop.send("after the restore")


def _topics(world: World) -> list[str]:
    return [row["name"] for row in world.rest.get(world.path("topics/?kind=normal"))["results"]]


def test_the_audit_chain_of_all_this_holds(world: World) -> None:
    before = int(world.rest.get("audit/verify/")["checked"])
    world.shop("audited")
    verdict = world.rest.get("audit/verify/")
    assert verdict["broken_at"] is None and int(verdict["checked"]) >= before + 4
    canary = world.credentials.secret_key
    for file in Path(world.platform.data, "console", "logs").glob("*"):
        assert canary not in file.read_text(errors="replace")
