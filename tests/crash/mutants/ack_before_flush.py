"""Mutant: a send is acknowledged when its sync has been asked for, not when it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable

from engine.broker.main import main
from engine.broker.process.waits import BrokerWaits


def _at_once(
    self: BrokerWaits, commit_log_offset: int, timeout_ms: int, done: Callable[[bool], None]
) -> None:
    self._want_flush()
    done(True)


BrokerWaits.when_flushed = _at_once  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
