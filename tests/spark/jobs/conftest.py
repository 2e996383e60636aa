"""Jobs as they are run, on a store that a real broker wrote, in the session that all tests share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark.jobs.submission import Job, submit
from tests.interop.clusters import BROKER_NAME, CLUSTER_NAME
from tests.spark.shop import Shop, write_store


@dataclass(frozen=True, slots=True)
class Done:
    """What a run left behind."""

    exit_code: int
    said: list[str]
    """Lines on standard error."""
    output: Path

    @property
    def folder(self) -> Path:
        (found,) = self.output.glob("report=*/day=*/run=*")
        return found

    @property
    def summary(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / "summary.json").read_bytes()))

    def rows(self, table: str) -> list[dict[str, Any]]:
        return list(pq.read_table(self.folder / table).to_pylist())


Run = Callable[..., Done]


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return write_store("signalbox", tmp_path_factory.mktemp("shop"))


@pytest.fixture
def run(session: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    @contextmanager
    def opened(name: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
        before = {key: session.conf.get(key, None) for key in settings}
        for key, value in settings.items():
            session.conf.set(key, value)
        try:
            yield session
        finally:
            for key, value in before.items():
                session.conf.unset(key) if value is None else session.conf.set(key, value)

    def run(job: Job, store: Path | str, *words: str) -> Done:
        output = tmp_path / "output"
        named = f"{CLUSTER_NAME}/{BROKER_NAME}={store}"
        capsys.readouterr()
        code = submit(job, [f"--store={named}", f"--output={output}", "--run-id=r1", *words], opened)
        return Done(code, capsys.readouterr().err.splitlines(), output)

    return run
