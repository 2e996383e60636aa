"""Mutant: recovery believes every body."""

from __future__ import annotations

import sys
from typing import Any

from engine.broker.main import main
from engine.store.recovery.recovery import Recovery

_init = Recovery.__init__


def _without_crc(self: Recovery, *arguments: Any, **options: Any) -> None:
    _init(self, *arguments, **{**options, "check_crc": False})


Recovery.__init__ = _without_crc  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
