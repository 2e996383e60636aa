"""Channels of operations and jobs, from the first state to the end; and how rows of all channels look."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone
from websockets.sync.client import ClientConnection, connect

from clusters.actions.operations import do_start_operation
from clusters.actions.search_runs import do_run_search
from clusters.models import Cluster, Operation
from clusters.provisioning import executor
from clusters.provisioning.plans.plan import Plan, StepSpec
from clusters.provisioning.registry import StepContext, kinds
from console.core.actors import Actor
from console.core.models.people import Role
from tests.clusters.collecting.orders import commit, make_topic, send
from tests.console.int64_names import numbers_among
from tests.console.live.sockets import session_of
from tests.engine.client.servers import Cluster as EngineCluster
from tests.platform_fixtures import client_of, make_user
from tests.platform_processes import collecting, serving

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def server(django_db_setup: None, django_db_blocker: Any, redis: str) -> Iterator[str]:
    with serving() as address:
        yield address


@contextmanager
def following(server: str, user: Any, channel: str) -> Iterator[ClientConnection]:
    headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={session_of(user)}"}
    url = f"ws://{server}/ws/v1/"
    with connect(url, origin=f"http://{server}", additional_headers=headers) as socket:  # type: ignore[arg-type]
        socket.send(json.dumps({"type": "subscribe", "channel": channel}))
        yield socket


def hear(socket: ClientConnection, within_s: float = 15) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(socket.recv(timeout=within_s))
    return told


@pytest.fixture
def orders(db: None, redis: str) -> Cluster:
    return Cluster.objects.create(
        name="orders", broker_cluster_name="orders", kind=Cluster.Kind.MANAGED, created_at=timezone.now()
    )


@pytest.fixture
def go_on(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Lets the one step of `begin_operation` end."""
    event = threading.Event()

    def run(ctx: StepContext) -> dict[str, Any]:
        ctx.progress("half of it")
        assert event.wait(30)
        return {"done": True}

    monkeypatch.setattr(kinds, "_kinds", dict(kinds._kinds))
    kinds.add("test_step", run)
    return event


def begin_operation(cluster: Cluster) -> Operation:
    plan = Plan("restart", "Restart", ["It is restarted."], [[StepSpec("test_step", "The only step")]])
    actor = Actor("alice", user_id=1)
    return do_start_operation(cluster, plan, {}, needs_approval=False, actor=actor, now=timezone.now())


def work() -> threading.Thread:
    def run() -> None:
        try:
            executor.run_open_steps(None, "test", threading.Event())
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("kind", ["operation", "operations"])
def test_an_operation_is_followed_to_its_end(
    server: str, orders: Cluster, go_on: threading.Event, kind: str
) -> None:
    operation = begin_operation(orders)
    viewer = make_user("viewer", Role.VIEWER)
    channel = f"operation/{operation.pk}" if kind == "operation" else "operations/orders"
    name = "" if kind == "operation" else str(operation.pk)
    with following(server, viewer, channel) as socket:
        first = hear(socket)
        assert (first["type"], first["reason"], first["data"][name]["state"]) == (
            "state",
            "subscribed",
            "running",
        )
        assert list(numbers_among(first["data"])) == []
        thread = work()
        if kind == "operation":
            step = f"step-{operation.steps.get().pk}"
            _until(socket, lambda row: row.get("progress") == "half of it", step)
        go_on.set()
        _until(socket, lambda row: row.get("state") == "succeeded", name)
        thread.join()


def _until(socket: ClientConnection, is_right: Callable[[dict[str, Any]], bool], name: str) -> None:
    while not is_right(hear(socket)["data"].get(name) or {}):
        pass


def test_operations_of_other_clusters_are_not_there(
    server: str, orders: Cluster, go_on: threading.Event
) -> None:
    operation = begin_operation(orders)
    stranger = make_user("stranger", Role.ADMIN, clusters="other-*")
    for channel in (f"operation/{operation.pk}", f"operation/{uuid.uuid4()}", "operations/orders"):
        with following(server, stranger, channel) as socket:
            assert (hear(socket)["type"], channel) == ("error", channel)


