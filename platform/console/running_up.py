"""`manage.py up` at work: what it starts, in which order, what it prints, how it stops.

Order: Redis, tables, administrator, host, then console, agent and collector as children, and beat as a thread
of this process; last the first cluster. It stops the other way round, Redis last, because the others wake
each other through it. A locked pid file lets `manage.py down` find a running `up`, never a stale one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.core.management import get_commands
from django.db import DatabaseError
from django.utils import timezone

from clusters.actions.built_in_rules import do_make_built_in_rules
from clusters.actions.hosts import Ranges
from clusters.models import Operation
from clusters.provisioning.ports import VIP_DISTANCE, is_free
from console import embedded_redis, serving, setting_up
from console.beat import Beat
from console.children import Child, ChildFailed, clock
from console.core.problems import Problem
from console.data_root import REPOSITORY
from reports.submitting import availability

READY_S = 60.0
PID_FILE = "up.pid"


class UpError(Exception):
    """What keeps the platform from running, in a line that the user can act on."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    host: str
    port: int
    address: str
    namesrv_port: int
    broker_port: int
    makes_cluster: bool

    @property
    def ranges(self) -> Ranges:
        """Up to where the other one begins."""
        brokers, servers = self.broker_port - VIP_DISTANCE, self.namesrv_port
        last_broker = min(brokers + 999, 65535, servers - 1 if servers > brokers else 65535)
        last_server = min(servers + 99, 65535, brokers - 1 if brokers > servers else 65535)
        return Ranges(brokers, last_broker, servers, last_server)


class Up:
    def __init__(self, options: UpOptions) -> None:
        self._options = options
        self._root = settings.DATA_ROOT
        self._stop = threading.Event()
        self._children: list[Child] = []

    def run(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._stop.set())
        with contextlib.ExitStack() as stack, self._problems():
            stack.enter_context(_pid_file(self._root.console / PID_FILE))
            self._refuse_taken_ports()
            stack.callback(self._end_children)
            self._start(stack)
            if not self._stop.is_set():
                self._make_cluster()
                self._say_first_steps()
                self._watch()
            say("stopping; brokers go on (`make down` stops them, too)")

    @contextlib.contextmanager
    def _problems(self) -> Iterator[None]:
        """Whatever a person can do something about, in one line."""
        try:
            yield
        except (ChildFailed, embedded_redis.RedisError) as error:
            raise UpError(str(error)) from None
        except Problem as problem:
            raise UpError(problem.detail) from None
        except DatabaseError as error:
            raise UpError(f"the database cannot be used: {error}") from None

    # -- starting -------------------------------------------------------------------------------------------

    def _start(self, stack: contextlib.ExitStack) -> None:
        now = timezone.now()
        self._start_redis()
        say("looking at the database")
        setting_up.migrate()
        password = setting_up.make_administrator(now)
        do_make_built_in_rules(now=now)
        data_root = self._root.of_host(setting_up.HOST)
        setting_up.join_local(data_root, self._options.address, self._options.ranges, now)
        python, manage = sys.executable, str(REPOSITORY / "manage.py")
        console = serving.command(python, self._options.host, self._options.port)
        self._child("console", [*console, "--log-level", "warning"])
        agent = ["--name", setting_up.HOST, "--data-root", str(data_root), "--control"]
        self._child("agent", [python, manage, "agent", *agent])
        if "collect" in get_commands():
            self._child("collector", [python, manage, "collect"])
        logging.getLogger("celery.beat").setLevel(logging.WARNING)
        stack.enter_context(Beat())
        self._wait_until_ready()
        if password is not None:
            self._say_password(password)

    def _start_redis(self) -> None:
        if os.environ.get("REDIS_URL"):
            return
        say("starting Redis")
        path = self._root.redis_socket
        embedded_redis.end_orphan(path)
        child = self._child("redis", embedded_redis.command(path))
        embedded_redis.wait_until_ready(path, child.process)

    def _child(self, name: str, command: list[str]) -> Child:
        environment = {**os.environ, "SIGNALBOX_DATA": str(self._root.path), "PYTHONUNBUFFERED": "1"}
        paths = [str(REPOSITORY), str(REPOSITORY / "platform")]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        environment["SIGNALBOX_HOSTS"] = ",".join({*settings.ALLOWED_HOSTS, self._options.host})
        child = Child(name, command, self._root.logs, environment)
        self._children.append(child)
        return child

    def _refuse_taken_ports(self) -> None:
        if not is_free(self._options.host, self._options.port):
            raise UpError(
                f"port {self._options.port} is taken: stop what listens there (`make down`?) or choose "
                'another: make up ARGS="--port N"'
            )

    def _wait_until_ready(self) -> None:
        say("starting the console and the agent")
        address = f"http://{_dialled(self._options.host)}:{self._options.port}/readyz"
        deadline = time.monotonic() + READY_S
        while not self._stop.is_set():
            reasons = _why_not_ready(address)
            if not reasons and self._is_agent_there():
                return
            for child in self._children:
                child.refuse_ended()
            if time.monotonic() > deadline:
                why = "; ".join(reasons or ["the agent is not there yet"])
                raise UpError(f"not ready after {READY_S:g} s: {why} (see {self._root.logs})")
            self._stop.wait(0.1)

    def _is_agent_there(self) -> bool:
        host = setting_up.Host.objects.get(name=setting_up.HOST)
        return host.booted_at is not None and host.heartbeat_at is not None and _is_recent(host.heartbeat_at)

    # -- the first cluster ----------------------------------------------------------------------------------

    def _make_cluster(self) -> None:
        if not self._options.makes_cluster:
            return
        operation = setting_up.create_first_cluster(timezone.now())
        if operation is not None:
            say("creating the cluster local")
            operation = setting_up.follow(operation, lambda text: say(f"  {text}"), self._pause)
            if operation.state != Operation.State.SUCCEEDED:
                raise UpError(f"the cluster local was not made: {operation.error} (operation {operation.pk})")
        deadline = time.monotonic() + READY_S
        while (labels := setting_up.missing(setting_up.CLUSTER)) and time.monotonic() < deadline:
            self._pause()
            if self._stop.is_set():
                return
        if labels:
            say(f"not running yet: {', '.join(labels)}; the agent goes on trying")

    def _pause(self) -> None:
        self._stop.wait(0.1)
        if self._stop.is_set():
            raise UpError("stopped while it started")

    # -- what it says ---------------------------------------------------------------------------------------

    def _say_password(self, password: str) -> None:
        say(f"\nAdministrator: {setting_up.ADMINISTRATOR}\nPassword:      {password}\n(shown this once)\n")

    def _say_first_steps(self) -> None:
        namesrv = setting_up.name_servers_of(setting_up.CLUSTER)
        address = f"http://{_dialled(self._options.host)}:{self._options.port}/"
        if said := availability.missing():
            say(f"Everything but reports works: {said}")
        say(FIRST_STEPS.format(address=address, namesrv=namesrv) if namesrv else f"\nOpen {address}\n")
        if file := setting_up.administrator_file_of(setting_up.CLUSTER):
            say(ADMINISTRATOR.format(file=file))
        say("Ctrl-C stops the console and leaves the brokers running; `make down` stops those, too.\n")

    # -- keeping up and stopping ----------------------------------------------------------------------------

    def _watch(self) -> None:
        while not self._stop.wait(1.0):
            for child in self._children:
                if child.keep_up(clock()):
                    say(f"the {child.name} ended and was started again")

    def _end_children(self) -> None:
        """The last that was started first, so Redis last."""
        for child in reversed(self._children):
            child.stop()


