"""Mutant: a master that is replaced tells everybody who still waits that all is well."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.broker.replication.acknowledgement import ReplicaWaits


def _all_is_well(self: ReplicaWaits) -> None:
    rows, self._rows = self._rows, {}
    for row in rows.values():
        for wait in row:
            wait.done(True)


ReplicaWaits.fail_all = _all_is_well  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
