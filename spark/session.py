"""A Spark session that can read messages, and one clear line when there can be none.

This module imports pyspark only inside functions, so that `missing_parts` answers where pyspark is not
installed. What a session needs beyond Spark's defaults is written here once; whatever the caller or
`spark-submit --conf` says wins over it.

    python -m spark.session     says what is missing on this machine, or which Spark would run
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from engine.errors import BadInput, EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["missing_parts", "open_session", "reason_of"]

OLDEST_JAVA = 17
_PACKAGES = ("pyspark", "pyarrow", "pandas")
_JAVA_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')
_SETTINGS = {
    # A source with pushFilters is refused without it.
    "spark.sql.python.filterPushdown.enabled": "true",
    # Times of messages are moments; how they are shown is for whoever shows them.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
_LOCAL_SETTINGS = {
    "spark.log.level": "WARN",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # 200, Spark's default, is for clusters: here every empty one costs a task.
    "spark.sql.shuffle.partitions": "8",
    # What is longer is never compiled by the JVM: twenty columns in one generated method took twice as long.
    "spark.sql.codegen.hugeMethodLimit": "8000",
}
_WORKER_ERROR = re.compile(r"^(?:engine\.errors\.\w+|\w*Error): (.+)$", re.MULTILINE)


def open_session(
    name: str, *, master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The session of this process, made if there is none; its sources know messages.

    The master is the given one, else `SPARK_MASTER`, else all cores of this machine. Under `spark-submit` it
    is what was submitted to.
    """
    missing = missing_parts()
    if missing:
        raise BadInput(missing)
    from pyspark.sql import SparkSession

    from spark.sources import register

    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    master = None if is_submitted else master or os.environ.get("SPARK_MASTER") or "local[*]"
    if master is None or master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    for key, value in _wanted(master, settings or {}).items():
        builder = builder.config(key, value)
    session = (builder.master(master) if master else builder).getOrCreate()
    register(session)
    return session


def _wanted(master: str | None, settings: Mapping[str, str]) -> dict[str, str]:
    """A submitted program must not overrule what its operator wrote after `--conf`, so it sets only what
    reading cannot do without."""
    if master is None:
        return {**_SETTINGS, **settings}
    local = _LOCAL_SETTINGS if master.startswith("local") else {}
    return {**_SETTINGS, **local, **settings}


def missing_parts() -> str | None:
    """One line that says what must be installed before Spark can run; None when nothing."""
    absent = [name for name in _PACKAGES if find_spec(name) is None]
    if absent:
        return f"Spark cannot run: {', '.join(absent)} not installed (pip install 'signalbox[spark]')"
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return None
    java = _java()
    if java is None:
        return f"Spark cannot run: no java on PATH or in JAVA_HOME (Java {OLDEST_JAVA} or newer is needed)"
    version = _java_version(java)
    if version is not None and version < OLDEST_JAVA:
        return f"Spark cannot run: {java} is Java {version}, {OLDEST_JAVA} or newer is needed"
    return None


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home:
        return shutil.which(os.path.join(home, "bin", "java"))
    return shutil.which("java")


def _java_version(java: str) -> int | None:
    """The major number; None if the program does not say."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _JAVA_VERSION.search(said)
    if found is None:
        return None
    # Up to 8 it was called 1.8.
    return int(found[2]) if found[1] == "1" and found[2] else int(found[1])


def reason_of(error: BaseException) -> str:
    """One line for whoever ran a job. A worker's error arrives inside Spark's own, behind its traceback: what
    counts is what the worker said last."""
    text = error.text if isinstance(error, EngineError) else str(error)
    said = _WORKER_ERROR.findall(text)
    if said:
        return str(said[-1]).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def main() -> int:
    missing = missing_parts()
    if missing:
        print(f"error: {missing}", file=sys.stderr)
        return 2
    print(
        f"Spark {importlib.metadata.version('pyspark')} with {_java()}, Java {_java_version(_java() or '')}"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
