"""Where each thread and each task of this process stands, as text for an operator (`consumerStatus -s`).

In the shape that RocketMQ's clients send: a line with the thread's name, its id and state, then the calls,
the innermost first, each behind the name. Listeners that are coroutines have no thread of their own, so the
tasks of the calling loop follow the threads. Called on the loop; others run on while it looks.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Iterable

MAX_TASKS = 1_000
MAX_CALLS = 100
"""Of one thread or task: a client that hangs must still be able to say so in one answer."""


def thread_stacks() -> str:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = [
        _part(names.get(ident, "unknown"), f"TID: {ident} STATE: RUNNABLE", traceback.walk_stack(frame))
        for ident, frame in sys._current_frames().items()
    ]
    for task in sorted(asyncio.all_tasks(), key=asyncio.Task.get_name)[:MAX_TASKS]:
        calls = ((frame, frame.f_lineno) for frame in reversed(task.get_stack(limit=MAX_CALLS)))
        parts.append(_part(task.get_name(), "TASK STATE: WAITING", calls))
    return "\n".join(parts)


def _part(name: str, state: str, calls: Iterable[tuple[object, int]]) -> str:
    summary = traceback.StackSummary.extract(calls, limit=MAX_CALLS, lookup_lines=False)  # type: ignore[arg-type]
    lines = [f"{name:<40}{call.name}({call.filename}:{call.lineno})\n" for call in summary]
    return f"{name:<40}{state}\n" + "".join(lines)
