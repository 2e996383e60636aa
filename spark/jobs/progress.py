"""How far a run is: a JSON line a second at most, appended to a file for whoever watches.

    {"at", "phase": "reading|joining|writing",
     "stages_done", "stages_total", "tasks_done", "tasks_total", "rows"}

`rows` is how many Spark has read so far, those of its own intermediate tables too. A thread of its own asks
Spark; whatever it cannot find out is left out of the line. Nothing depends on it: a watcher that fails to
write gives up, the run goes on.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

__all__ = ["Progress", "stage_counts", "watched"]

PERIOD_S = 1.0
Counts = dict[str, int]


class Progress:
    """What the run says of itself; the thread reads it."""

    def __init__(self) -> None:
        self.phase = "reading"


@contextmanager
def watched(session: SparkSession, progress: Progress, file: Path | None) -> Iterator[None]:
    """Lines are written until the block ends, and one more then."""
    if file is None:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(
        target=_watch, args=(lambda: stage_counts(session), progress, file, over), daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(10 * PERIOD_S)


def _watch(counts: Callable[[], Counts], progress: Progress, file: Path, over: threading.Event) -> None:
    is_over = False
    while not is_over:
        is_over = over.wait(PERIOD_S)
        try:
            found = counts()
        except Exception:
            # Spark is being stopped, or is gone: the run itself will say so.
            found = {}
        try:
            _append(file, {"at": datetime.now(UTC).isoformat(), "phase": progress.phase, **found})
        except OSError:
            return


def _append(file: Path, line: dict[str, Any]) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")


def stage_counts(session: SparkSession) -> Counts:
    """From Spark's own books: stages that were skipped, because their result was there, count as done."""
    context = session.sparkContext
    jvm, gateway = context._jvm, context._gateway
    assert jvm is not None and gateway is not None
    nothing = jvm.java.util.ArrayList()
    stages = (
        context._jsc.sc()
        .statusStore()
        .stageList(nothing, False, False, gateway.new_array(jvm.double, 0), nothing)
    )
    found = [stages.apply(number) for number in range(stages.size())]
    done = [stage for stage in found if stage.status().toString() in ("COMPLETE", "SKIPPED")]
    run = [stage for stage in found if stage.status().toString() != "SKIPPED"]
    return {
        "stages_done": len(done),
        "stages_total": len(found),
        "tasks_done": sum(stage.numCompleteTasks() for stage in run),
        "tasks_total": sum(stage.numTasks() for stage in run),
        "rows": sum(stage.inputRecords() for stage in run),
    }
