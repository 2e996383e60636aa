"""Spark as operators run it: `spark-submit` as a process, on this machine or on a standalone cluster of two
workers on loopback, all from the pyspark that is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.interop.processes import Server

ROOT = Path(__file__).resolve().parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
LOCAL = "local[2]"
TIMEOUT_S = 600
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")
_QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
"""See tests/spark/conftest.py."""
_SETTINGS = {
    "spark.log.level": "WARN",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.extraJavaOptions": _QUICK,
    "spark.executor.extraJavaOptions": _QUICK,
    "spark.executor.memory": "512m",
}


def environment(**more: str) -> dict[str, str]:
    """What spark-submit and Spark's daemons see: nothing of where these tests lie."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        **more,
    }


def spark_submit(
    program: Path,
    words: Sequence[str],
    *,
    master: str = LOCAL,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    confs = [part for name, value in _SETTINGS.items() for part in ("--conf", f"{name}={value}")]
    return subprocess.run(
        [
            str(SPARK_HOME / "bin" / "spark-submit"),
            "--master",
            master,
            *confs,
            *options,
            str(program),
            *words,
        ],
        cwd=cwd,
        env=dict(env or environment()),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


@dataclass(frozen=True, slots=True)
class SparkCluster:
    master: str
    work_dirs: tuple[Path, ...]
    """Of the workers: each has a folder there for every program that it has run a part of."""

    def programs(self) -> list[set[str]]:
        return [{path.name for path in folder.glob("app-*")} for folder in self.work_dirs]


@contextmanager
def spark_cluster(home: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """A master and workers with one core each, so that every program needs all of them."""
    started: list[Server] = []

    def start(name: str, *words: str) -> Server:
        command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *words]
        env = environment(SPARK_DAEMON_MEMORY="256m", SPARK_DAEMON_JAVA_OPTS=_QUICK)
        server = Server(command, home / f"{len(started)}.log", env, home)
        started.append(server)
        return server

    try:
        at = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = start("master.Master", *at)
        master.wait_until(lambda: _MASTER.search(master.log_path.read_text()) is not None)
        found = _MASTER.search(master.log_path.read_text())
        assert found is not None
        folders = tuple(home / f"work-{number}" for number in range(workers))
        for folder in folders:
            worker = start(
                "worker.Worker", *at, "--cores", "1", "--memory", "1g", "--work-dir", str(folder), found[1]
            )
            log = worker.log_path
            worker.wait_until(lambda log=log: "Successfully registered with master" in log.read_text())
        yield SparkCluster(found[1], folders)
    finally:
        for server in reversed(started):
            server.stop()
