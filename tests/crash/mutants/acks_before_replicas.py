"""Mutant: a master acknowledges what its slaves have not got."""

from __future__ import annotations

import sys
from collections.abc import Callable

from engine.broker.main import main
from engine.broker.replication.master_task import MasterTerm


def _at_once(
    self: MasterTerm, count: int, commit_log_offset: int, timeout_ms: int, done: Callable[[bool], None]
) -> None:
    self.appended()
    done(True)


MasterTerm.wait = _at_once  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
