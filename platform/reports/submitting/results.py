"""What a job left: found, checked and moved into place whole.

By contract `summary.json` is written last, so where it is the tables are complete. Names of tables and files
are taken from what lies there, never from the summary, and only such as may become parts of addresses.
"""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path
from typing import Any

import orjson

from reports.submitting.folders import SUMMARY, is_part, is_result_folder, is_table

MOST_SUMMARY = 4 * 1024 * 1024
_MOST_FILES = 10_000


class ResultsBroken(Exception):
    """The job ended well and did not leave what it should have, in a sentence."""


def find_results(output: Path, run_id: uuid.UUID) -> str:
    """The folder of the run below the output, by the contract's names."""
    found = [str(path.relative_to(output)) for path in output.glob(f"report=*/day=*/run={run_id}")]
    if len(found) != 1 or not is_result_folder(found[0]) or (output / found[0]).is_symlink():
        raise ResultsBroken("the job ended well and left no results")
    return found[0]


def read_summary(folder: Path) -> dict[str, Any]:
    path = folder / SUMMARY
    if not path.is_file() or path.is_symlink():
        raise ResultsBroken("the job ended well and left no summary")
    if path.stat().st_size > MOST_SUMMARY:
        raise ResultsBroken(f"the job's summary has more than {MOST_SUMMARY >> 20} MB")
    try:
        summary = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError:
        raise ResultsBroken("the job's summary is not JSON") from None
    if not isinstance(summary, dict):
        raise ResultsBroken("the job's summary is not an object")
    return summary


def tables_of(folder: Path, summary: dict[str, Any]) -> dict[str, Any]:
    said = summary.get("tables")
    known = said if isinstance(said, dict) else {}
    tables: dict[str, Any] = {}
    for path in sorted(folder.iterdir()):
        if not path.is_dir() or path.is_symlink() or not is_table(path.name):
            continue
        about = known.get(path.name)
        rows = about.get("rows") if isinstance(about, dict) else None
        tables[path.name] = {"rows": rows if isinstance(rows, int) else None, "files": _parts(path)}
    return tables


def _parts(folder: Path) -> list[dict[str, Any]]:
    found = [
        {"name": path.name, "bytes": path.stat().st_size}
        for path in sorted(folder.iterdir())
        if is_part(path.name) and path.is_file() and not path.is_symlink()
    ]
    if len(found) > _MOST_FILES:
        raise ResultsBroken(f"the job wrote more than {_MOST_FILES} files into one table")
    return found


def put_in_place(output: Path, results: Path, folder: str) -> None:
    """An earlier attempt that was taken for dead may have put its own there: the newer one counts."""
    target = results / folder
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if target.exists():
        shutil.rmtree(target)
    (output / folder).rename(target)
