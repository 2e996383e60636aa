"""`make up` on the data root that release 0.1.0 left, and an agent of that release beside the new console."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.client import Message
from engine.client.blocking import Admin, Producer
from tests.e2e.running import Platform, Rest, until
from tests.ports import free_port
from tests.upgrade import old_tree, release_files

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]
EXPECTED = release_files.expected("platform")


def health(rest: Rest, cluster: str) -> str:
    return str(next(row["health"] for row in rest.get("fleet/")["clusters"] if row["name"] == cluster))


def test_make_up_goes_on_with_the_data_root_of_the_release(tmp_path: Path) -> None:
    data = release_files.unpack("data-root", tmp_path / "data")
    release_files.move(data)
    platform = Platform(data, cluster=False)
    platform.password = EXPECTED["password"]
    try:
        platform.start()
        rest = platform.signed_in()
        until(lambda: health(rest, "prod") == "ok", "the cluster of the release runs again", 90)
        namesrv = rest.get("clusters/prod/")["name_server_addresses"][0]
        with Admin(namesrv=namesrv) as admin:
            ends = [admin.offsets.max_offset(queue) for queue in admin.messages.queues("orders")]
            assert sum(ends) == EXPECTED["messages"]
        with Producer("shops", namesrv=namesrv) as producer:
            producer.send(Message("orders", b"new"))
        lag = str(int(EXPECTED["lag"]) + 1)
        until(lambda: rest.get("clusters/prod/groups/billing/")["lag"] == lag, "the lag moves", 60)
        rest.finish(rest.post("clusters/prod/restart/"), 240)
    finally:
        platform.stop()


def test_an_agent_of_the_release_runs_a_broker_for_the_new_console(tmp_path: Path) -> None:
    old = old_tree.check_out(tmp_path / "old")
    platform = Platform(tmp_path / "data", cluster=False)
    agent: subprocess.Popen[bytes] | None = None
    try:
        platform.start()
        rest = platform.signed_in()
        token = rest.post("hosts/", {"name": "old"})["token"]
        console = platform.data / "console"
        environment = platform.environment | {
            "DATABASE_URL": f"sqlite:///{console / 'db.sqlite3'}",
            "REDIS_URL": f"unix://{console / 'redis.sock'}",
            "SIGNALBOX_CONSOLE_KEY": (console / "secret.key").read_text().split()[0],
        }
        command = ["manage.py", "agent", "--join", token, "--name", "old", "--address", "127.0.0.1"]
        command += ["--data-root", str(tmp_path / "old-host"), *_ports()]
        with (tmp_path / "agent.log").open("wb") as log:
            agent = subprocess.Popen(
                [sys.executable, *command], cwd=old, env=environment, stdout=log, stderr=subprocess.STDOUT
            )
        until(lambda: _is_heard_of(rest, "old"), (tmp_path / "agent.log").read_text(), 60)
        wish = {"name": "old", "name_servers": 1, "groups": 1, "hosts": ["old"]}
        rest.finish(rest.post("clusters/", wish), 180)
        until(lambda: health(rest, "old") == "ok", "the cluster on the old host runs", 90)
        # It does not know that state, and would start processes without it.
        state = {"access_control": "administration"}
        for path, body in (
            ("clusters/old/access_control/", state),
            ("clusters/", wish | state | {"name": "b"}),
        ):
            status, problem = rest.call("POST", path, body)
            assert (status, problem["code"]) == (409, "old_agent"), problem
            assert "the agent of old is of release 0.1.0" in problem["detail"]
    finally:
        if agent is not None:
            agent.terminate()
            agent.wait(30)
        platform.stop()
        subprocess.run(["pkill", "-f", str(tmp_path / "old-host")], check=False)


def _is_heard_of(rest: Rest, name: str) -> bool:
    rows = rest.get("hosts/")["results"]
    return any(row["name"] == name and not row["is_silent"] for row in rows)


def _ports() -> list[str]:
    low = free_port(*range(1, 60))
    ports = {
        "namesrv-port-low": low,
        "namesrv-port-high": low + 9,
        "port-low": low + 10,
        "port-high": low + 59,
    }
    return [text for name, port in ports.items() for text in (f"--{name}", str(port))]
