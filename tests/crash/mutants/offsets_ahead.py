"""Mutant: the offsets on disk are ahead of what the groups committed."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from engine.broker.main import main
from engine.broker.offsets.offset_table import ConsumerOffsets

_snapshot = ConsumerOffsets.snapshot
_AHEAD = 1000


def _snapshot_ahead(self: ConsumerOffsets, now_ms: int) -> Mapping[str, object]:
    snapshot = _snapshot(self, now_ms)
    table = snapshot["offsetTable"]
    assert isinstance(table, dict)
    ahead = {key: {queue: at + _AHEAD for queue, at in queues.items()} for key, queues in table.items()}
    return {**snapshot, "offsetTable": ahead}


ConsumerOffsets.snapshot = _snapshot_ahead  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
