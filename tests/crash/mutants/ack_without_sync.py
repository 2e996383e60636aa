"""Mutant: a flush reports success without having synced: acknowledgements come before the disk."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.store.flush import FlushPlan

FlushPlan.run = lambda self: None  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