FIRST_STEPS = """
Open {address} or send and receive from another terminal:

    .venv/bin/python -m engine.admin sendMessage -n {namesrv} -t hello -p "hi"
    .venv/bin/python -m engine.admin consumeMessage -n {namesrv} -t hello

or from Python:

    from engine.client import Message
    from engine.client.blocking import Producer
    with Producer("my-producers", namesrv="{namesrv}") as producer:
        print(producer.send(Message("hello", b"hi")))
"""
ADMINISTRATOR = """Applications and reads need no credentials. Changes are signed with
    {file}
which `engine.admin` finds by itself (SIGNALBOX_DATA names a data root other than data/).
"""


def say(text: str) -> None:
    print(text, flush=True)


def _dialled(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "::") else host


def _is_recent(at: object) -> bool:
    return (timezone.now() - at).total_seconds() < 10  # type: ignore[operator]


def _why_not_ready(address: str) -> list[str]:
    """The console's own words, where it answers; nothing when it is ready."""
    try:
        with urllib.request.urlopen(address, timeout=10):
            return []
    except urllib.error.HTTPError as answer:
        try:
            return [str(reason) for reason in json.load(answer)["reasons"]]
        except (ValueError, KeyError, TypeError):
            return [f"the console answers with status {answer.code}"]
    except OSError:
        return ["the console does not answer"]


@contextlib.contextmanager
def _pid_file(path) -> Iterator[None]:  # type: ignore[no-untyped-def]
    """Locked as long as this process lives: what the kernel releases cannot go stale."""
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno != errno.EWOULDBLOCK:
                raise
            raise UpError(f"another `make up` runs on {path.parent.parent} (`make down` stops it)") from None
        file.seek(0)
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def is_listening(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0
