"""Reports by REST and the websocket, on a platform that `make up` started: real brokers, agent, beat, Spark.

One test, a story of several steps. A retention report each minute is a real cron expression, waited for; what
else a user asks of Spark is asked meanwhile.
"""

from __future__ import annotations

import csv
import io
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest

from engine.client import Message, blocking
from tests.data_root_modes import open_to_others
from tests.e2e.running import ROOT, Platform, Rest, until
from tests.requirements_probe import need_package

# A retention run is a minute of processor time: two of them and a search do not fit beside all other tests.
pytestmark = [pytest.mark.nightly, pytest.mark.timeout(3600)]
CLUSTER, TOPIC, SENT = "local", "orders", 500
SPARK_S = 600.0
"""A JVM and its Python workers on a machine that does other things too."""


class World:
    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.rest: Rest = platform.signed_in()
        self.schedule: dict[str, Any] = {}
        self.watched: set[str] = set()

    def path(self, rest: str = "") -> str:
        return f"clusters/{CLUSTER}/{rest}"

    def runs(self, **wanted: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.rest.get(self.path("reports/runs/"))["results"]
        return [run for run in found if all(run[name] == value for name, value in wanted.items())]

    def ended(self, run_id: str) -> dict[str, Any] | None:
        run: dict[str, Any] = self.rest.get(self.path(f"reports/runs/{run_id}/"))
        return run if run["state"] not in ("queued", "running") else None

    def download(self, path: str) -> bytes:
        request = urllib.request.Request(f"http://{self.rest.address}/api/v1/{self.path(path)}")
        request.add_header("Cookie", f"sessionid={self.rest.cookie('sessionid')}")
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.headers["Content-Disposition"].startswith("attachment")
            return bytes(answer.read())


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    need_package("default-jdk-headless")
    platform = Platform(tmp_path_factory.mktemp("reports") / "data", cluster=True)
    try:
        platform.start()
        yield World(platform)
    finally:
        platform.stop()


def test_reports_are_scheduled_run_shown_and_cancelled(world: World, tmp_path: Path) -> None:
    for step in (
        _a_retention_report_is_scheduled_each_minute,
        _spark_looks_through_a_topic_for_a_search_job,
        _two_runs_are_seen_with_their_progress,
        _the_figures_are_those_of_the_brokers,
        _a_paused_schedule_runs_no_more_and_a_run_is_cancelled,
    ):
        print(step.__name__)
        step(world)
    _the_lines_of_the_document_work(world, tmp_path)


def _a_retention_report_is_scheduled_each_minute(world: World) -> None:
    namesrv = world.rest.get(world.path())["name_server_addresses"][0]
    world.rest.post(world.path("topics/"), {"name": TOPIC, "read_queues": 4, "write_queues": 4})
    with blocking.Producer("shops", namesrv=namesrv) as producer:
        for number in range(SENT):
            producer.send(Message(TOPIC, f"order {number}".encode(), keys=[f"key-{number}"]))
    until(lambda: world.rest.get("reports/")["is_available"], "an agent has found Spark", 60)
    wish = {"name": "each minute", "report": "retention", "cron": "* * * * *", "retries": 0, "last_hours": 24}
    world.schedule = world.rest.post(world.path("reports/schedules/"), wish)
    assert world.schedule["next_at"] is not None


def _spark_looks_through_a_topic_for_a_search_job(world: World) -> None:
    asked = {"topics": [TOPIC], "key": "key-17", "runner": "spark"}
    job = world.rest.post(world.path("searches/"), asked)

    def over() -> dict[str, Any] | None:
        seen: dict[str, Any] = world.rest.get(world.path(f"searches/{job['id']}/"))
        return seen if seen["state"] not in ("queued", "running") else None

    seen = until(over, "the search is over", SPARK_S)
    assert (seen["state"], seen["found"], seen["is_complete"]) == ("done", 1, True), seen
    assert seen["scanned"] == str(SENT)
    [hit] = world.rest.get(world.path(f"searches/{job['id']}/results/"))["results"]
    message = world.rest.get(world.path(f"messages/{hit['offset_id']}/"))
    assert message["body"]["text"] == "order 17" and message["queue_offset"] == hit["queue_offset"]


def _two_runs_are_seen_with_their_progress(world: World) -> None:
    def is_right(rows: dict[str, dict[str, Any]]) -> bool:
        for name, row in rows.items():
            if row.get("state") == "running" and row.get("progress", {}).get("tasks_total"):
                world.watched.add(name)
        return sum(row.get("state") == "done" for row in rows.values()) >= 2

    with world.rest.live(f"reports/{CLUSTER}") as live:
        seconds = live.until(is_right, 2 * 60 + 2 * SPARK_S)
    print(f"two runs of a schedule by the minute in {seconds:.0f} s")
    done = world.runs(state="done", schedule="each minute")
    assert len(done) >= 2 and world.watched >= {run["id"] for run in done[-2:]}, "with progress"
    moments = sorted(run["scheduled_for"] for run in done)
    assert len(set(moments)) == len(moments) and all(moment.endswith(":00Z") for moment in moments)


def _the_figures_are_those_of_the_brokers(world: World) -> None:
    run = world.ended(world.runs(state="done")[0]["id"])
    assert run is not None
    kept = int(world.rest.get(world.path(f"topics/{TOPIC}/"))["messages"] or 0) or SENT
    assert kept == SENT
    place = f"reports/runs/{run['id']}/tables/topics/"
    frame = pandas.read_parquet(io.BytesIO(world.download(f"{place}download/")))
    assert int(frame[frame["topic"] == TOPIC]["messages"].sum()) == SENT
    text = world.download(f"{place}download/?format=csv").decode()
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["topic"] == TOPIC]
    assert sum(int(row["messages"]) for row in rows) == SENT
    page = world.rest.get(world.path(f"{place}?columns=topic,messages&limit=500"))
    assert [TOPIC, str(SENT)] in [row for row in page["rows"] if row[0] == TOPIC] or len(rows) > 1
    assert int(run["summary"]["figures"]["messages"]) >= SENT
    assert run["summary"]["charts"] and run["options"]["reserved_hours"] == 72
    assert "retention" in world.rest.get(world.path(f"reports/runs/{run['id']}/log/"))["text"]
    assert open_to_others(world.platform.data) == [], "results of Spark, too"


