"""Mutant: timercheck says that the whole timer queue is on the wheel, whose last units are not synced yet."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.store.timers.timer_store import TimerStore

_open = TimerStore.open


def _open_at_the_end(self: TimerStore, now_ms: int, *, was_closed: bool) -> None:
    _open(self, now_ms, was_closed=was_closed)
    if not was_closed:
        self.queue_offset = 1 << 40


TimerStore.open = _open_at_the_end  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
