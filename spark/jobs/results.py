"""The folder of a run: tables as Parquet, then the summary, visible all at once or not at all.

    DIR/report=<report>/day=<day of the run, UTC>/run=<run id>/<table>/part-*.parquet
                                                                 /summary.json

Everything is written into a draft beside it whose name begins with a dot, and the draft is renamed when all
is there: a run that is killed leaves nothing that could be taken for a result. What is only needed on the way
lies in the draft as well and is gone before the rename. `keep` is how transforms store what many tables are
made of: it is written once and read back.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession

from engine.errors import BadInput
from spark.jobs.progress import Progress
from spark.sources.files import inside, place_of

__all__ = ["ResultFolder"]

SUMMARY = "summary.json"
_WORK = "_work"


class ResultFolder:
    def __init__(self, output: str, report: str, run_id: str, *, started_at: datetime) -> None:
        self._place = place_of(output)
        try:
            self._files, self._root = _file_system(self._place)
        except (ValueError, OSError) as error:
            raise BadInput(f"cannot write to {output}: {error}") from None
        day = f"{started_at.astimezone(UTC):%Y-%m-%d}"
        parts = (f"report={report}", f"day={day}")
        self._parents = [self._root, *("/".join([self._root, *parts[: n + 1]]) for n in range(len(parts)))]
        self._draft = f".run={run_id}.{os.getpid()}"
        self._final = f"run={run_id}"
        self._uri = inside(self._place, *parts, self._draft)
        self._made: list[str] = []

    @property
    def _folder(self) -> str:
        return self._parents[-1]

    def open(self) -> None:
        """BadInput if nothing can be written there, or the run is there already."""
        try:
            if self._kind(f"{self._folder}/{self._final}") != fs.FileType.NotFound:
                raise BadInput(f"{self._place}: the run {self._final.removeprefix('run=')} is there already")
            for parent in self._parents:
                if self._kind(parent) == fs.FileType.NotFound:
                    self._files.create_dir(parent, recursive=True)
                    self._made.append(parent)
            self._files.create_dir(f"{self._folder}/{self._draft}")
        except OSError as error:
            self.discard()
            raise BadInput(f"cannot write to {self._place}: {error.strerror or error}") from None

    def discard(self) -> None:
        """Nothing of the run stays, nor a folder that was made for it. Never fails: it is called on the way
        out of other failures."""
        with contextlib.suppress(OSError):
            self._files.delete_dir(f"{self._folder}/{self._draft}")
        for parent in reversed(self._made):
            with contextlib.suppress(OSError):
                if not self._files.get_file_info(fs.FileSelector(parent)):
                    self._files.delete_dir(parent)

    def table_place(self, name: str, *, is_work: bool = False) -> str:
        return inside(self._uri, _WORK, name) if is_work else inside(self._uri, name)

    def publish(self, summary: dict[str, Any]) -> str:
        """The summary last, and then the whole folder under its name. Where it is now."""
        draft = f"{self._folder}/{self._draft}"
        with contextlib.suppress(FileNotFoundError):
            self._files.delete_dir(f"{draft}/{_WORK}")
        with self._files.open_output_stream(f"{draft}/{SUMMARY}") as stream:
            stream.write(json.dumps(summary, ensure_ascii=False, indent=1).encode())
        self._files.move(draft, f"{self._folder}/{self._final}")
        return f"{self._folder}/{self._final}"

    def about(self, name: str) -> dict[str, Any]:
        """Rows and columns of a written table, from its files' footers."""
        folder = f"{self._folder}/{self._draft}/{name}"
        parts = [info.path for info in self._files.get_file_info(fs.FileSelector(folder)) if _is_part(info)]
        footers = [pq.read_metadata(path, filesystem=self._files) for path in sorted(parts)]
        columns = list(footers[0].schema.to_arrow_schema().names) if footers else []
        return {"rows": sum(footer.num_rows for footer in footers), "columns": columns}

    def _kind(self, path: str) -> Any:
        return self._files.get_file_info(path).type


class Keeper:
    """Writes tables into a run's folder and gives them back as read from there."""

    def __init__(
        self, session: SparkSession, folder: ResultFolder, tables: Collection[str], progress: Progress
    ) -> None:
        self._session = session
        self._folder = folder
        self._tables = tables
        self._progress = progress
        self._written: dict[str, DataFrame] = {}

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """A `Keep` for transforms: what is a table of the report is written as one."""
        is_work = name not in self._tables
        self._progress.phase = "joining" if is_work else "writing"
        return self._write(name, frame, is_work=is_work)

    def write(self, name: str, frame: DataFrame, order: Sequence[str] = ()) -> DataFrame:
        """A table of the report, in this order; nothing is done if it was kept already."""
        if name in self._written:
            return self._written[name]
        self._progress.phase = "writing"
        return self._write(name, frame.orderBy(*order) if order else frame, is_work=False)

    def _write(self, name: str, frame: DataFrame, *, is_work: bool) -> DataFrame:
        place = self._folder.table_place(name, is_work=is_work)
        # What is there is there whole: no table needs a mark of its own that says so.
        frame.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(place)
        written = self._session.read.schema(frame.schema).parquet(place)
        self._written[name] = written
        return written


def _file_system(place: str) -> tuple[fs.FileSystem, str]:
    if "://" not in place:
        return fs.LocalFileSystem(), place
    system, path = fs.FileSystem.from_uri(place)
    return system, path


def _is_part(info: Any) -> bool:
    return bool(info.base_name.startswith("part-") and info.base_name.endswith(".parquet"))
