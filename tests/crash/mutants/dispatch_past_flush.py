"""Mutant: readers are shown what is in the log, synced or not."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.store.log.commit_log import CommitLog

CommitLog.readable_end = lambda self: self.written_end_offset  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
