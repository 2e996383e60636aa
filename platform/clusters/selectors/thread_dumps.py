"""Thread dumps of consumers, as RocketMQ's clients send them, and where their listeners stand. Pure.

A dump is blocks of lines: `name  TID: 7 STATE: RUNNABLE`, then the calls, innermost first, each behind the
name. Threads that run listeners are known by name (Java's `ConsumeMessageThread_…`, ours `listener…`).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_HEAD = re.compile(r"^(?P<name>.+?)\s+(?:TID: (?P<id>-?\d+) |TASK )STATE: (?P<state>\w+)\s*$")
_LISTENERS = re.compile(r"^(ConsumeMessageThread|listener)")
_OUR_POOL, _JAVAS_POOL = "_worker(", "ThreadPoolExecutor.getTask"
MAX_THREADS = 2_000


@dataclass(frozen=True, slots=True)
class Thread:
    name: str
    state: str
    frames: tuple[str, ...]
    is_task: bool

    @property
    def is_listener(self) -> bool:
        return _LISTENERS.match(self.name) is not None

    @property
    def is_idle(self) -> bool:
        """Waits in its pool for work: ours at the innermost call, Java's a few calls above a lock."""
        if not self.frames or self.frames[0].startswith(_OUR_POOL):
            return True
        return any(_JAVAS_POOL in frame for frame in self.frames[:8])


def parse_dump(text: str) -> list[Thread]:
    threads: list[Thread] = []
    name, state, is_task, frames = "", "", False, []
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head is not None:
            if name:
                threads.append(Thread(name, state, tuple(frames), is_task))
            name, state, frames = head["name"].strip(), head["state"], []
            is_task = head["id"] is None
        elif line.strip() and name:
            frames.append(line.removeprefix(name).strip())
        if len(threads) >= MAX_THREADS:
            break
    if name:
        threads.append(Thread(name, state, tuple(frames), is_task))
    return threads


@dataclass(frozen=True, slots=True)
class Stand:
    """Listener threads that stand at the same call."""

    call: str
    count: int
    state: str


def where_listeners_stand(threads: list[Thread]) -> list[Stand]:
    """Busy listener threads by their innermost call, most first."""
    busy = [thread for thread in threads if thread.is_listener and not thread.is_idle and thread.frames]
    counted = Counter((thread.frames[0], thread.state) for thread in busy)
    return [Stand(call, count, state) for (call, state), count in counted.most_common(10)]
