"""All checkers of a history at once; also a command: `python -m tests.crash.checker.check history.jsonl`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.crash.checker.duplicate_append import check_duplicate_append
from tests.crash.checker.epochs import check_epochs
from tests.crash.checker.events import Event, read_history
from tests.crash.checker.front import check_front, without_expired
from tests.crash.checker.inconsistent_offset import check_inconsistent_offset
from tests.crash.checker.lost import check_lost
from tests.crash.checker.lost_by_offset import check_lost_by_offset
from tests.crash.checker.offset_commit import check_offset_commit
from tests.crash.checker.order import check_order
from tests.crash.checker.phantom import check_phantom
from tests.crash.checker.violations import Violation, describe

PERSIST_INTERVAL_S = 5.0


def check_history(
    events: Sequence[Event], *, persist_interval_s: float | None = PERSIST_INTERVAL_S
) -> list[Violation]:
    """Histories of producers that do not retry; a history without a `drain` mark counts every read.

    Without a persist interval the groups' offsets are not judged (a fault took messages that were committed).
    """
    unexpired = without_expired(events)
    return [
        *check_lost(unexpired),
        *check_lost_by_offset(unexpired),
        *check_front(events),
        *check_inconsistent_offset(events),
        *check_duplicate_append(events),
        *check_order(events),
        *check_phantom(unexpired),
        *check_epochs(events),
        *(
            []
            if persist_interval_s is None
            else check_offset_commit(events, persist_interval_s=persist_interval_s)
        ),
    ]


def main(path: str) -> int:
    violations = check_history(list(read_history(Path(path))))
    print(describe(violations) if violations else "no violation")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
