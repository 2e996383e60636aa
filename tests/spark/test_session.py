"""What a session needs, and the one line that says what is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from engine.errors import BadInput
from spark.session import missing_parts, reason_of


def test_a_session_runs_python_in_its_workers(session: SparkSession) -> None:
    twice = udf(lambda number: number * 2, "long")
    rows = session.range(3).select(twice("id")).collect()
    assert [row[0] for row in rows] == [0, 2, 4]
    assert session.conf.get("spark.sql.session.timeZone") == "UTC"


def test_without_java_there_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing_parts() == (
        "Spark cannot run: no java on PATH or in JAVA_HOME (Java 17 or newer is needed)"
    )
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "no java" in (missing_parts() or "")


@pytest.mark.parametrize(
    ("said", "version"), [('openjdk version "11.0.2"', "11"), ('version "1.8.0_402"', "8")]
)
def test_an_old_java_is_named(
    said: str, version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    java.chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert missing_parts() == f"Spark cannot run: {java} is Java {version}, 17 or newer is needed"


def test_without_pyspark_there_is_one_line(tmp_path: Path) -> None:
    """In a process that finds no packages: what an install without the extra is."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(root)!r})"]
    command[-1] += "; import spark.session; sys.exit(spark.session.main())"
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: Spark cannot run: pyspark, pyarrow, pandas not installed (pip install 'signalbox[spark]')"
    ]


def test_the_reason_is_what_the_worker_said_last(session: SparkSession) -> None:
    def refuse(number: int) -> int:
        raise BadInput(f"no message {number}")

    with pytest.raises(PySparkException) as caught:
        session.range(1).select(udf(refuse, "long")("id")).collect()
    assert reason_of(caught.value) == "no message 0"
    assert reason_of(BadInput("not a store: x")) == "not a store: x"
    assert reason_of(ValueError()) == "ValueError"
