"""Where reports lie below a host's data root, and the only way from names to paths in it.

reports/lock                                        held by Spark itself: one run at a time
reports/work/<run>/                                 log.txt, progress.jsonl, pid.json of the last attempt
reports/work/<run>/<fence>/                         what an attempt writes before it has ended well
reports/results/report=<r>/day=<d>/run=<run>/       summary.json, <table>/part-….parquet

An attempt writes into a folder of its own, so one that was taken for dead cannot write into another's. What
stands under results/ was moved there whole.
"""

from __future__ import annotations

import re
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

_TABLE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PART = re.compile(r"part-[A-Za-z0-9._-]{1,200}\.parquet")
_RESULT = re.compile(r"report=[a-z_]{1,32}/day=[0-9]{4}-[0-9]{2}-[0-9]{2}/run=[0-9a-f-]{36}")
SUMMARY = "summary.json"
LOG = "log.txt"


@dataclass(frozen=True, slots=True)
class ReportFolders:
    root: Path

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def results(self) -> Path:
        return self.root / "results"

    def work(self, run_id: uuid.UUID) -> Path:
        return self.root / "work" / str(run_id)

    def log(self, run_id: uuid.UUID) -> Path:
        return self.work(run_id) / LOG

    def progress(self, run_id: uuid.UUID) -> Path:
        return self.work(run_id) / "progress.jsonl"

    def pid(self, run_id: uuid.UUID) -> Path:
        return self.work(run_id) / "pid.json"

    def attempt(self, run_id: uuid.UUID, fence: int) -> Path:
        return self.work(run_id) / str(int(fence))

    def make_attempt(self, run_id: uuid.UUID, fence: int) -> Path:
        """Empty; what earlier attempts left goes, but for the log."""
        for left in self.work(run_id).glob("[0-9]*"):
            shutil.rmtree(left, ignore_errors=True)
        self.progress(run_id).unlink(missing_ok=True)
        folder = self.attempt(run_id, fence)
        (folder / "temporary").mkdir(parents=True, mode=0o700)
        return folder

    def drop_attempt(self, run_id: uuid.UUID, fence: int) -> None:
        shutil.rmtree(self.attempt(run_id, fence), ignore_errors=True)

    def remove(self, run_id: uuid.UUID, folder: str) -> None:
        """Everything of a run. What is not there is gone already."""
        shutil.rmtree(self.work(run_id), ignore_errors=True)
        if is_result_folder(folder) and folder.endswith(f"run={run_id}"):
            shutil.rmtree(self.results / folder, ignore_errors=True)
            for empty in (self.results / folder).parents[:2]:
                if empty.is_dir() and not any(empty.iterdir()):
                    empty.rmdir()


def folders_of(data_root: str) -> ReportFolders:
    return ReportFolders(Path(data_root) / "reports")


def is_result_folder(text: str) -> bool:
    return _RESULT.fullmatch(text) is not None


def is_table(name: str) -> bool:
    return _TABLE.fullmatch(name) is not None


def is_part(name: str) -> bool:
    return _PART.fullmatch(name) is not None and ".." not in name