def test_jobs_are_told_to_their_owner_and_to_administrators(
    server: str, attached: Cluster, engine: EngineCluster, fresh: Callable[[str], str]
) -> None:
    topic = fresh("haystack")
    send(engine, topic, 30)
    owner, other, admin = (
        make_user(name, role)
        for name, role in (("owner", Role.VIEWER), ("other", Role.VIEWER), ("boss", Role.ADMIN))
    )
    with (
        following(server, owner, "jobs/attached") as mine,
        following(server, other, "jobs/attached") as nothing,
        following(server, admin, "jobs/attached") as everything,
    ):
        for socket in (mine, nothing, everything):
            assert hear(socket)["data"] == {}
        wish = {"topics": [topic], "body": "message 7"}
        job = client_of(owner).post("/api/v1/clusters/attached/searches/", wish, format="json").json()
        assert _job(mine, job["id"])["state"] == "queued"
        assert _job(everything, job["id"])["job"] == "search"
        assert do_run_search(uuid.UUID(job["id"]), worker="test", clock=timezone.now) is False
        done = {}
        while done.get("state") != "done":
            done |= _job(mine, job["id"])
        assert (done["scanned"], done["found"]) == ("30", 1)
        nothing.send(json.dumps({"type": "resync", "channel": "jobs/attached"}))
        assert hear(nothing)["data"] == {}


def test_a_search_that_is_done_again_at_once_is_told_with_how_it_ended(
    server: str, attached: Cluster, engine: EngineCluster, fresh: Callable[[str], str]
) -> None:
    """Continued and done within the second in which nobody is told: its state is what it was."""
    topic = fresh("haystack")
    send(engine, topic, 30)
    owner = make_user("owner", Role.VIEWER)
    rest, searches = client_of(owner), "/api/v1/clusters/attached/searches/"
    wish = {"topics": [topic], "body": "message", "max_scan": 10}
    job = rest.post(searches, wish, format="json").json()["id"]
    do_run_search(uuid.UUID(job), worker="test", clock=timezone.now)
    with following(server, owner, "jobs/attached") as socket:
        row = _job(socket, job)
        assert (row["state"], row["stopped"]) == ("done", "max_scan")
        assert rest.post(f"{searches}{job}/continue/", {}, format="json").status_code == 202
        do_run_search(uuid.UUID(job), worker="test", clock=timezone.now)
        while row["stopped"] != "end":
            row |= _job(socket, job)
        read = rest.get(f"{searches}{job}/").json()
        assert row["state"] == "done"
        # Never in part from an older read: all that a run changes is in what is told.
        assert {"scanned", "found", "max_scan", "max_hits", "problems", "error", "finished_at"} <= row.keys()
        for name in read.keys() & row.keys() - {"created_at", "started_at", "finished_at"}:
            assert (name, row[name]) == (name, read[name])


def _job(socket: ClientConnection, job: str) -> dict[str, Any]:
    while not (row := hear(socket)["data"].get(job)):
        pass
    assert list(numbers_among(row)) == []
    return dict(row)


def test_rows_of_all_channels_have_no_64_bit_numbers_and_look_alike_read_and_told(
    server: str, attached: Cluster, engine: EngineCluster, fresh: Callable[[str], str]
) -> None:
    """States are read from rows, changes come from the collector: a field that looked different in the two
    would be told as a change over and over."""
    topic, group = fresh("orders"), fresh("billing")
    make_topic(attached, topic)
    send(engine, topic, 4)
    commit(attached, topic, group, {0: 0, 1: 0})
    viewer = make_user("viewer", Role.VIEWER)
    channels = {
        f"groups/attached?names={group}": group,
        f"topics/attached?names={topic}": topic,
        f"routing/attached?names={topic}": topic,
        "cluster/attached": "",
        "toplag/attached": group,
    }
    with collecting(), following(server, viewer, "cluster/attached") as socket:
        for channel in channels:
            socket.send(json.dumps({"type": "subscribe", "channel": channel}))
        missing = dict(channels)
        while missing:
            told = hear(socket, 40)
            if told["data"].get(missing.get(told["channel"], "-")):
                del missing[told["channel"]]
        for channel in channels:
            socket.send(json.dumps({"type": "resync", "channel": channel}))
        changed = _changed_fields(socket, set(channels), seconds=4)
    assert not changed & {"lag", "messages", "epoch", "log", "role"}, changed


def _changed_fields(socket: ClientConnection, channels: set[str], seconds: float) -> set[str]:
    """After the state of each channel was told again."""
    found: set[str] = set()
    deadline = time.monotonic() + 30
    while (left := deadline - time.monotonic()) > 0:
        try:
            told = hear(socket, left)
        except TimeoutError:
            break
        assert list(numbers_among(told["data"])) == [], told["channel"]
        if told["type"] == "state":
            channels.discard(told["channel"])
            deadline = time.monotonic() + seconds if not channels else deadline
        elif told["channel"] not in channels:
            found |= {field for row in told["data"].values() for field in row or {}}
    assert not channels
    return found
