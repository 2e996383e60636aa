"""The platform as its user starts it: `make up` with its own data root and ports, REST, a websocket."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

from tests.ports import free_port

ROOT = Path(__file__).parents[2]
READY_S = 120.0
OPERATION_S = 120.0


def until(condition: Callable[[], Any], what: str, timeout_s: float = 30.0, every_s: float = 0.2) -> Any:
    """What the condition gave, once it gave something."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}"
        time.sleep(every_s)
    return found


class Rest:
    """A browser's session: cookies, the CSRF token, JSON."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.cookies = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def call(self, method: str, path: str, data: Any = None) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json", "X-CSRFToken": self.cookie("csrftoken")}
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(f"http://{self.address}/api/v1/{path}", body, headers, method=method)
        try:
            with self._opener.open(request, timeout=60) as answer:
                return answer.status, _json(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, _json(error.read())

    def cookie(self, name: str) -> str:
        return next((each.value or "" for each in self.cookies if each.name == name), "")

    def sign_in(self, username: str, password: str) -> None:
        self.call("GET", "session/")
        status, body = self.call("POST", "session/", {"username": username, "password": password})
        assert status == 200, body

    def get(self, path: str) -> Any:
        return self._fine("GET", path)

    def post(self, path: str, data: Any = None) -> Any:
        return self._fine("POST", path, {} if data is None else data)

    def put(self, path: str, data: Any) -> Any:
        return self._fine("PUT", path, data)

    def _fine(self, method: str, path: str, data: Any = None) -> Any:
        status, body = self.call(method, path, data)
        assert status < 300 and status != 207, (method, path, status, body)
        return body

    def finish(self, operation: dict[str, Any], timeout_s: float = OPERATION_S) -> dict[str, Any]:
        """Wait for an operation that was answered with 202."""

        def ended() -> dict[str, Any] | None:
            seen: dict[str, Any] = self.get(f"operations/{operation['id']}/")
            return seen if seen["state"] not in ("running", "awaiting_approval", "rolling_back") else None

        seen = until(ended, f"{operation['summary']} ends", timeout_s)
        assert seen["state"] == "succeeded", (seen["state"], seen["error"], seen["steps"])
        return dict(seen)

    @contextmanager
    def live(self, *channels: str) -> Iterator[Live]:
        headers = {"Cookie": f"sessionid={self.cookie('sessionid')}"}
        with connect(
            f"ws://{self.address}/ws/v1/", origin=f"http://{self.address}", additional_headers=headers
        ) as socket:  # type: ignore[arg-type]
            for channel in channels:
                socket.send(json.dumps({"type": "subscribe", "channel": channel}))
            yield Live(socket)


class Live:
    """What a page knows: states and changes put together, row by row."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self.rows: dict[str, dict[str, Any]] = {}

    def until(self, is_right: Callable[[dict[str, dict[str, Any]]], Any], timeout_s: float) -> float:
        """Seconds until the rows were right."""
        begun = time.monotonic()
        while not is_right(self.rows):
            left = begun + timeout_s - time.monotonic()
            assert left > 0, f"not within {timeout_s:g} s: {self.rows}"
            try:
                self._take(json.loads(self._socket.recv(timeout=left)))
            except TimeoutError:
                continue
        return time.monotonic() - begun

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "state":
            self.rows = dict(message["data"])
        elif message["type"] == "change":
            for name, fields in message["data"].items():
                self.rows[name] = {**self.rows.get(name, {}), **(fields or {})}


class Platform:
    """`make up` in a data root of its own; `stop` takes everything with it."""

    def __init__(self, data: Path, *, cluster: bool) -> None:
        low = free_port(*range(1, 140))
        self.port = low
        self.data = data
        self.log = data.parent / "up.log"
        self._options = f"--data {data} --port {low} --namesrv-port {low + 1} --broker-port {low + 22}" + (
            "" if cluster else " --no-cluster"
        )
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith("SIGNALBOX_")
        }
        # Other tests run beside it, and Spark would be let go last.
        self.environment |= {"SIGNALBOX_DIAL": "127.0.0.0/8", "SIGNALBOX_SPARK_NICE": "0"}
        self.process: subprocess.Popen[bytes] | None = None
        self.password = ""

    def command(self) -> list[str]:
        return ["make", "--no-print-directory", "up", f"ARGS={self._options}"]

    def start(self) -> None:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.command(),
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until(self._is_ready, f"make up is ready: {self.log.read_text()}", READY_S)
        found = re.search(r"Password: +(\S+)", self.log.read_text())
        self.password = found[1] if found else self.password

    def _is_ready(self) -> bool:
        assert self.process is not None and self.process.poll() is None, self.log.read_text()
        return "Open http" in self.log.read_text()

    def interrupt(self) -> None:
        """Ctrl-C, as a terminal sends it: to the whole group."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            self.process.wait(60)

    def stop(self) -> None:
        self.interrupt()
        subprocess.run(
            ["make", "--no-print-directory", "down", f"ARGS=--data {self.data}"],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            timeout=120,
        )

    def signed_in(self) -> Rest:
        rest = Rest(f"127.0.0.1:{self.port}")
        rest.sign_in("admin", self.password)
        return rest


def _json(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode(errors="replace")