def _a_paused_schedule_runs_no_more_and_a_run_is_cancelled(world: World) -> None:
    path = world.path(f"reports/schedules/{world.schedule['id']}/")
    status, paused = world.rest.call("PATCH", path, {"is_enabled": False})
    assert (status, paused["next_at"]) == (200, None)
    run = world.rest.post(world.path("reports/runs/"), {"report": "usage"})
    until(lambda: world.runs(id=run["id"], state="running"), "it runs", SPARK_S)
    world.rest.post(world.path(f"reports/runs/{run['id']}/cancel/"))
    ended = until(lambda: world.ended(run["id"]), "it ends", 60)
    assert ended["state"] == "cancelled"


def shell_lines() -> list[str]:
    """The commands of docs/reports-in-the-console.md, in their order."""
    text = (ROOT / "docs" / "reports-in-the-console.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("curl ")]


def _the_lines_of_the_document_work(world: World, tmp_path: Path) -> None:
    """Each as it stands there, in a shell; a refusal fails. `$RUN` is a run that is done, but a new one where
    it is cancelled."""
    wish = {"name": "documents", "role": "admin", "expires_in_days": 1}
    token = world.rest.post("tokens/", wish)["secret"]
    namesrv = world.rest.get(world.path())["name_server_addresses"]
    world.rest.post("clusters/", {"kind": "attached", "name": "orders", "name_servers": namesrv})
    done = world.runs(state="done", report="retention")[0]["id"]
    lines = shell_lines()
    assert len(lines) >= 12, "the document has its commands"
    head = f"set -e\nAPI=http://{world.rest.address}/api/v1\nH='Authorization: Bearer {token}'\n"
    head += f"HERE=$API/clusters/{CLUSTER}/reports\n"
    for line in lines:
        run = done
        if "/cancel/" in line:
            run = world.rest.post(world.path("reports/runs/"), {"report": "usage"})["id"]
        script = f"{head}RUN={run}\n" + line.replace("curl -sH", "curl --fail-with-body -sSH")
        told = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert told.returncode == 0, f"{line}: {told.stdout[-1000:]} {told.stderr[-500:]}"
    frame = pandas.read_parquet(tmp_path / "topics.parquet")
    assert int(frame[frame["topic"] == TOPIC]["messages"].sum()) == SENT
    assert (tmp_path / "topics.csv").read_text().startswith("cluster,topic,")
