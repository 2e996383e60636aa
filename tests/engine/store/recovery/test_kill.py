"""A child process is killed in the middle of its work; the parent opens what it left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.store.samples import draft, drain_all, open_store, put

_CHILD = """
import sys
from pathlib import Path
from tests.engine.store.samples import *
store = open_store(Path(sys.argv[1]), sync=sys.argv[2] == "sync")
number = int(sys.argv[3])
while True:
    for _ in range(20):
        put(store, draft(number, queue_id=number % 4, body_size=number % 40 * 8 + 8))
        number += 1
    if sys.argv[2] == "sync":
        flush(store)
    dispatch_all(store)
    if number % 200 == 0:
        flush_all(store)
    if store.growth.needs_segment():
        store.growth.prepare_segment()
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
"""


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_kill_at_any_moment_loses_nothing_acknowledged(tmp_path: Path, mode: str) -> None:
    chance = random.Random(7)
    acknowledged = 0
    for _ in range(4):
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(tmp_path), mode, str(acknowledged)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[4],
        )
        assert child.stdout is not None
        for _ in range(chance.randrange(5, 60)):
            acknowledged = int(child.stdout.readline())
        os.kill(child.pid, signal.SIGKILL)
        rest = child.stdout.read().split("\n")
        child.wait()
        child.stdout.close()
        acknowledged = max([acknowledged, *(int(line) for line in rest[:-1])])
        store = open_store(tmp_path, sync=mode == "sync")
        numbers = drain_all(store)
        assert numbers == list(range(len(numbers)))
        assert len(numbers) >= acknowledged
        for queue_id in range(4):
            assert store.queues.max_offset("Orders", queue_id) == sum(n % 4 == queue_id for n in numbers)
        acknowledged = len(numbers)
        assert put(store, draft(acknowledged, queue_id=acknowledged % 4)).queue_offset == acknowledged // 4
        acknowledged += 1
        store.close()
