"""A daemon under attack, a good client beside it, and what is looked at meanwhile."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from engine.protocol.commands import Command
from engine.protocol.signing import Credentials, sign
from tests.crash import requests as rq
from tests.crash.cluster import REPOSITORY, Broker, Daemon, NameServer
from tests.crash.wire import Answer, Link, LinkClosed
from tests.hostile.attacks import TOPIC, WANTED_TOPIC
from tests.ports import free_port

OWN, OTHER = "127.0.0.1", "127.0.0.9"
"""The good client's address, and another one."""
ADMIN = Credentials("admin-user", "secret-of-the-admin")
MESSAGES, MESSAGE_BYTES = 40, 10_800
"""32 of them are one answer of about 349 KB."""
VERSION = 401
"""Of the requests that `Link` sends."""


@dataclass(slots=True)
class Victim:
    daemon: Daemon
    metrics_port: int
    credentials: Credentials | None = None

    @classmethod
    def broker(cls, folder: Path, **settings: str) -> Victim:
        port = free_port()
        roomy = {
            "mappedFileSizeCommitLog": str(64 << 20),
            "maxMessageSize": str(4 << 20),
            "enablePropertyFilter": "true",
            "metricsExporterType": "PROM",
            "metricsPromExporterPort": str(port),
        }
        return cls(Broker(folder, settings=roomy | settings), port)

    @classmethod
    def guarded(cls, folder: Path) -> Victim:
        """With access control."""
        user = {"username": ADMIN.access_key, "password": ADMIN.secret_key}
        made = cls.broker(
            folder,
            authenticationEnabled="true",
            authorizationEnabled="true",
            initAuthenticationUser=json.dumps(user),
            signalboxSecretKeyFile=str(folder / "keys" / "secret.key"),
        )
        made.credentials = ADMIN
        return made

    @classmethod
    def name_server(cls, folder: Path) -> Victim:
        made, port = NameServer(folder), free_port()
        config = folder / "namesrv.conf"
        config.write_text(f"{config.read_text()}metricsPromExporterPort={port}\n")
        return cls(made, port)

    def start(self) -> None:
        self.daemon.start()
        if isinstance(self.daemon, NameServer):
            return
        with Link(self.daemon.address) as link:
            for topic in (TOPIC, WANTED_TOPIC):
                self.call(link, rq.CREATE_TOPIC, rq.topic_fields(topic, 2))
            for number in range(MESSAGES):
                body = bytes([65 + number % 26]) * MESSAGE_BYTES
                answer = self.call(link, rq.SEND_V2, rq.send_fields(TOPIC, 0, f"k{number}"), body)
                assert answer.code == rq.SUCCESS, answer

    def call(self, link: Link, code: int, fields: dict[str, str], body: bytes = b"") -> Answer:
        """Signed, where that is needed."""
        if self.credentials is not None:
            command = Command(code, fields=dict(fields), body=body, version=VERSION)
            sign(command, self.credentials)
            fields = command.fields
        return link.call(code, fields, body, timeout_s=60.0)

    def figures(self) -> dict[str, float]:
        """The metrics about memory and connections, without their labels."""
        address = f"http://127.0.0.1:{self.metrics_port}/metrics"
        with urllib.request.urlopen(address, timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        found: dict[str, float] = {}
        for line in lines:
            if line.startswith("signalbox_"):
                name, value = line.rsplit(" ", 1)
                name = name.partition("{")[0]
                found[name] = found.get(name, 0.0) + float(value)
        return found


@dataclass(slots=True)
class Report:
    requests: int = 0
    slowest_s: float = 0.0
    busy: int = 0
    """Answers that say "busy" (2): the machine's other work may cause some."""
    failures: list[str] = field(default_factory=list)
    most_bytes: int = 0
    most_receiving: float = 0.0
    most_sending: float = 0.0
    most_long_polls: float = 0.0
    most_connections: float = 0.0

    def note(self, figures: dict[str, float]) -> None:
        self.most_receiving = max(self.most_receiving, figures["signalbox_receiving_bytes"])
        self.most_sending = max(self.most_sending, figures["signalbox_sending_bytes"])
        # Name servers have no polls, and do not count connections.
        self.most_long_polls = max(self.most_long_polls, figures.get("signalbox_long_polls", 0.0))
        self.most_connections = max(self.most_connections, figures.get("signalbox_connections", 0.0))


class GoodClient:
    """A request every few milliseconds until `stop`; another thread looks at the victim."""

    def __init__(self, victim: Victim, body: bytes = b"good" * 32, pause_s: float = 0.02) -> None:
        self._victim = victim
        self._link = Link(victim.daemon.address, 30.0)
        self._body = body
        self._pause_s = pause_s
        self._is_over = threading.Event()
        self.report = Report()
        self._threads = [threading.Thread(target=self._ask), threading.Thread(target=self._watch)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        report = self.report
        code, fields, body = rq.SEND_V2, rq.send_fields(TOPIC, 1, "good"), self._body
        if isinstance(self._victim.daemon, NameServer):
            code, fields, body = 106, {}, b""  # the brokers of all clusters
        while not self._is_over.is_set():
            begun = time.monotonic()
            try:
                answer = self._victim.call(self._link, code, fields, body)
            except (TimeoutError, LinkClosed, OSError) as error:
                report.failures.append(repr(error))
                return
            report.requests += 1
            report.slowest_s = max(report.slowest_s, time.monotonic() - begun)
            if answer.code == rq.SYSTEM_BUSY:
                report.busy += 1
            elif answer.code != rq.SUCCESS:
                report.failures.append(f"{answer.code} {answer.remark}")
            self._is_over.wait(self._pause_s)

    def _watch(self) -> None:
        report = self.report
        while not self._is_over.is_set() and self._victim.daemon.is_alive:
            report.most_bytes = max(report.most_bytes, self._victim.daemon.sample().anonymous_bytes)
            # The exporter gives up on a request after a while; then the next one tells.
            with contextlib.suppress(OSError, HTTPException):
                report.note(self._victim.figures())
            self._is_over.wait(0.1)

    def stop(self) -> Report:
        self._is_over.set()
        for thread in self._threads:
            thread.join(90.0)
        self._link.close()
        return self.report


@dataclass(frozen=True, slots=True)
class Outcome:
    report: Report
    idle_bytes: int
    tally: dict[str, int]
    given_back_s: float

    @property
    def above_idle_bytes(self) -> int:
        return self.report.most_bytes - self.idle_bytes


def attack(
    victim: Victim,
    name: str,
    *,
    count: int,
    seconds: float,
    source: str = OTHER,
    body: bytes = b"good" * 32,
    kept_bytes: int = 48 << 20,
    patience_s: float = 60.0,
) -> Outcome:
    """Runs the attack in a process of its own, then waits until its memory is given back."""
    daemon = victim.daemon
    idle = daemon.sample().anonymous_bytes
    client = GoodClient(victim, body)
    where = f"{daemon.address[0]}:{daemon.address[1]}"
    command = [sys.executable, "-m", "tests.hostile.attacks", name, where, "--count", str(count)]
    command += ["--seconds", str(seconds), "--source", source]
    try:
        done = subprocess.run(
            command, cwd=REPOSITORY, capture_output=True, text=True, timeout=seconds + 180, check=False
        )
    finally:
        over_at = time.monotonic()
        report = client.stop()
    assert done.returncode == 0, done.stderr
    while (taken := time.monotonic() - over_at) < patience_s and daemon.is_alive:
        if daemon.sample().anonymous_bytes - idle <= kept_bytes:
            break
        time.sleep(0.25)
    return Outcome(report, idle, json.loads(done.stdout), taken)
