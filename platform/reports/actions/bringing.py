"""Files of a run for whoever asks on the console's machine: from the disk where it sees them, else brought.

A host's agent has no door that the console could knock at, but it has a queue: it is asked for a piece, and
lays it into Redis for half a minute. So a table of a remote host arrives in pieces and is kept as a copy.
Names come from the run's row, which lists what lay there when the run ended: nothing from outside becomes a
path.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

from django.core.cache import cache
from django.utils import timezone

from clusters.provisioning.reconcile import is_silent
from console.core.problems import Problem, not_found
from console.core.waking import host_queue, wake
from reports.models import ReportRun
from reports.submitting import logs
from reports.submitting.copies import copy_path
from reports.submitting.folders import folders_of, is_part, is_result_folder, is_table

SEND_PIECE = "reports.tasks.files.send_piece"
SEND_LOG = "reports.tasks.files.send_log"
PIECE_BYTES = 2 * 1024 * 1024
LOG_BYTES = 256 * 1024
KEPT_S = 30
_PIECE_S = 15.0
_ALL_S = 90.0
_PAUSE_S = 0.02


def table_files(run: ReportRun, table: str) -> list[Path]:
    """All parts of a table, on a disk that this process sees."""
    refuse_unreadable(run)
    about = run.tables.get(table)
    if about is None or not is_table(table):
        raise not_found("table", table)
    deadline = time.monotonic() + _ALL_S
    return [_seen(run, table, file) or _bring(run, table, file, deadline) for file in about["files"]]


def refuse_unreadable(run: ReportRun) -> None:
    if run.state == ReportRun.State.EXPIRED:
        raise Problem("expired", "the days of this run are over: its files are gone", 410)
    if run.state != ReportRun.State.DONE or run.host is None:
        raise Problem("not_done", f"the run is {run.state}: it has no results", 409)


def part_path(run: ReportRun, table: str, name: str) -> Path | None:
    """Where the host has it; None for names that are no parts of tables."""
    if run.host is None or not (is_result_folder(run.folder) and is_table(table) and is_part(name)):
        return None
    return folders_of(run.host.data_root).results / run.folder / table / name


def _seen(run: ReportRun, table: str, file: dict[str, Any]) -> Path | None:
    path = part_path(run, table, file["name"])
    return path if path is not None and path.is_file() and path.stat().st_size == file["bytes"] else None


def _bring(run: ReportRun, table: str, file: dict[str, Any], deadline: float) -> Path:
    path = copy_path(run.pk, table, file["name"])
    if path.is_file() and path.stat().st_size == file["bytes"]:
        return path
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        with partial.open("wb") as out:
            while out.tell() < file["bytes"]:
                place = {"table": table, "name": file["name"], "offset": out.tell()}
                out.write(_ask(run, SEND_PIECE, min(deadline, time.monotonic() + _PIECE_S), **place))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def _ask(run: ReportRun, task: str, deadline: float, **place: Any) -> bytes:
    host = run.host
    assert host is not None
    if is_silent(host, timezone.now()):
        raise Problem("host_silent", f"the files are on {host.name}, whose agent does not answer", 503)
    key = f"report-piece:{uuid.uuid4().hex}"
    wake(task, queue=host_queue(host.name), run=str(run.pk), key=key, **place)
    while time.monotonic() < deadline:
        piece = cache.get(key)
        if isinstance(piece, bytes):
            cache.delete(key)
            if not piece:
                raise Problem("gone", f"the files of this run are not on {host.name} any more", 410)
            return piece
        time.sleep(_PAUSE_S)
    raise Problem("slow", f"{host.name} did not send the files in time: try again", 504)


def log_text(run: ReportRun) -> str:
    """The end of it, as far as it can be had now; else what the row kept."""
    if run.host is None or run.state == ReportRun.State.EXPIRED:
        return run.log_tail
    path = folders_of(run.host.data_root).log(run.pk)
    if path.is_file():
        return logs.tail(path, LOG_BYTES)
    try:
        return _ask(run, SEND_LOG, time.monotonic() + _PIECE_S).decode()
    except Problem:
        return run.log_tail


def read_piece(run: ReportRun, table: str, name: str, offset: int) -> bytes:
    """On the host itself. Empty: there is nothing there."""
    path = part_path(run, table, name)
    if path is None or not path.is_file():
        return b""
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(PIECE_BYTES)
