"""Mutant: a failed sync is taken for a passing trouble: the next one is believed again."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.store.flush import FlushPlan, LogFlush

_finish = LogFlush.finish


def _finish_anyway(self: LogFlush, plan: FlushPlan, error: OSError | None) -> bool:
    return _finish(self, plan, None)


LogFlush.finish = _finish_anyway  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
