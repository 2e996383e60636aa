"""Mutant: a start does not read the revive log, so what was popped and not acknowledged is gone."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.broker.pop.revive_log import ReviveLog


def _load_nothing(self: ReviveLog) -> None:
    pass


def _look_at_nothing(self: ReviveLog, now_ms: int) -> None:
    pass


ReviveLog.load = _load_nothing  # type: ignore[method-assign]
ReviveLog.catch_up = _look_at_nothing  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
