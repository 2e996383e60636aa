"""Mutant: acknowledgements of popped messages are answered and remembered, but never written."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.broker.pop.revive_log import ReviveLog
from engine.protocol.bodies.pop import CheckpointKey
from engine.store.results import PutResult


def _ack_in_memory(
    self: ReviveLog, key: CheckpointKey, queue_offsets: list[int], now_ms: int
) -> PutResult | None:
    self.checkpoints.ack(key, queue_offsets)
    return None


ReviveLog.ack = _ack_in_memory  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
