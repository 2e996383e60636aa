"""An agent: the Celery worker of one host. Joins once, then runs steps and looks after processes.

One per data root (`agent.lock`). It needs the database and Redis, and its own `agent.key`; the console's key
only where it also serves the control queue. At boot it picks up what its host has open, without waiting for a
message.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psutil
from celery.signals import worker_ready, worker_shutting_down
from django.db import DatabaseError, connections
from django.utils import timezone

from clusters.actions.hosts import Ranges, do_join_host
from clusters.models import Host
from clusters.provisioning import agents, executor, steps
from clusters.provisioning.folders import write_private
from clusters.provisioning.host_keys import make_key, public_half, read_key
from clusters.tasks.hosts import look_after_host
from clusters.tasks.steps import run_steps
from console.celery import app
from console.core.problems import Problem
from console.core.waking import CONTROL, REPORTS, host_queue
from reports.tasks.runs import pick_up as pick_up_reports

log = logging.getLogger(__name__)

VERSION = "2"
"""Raised when agents learn something that consoles must know of (clusters/actions/old_agents.py)."""
HEARTBEAT_S = 5.0
_LOOK_ITSELF_AFTER_S = 12.0
_THREADS = 8


class AgentError(Exception):
    """Why this agent does not start, in a line that its operator can act on."""


def join(token: str, address: str, data_root: Path, ranges: Ranges) -> Host:
    """The host that the token is for, from now on with this data root and this key."""
    if (about := identity(data_root)) is not None:
        raise AgentError(f"{data_root} belongs to the host {about} already: start without --join")
    key = make_key(data_root)
    try:
        host = do_join_host(
            token,
            address,
            str(data_root),
            public_half(key),
            ranges,
            version=VERSION,
            now=timezone.now(),
        )
    except Problem as problem:
        raise AgentError(problem.detail) from None
    remember(data_root, host.name)
    return host


def remember(data_root: Path, name: str) -> None:
    write_private(data_root / "agent.json", json.dumps({"host": name}) + "\n")


def identity(data_root: Path) -> str | None:
    try:
        return str(json.loads((data_root / "agent.json").read_text())["host"])
    except (FileNotFoundError, ValueError, KeyError):
        return None


def recognise(data_root: Path) -> Host:
    """Who this agent is, by its data root: the row must have the public half of its key."""
    name, key = identity(data_root), read_key(data_root)
    if name is None or key is None:
        raise AgentError(f"{data_root} belongs to no host yet: join with --join TOKEN")
    host = Host.objects.filter(name=name, removed_at=None).first()
    if host is None:
        raise AgentError(f"the host {name} was removed: join again with a new token and a new data root")
    if host.public_key != public_half(key):
        raise AgentError(f"the host {name} has another key: another agent has joined under its name")
    return host


@contextmanager
def only_one(data_root: Path) -> Iterator[None]:
    handle = os.open(data_root / "agent.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise AgentError(f"another agent runs on {data_root}") from None
    try:
        yield
    finally:
        os.close(handle)


def serve(host: Host, *, serves_control: bool) -> int:
    """Until a signal. The exit code."""
    agents.become(host.name)
    # Celery would check the whole site, addresses and views included, which an agent does not have.
    os.environ.setdefault("CELERY_SKIP_CHECKS", "true")
    queues = [host_queue(host.name), *((CONTROL, REPORTS) if serves_control else ())]
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(host.pk, host.name, ended), name="heartbeat", daemon=True)

    def ready(**_: object) -> None:
        beating.start()
        threading.Thread(target=_pick_up, args=(host.name, serves_control), daemon=True).start()

    def shutting_down(**_: object) -> None:
        executor.stopping.set()

    worker_ready.connect(ready, weak=False)
    worker_shutting_down.connect(shutting_down, weak=False)
    worker = app.Worker(
        hostname=f"agent.{host.name}@%h",
        queues=queues,
        pool="threads",
        concurrency=_THREADS,
        loglevel="WARNING",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    ended.set()
    return int(worker.exitcode or 0)


def _pick_up(name: str, serves_control: bool) -> None:
    """What was open when this host's last agent ended."""
    try:
        host = agents.current()
        if host is not None:
            steps.release_orphans(host.pk, name, os.getpid(), timezone.now())
        run_steps(name)
        look_after_host(name)
        if serves_control:
            run_steps("")
        if host is not None:
            pick_up_reports(host)
    finally:
        connections.close_all()


def _beat(host_id: int, name: str, ended: threading.Event) -> None:
    booted = datetime.fromtimestamp(psutil.boot_time(), UTC)
    while True:
        try:
            Host.objects.filter(pk=host_id).update(
                heartbeat_at=timezone.now(), booted_at=booted, agent_version=VERSION
            )
            # Redis or beat may be away: processes are looked after all the same.
            if agents.seconds_since_look() > _LOOK_ITSELF_AFTER_S:
                look_after_host(name)
                run_steps(name)
        except DatabaseError as error:
            log.warning("no heartbeat: %s", error)
            connections.close_all()
        if ended.wait(HEARTBEAT_S):
            connections.close_all()
            return
