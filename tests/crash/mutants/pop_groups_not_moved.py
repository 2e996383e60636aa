"""Mutant: a start knows what was popped, but gives it once more because the groups' offsets are old."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.broker.pop.revive_log import ReviveLog
from engine.protocol.bodies.pop import PopCheckpoint


def _move_nothing(self: ReviveLog, checkpoint: PopCheckpoint) -> None:
    pass


ReviveLog._move_group = _move_nothing  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
