"""Disk faults on command: the control file of shims/faults.c."""

from __future__ import annotations

import time
from pathlib import Path

from tests.crash.shims.build import shim


class Faults:
    """`match`: the part of a path that a file must have to be concerned."""

    def __init__(self, folder: Path, match: str) -> None:
        self._control = folder / "fault"
        self.environment = {
            "LD_PRELOAD": str(shim("faults")),
            "FAULT_FILE": str(self._control),
            "FAULT_MATCH": match,
        }

    def begin(self, what: str) -> float:
        """The moment from which on it holds for every call."""
        spare = self._control.with_suffix(".new")
        spare.write_text(what)
        spare.rename(self._control)
        return time.monotonic()

    def end(self) -> None:
        self._control.unlink()
