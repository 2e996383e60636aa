"""Mutant: readers are shown what is written here, confirmed or not."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.store.log.commit_log import CommitLog


def _written(self: CommitLog) -> int:
    return self.written_end_offset


CommitLog.readable_end = _written  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
