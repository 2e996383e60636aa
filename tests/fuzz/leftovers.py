"""What a daemon still holds after a salvo that it did not hold before: nothing, but for what is named here.

A store keeps the files of its queues open, at most 1,024 of them (`max_open_queue_files`): a
salvo that is a good send to a new queue opens one. A segment or index file may have come, too. Connections
and everything else must be as before, one by one. Threads live in pools that fill up to their bound and never
beyond.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from pathlib import Path

from tests.crash.cluster import Daemon

SOCKET = "socket"
_OF_THE_STORE = re.compile(
    r"/store/(consumequeue/[^/]+/\d+/\d{20}|commitlog/\d{20}|index/\d{17}|prepared-\d+\.tmp)$"
)
_MOST_QUEUE_FILES = 1024
_MAPPINGS = 3
"""A descriptor, and one for each mapping (CPython's mmap keeps its own), of which an index file has two."""
_SETTLE_S = 15.0
_LOOP_THREADS = min(32, (os.cpu_count() or 1) + 4)
"""The event loop's own pool, as CPython sizes it."""
MOST_THREADS = {"namesrv": 1 + _LOOP_THREADS, "broker": 1 + 2 + 1 + _LOOP_THREADS}
"""The loop; in a broker also two threads for files and one for syncs."""


def holdings(daemon: Daemon) -> Counter[str]:
    """How often each file is open; all sockets under one name."""
    found: Counter[str] = Counter()
    for link in Path(f"/proc/{daemon.pid}/fd").iterdir():
        try:
            target = os.readlink(link)
        except FileNotFoundError:
            continue  # closed since the folder was read
        found[SOCKET if target.startswith("socket:") else target] += 1
    return found


def leftovers(daemon: Daemon, before: Counter[str]) -> Counter[str]:
    """What is held beyond `before`, as soon as that is nothing, or when it did not go away."""
    deadline = time.monotonic() + _SETTLE_S
    while True:
        extra = holdings(daemon) - before
        files = [name for name in extra if _OF_THE_STORE.search(name)]
        if len(files) <= _MOST_QUEUE_FILES:
            extra -= Counter(dict.fromkeys(files, _MAPPINGS))
        if not extra or time.monotonic() > deadline:
            return extra
        time.sleep(0.1)
