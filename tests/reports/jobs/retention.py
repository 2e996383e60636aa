"""A job of the tests: real to spark-submit, by the contract of jobs, without a session of its own.

How it behaves stands in behave.json of the store that it is given: nothing, or one of

    {"sleep": true}      goes on until it is ended, with a child that leads a process group of its own
    {"exit": 2}          says `error: …` and ends so
    {"crash": true}      a traceback; {"crash": "once"}: the first time
    {"eat_mb": 3000}     takes memory and goes on
    {"half": true}       tables, no summary
    {"rows": 7, "parts": 3}
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow
import pyarrow.parquet


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", action="append", required=True)
    for name in ("cluster", "from", "to", "time-zone", "run-id", "output", "progress"):
        parser.add_argument(f"--{name}")
    asked, more = parser.parse_known_args()
    store = Path(asked.store[0].partition("=")[2])
    behaviour = json.loads(behave.read_text()) if (behave := store / "behave.json").exists() else {}
    (store / "seen.json").write_text(json.dumps({"words": sys.argv[1:], "environment": dict(os.environ)}))
    report(asked.progress, rows=0)
    misbehave(behaviour, store, asked.progress)
    write(asked, behaviour, more)
    return 0


def report(path: str, rows: int) -> None:
    line = {"at": datetime.now(UTC).isoformat(), "phase": "reading", "stages_done": 0, "stages_total": 2}
    with open(path, "a") as file:
        file.write(json.dumps({**line, "tasks_done": 1, "tasks_total": 4, "rows": rows}) + "\n")


def misbehave(behaviour: dict, store: Path, progress: str) -> None:
    if "exit" in behaviour:
        print("a log line", flush=True)
        print("error: the store is not one", file=sys.stderr, flush=True)
        sys.exit(behaviour["exit"])
    if "crash" in behaviour:
        marker = store / "crashed"
        if behaviour["crash"] != "once" or not marker.exists():
            marker.touch()
            raise RuntimeError("the job is broken")
    taken = bytearray(behaviour.get("eat_mb", 0) << 20)
    for place in range(0, len(taken), 4096):
        taken[place] = 1
    if behaviour.get("sleep") or taken:
        subprocess.Popen(["sleep", "600"], process_group=0)
        rows = 0
        while True:
            rows += 1000
            report(progress, rows)
            time.sleep(0.5)


def write(asked: argparse.Namespace, behaviour: dict, words: list[str]) -> None:
    folder = (
        Path(asked.output) / "report=retention" / f"day={datetime.now(UTC):%Y-%m-%d}" / f"run={asked.run_id}"
    )
    (folder / "topics").mkdir(parents=True)
    rows, parts = behaviour.get("rows", 5), behaviour.get("parts", 2)
    for part in range(parts):
        numbers = range(part, rows, parts)
        table = pyarrow.table(
            {
                "topic": [f"topic-{number}" for number in numbers],
                "bytes": pyarrow.array([2**60 + number for number in numbers], pyarrow.int64()),
                "note": ["=1+1"] * len(numbers),
                "keys": [f"key-{number}" for number in numbers],
            }
        )
        pyarrow.parquet.write_table(table, folder / "topics" / f"part-{part:05}.parquet")
    if behaviour.get("half"):
        return
    summary = {
        "report": "retention",
        "run_id": asked.run_id,
        "tables": {"topics": {"rows": rows, "columns": ["topic", "bytes", "note", "keys"]}},
        "figures": {"messages": str(2**60)},
        "charts": [],
        "unknown": [],
        "warnings": words,
    }
    (folder / "summary.json").write_text(json.dumps(summary))


if __name__ == "__main__":
    sys.exit(main())
