"""One table and its file below config/: how the table is copied, encoded and written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.broker.state.change_file_io import ChangeFile, TableChanges
from engine.durable_file import write_durable


@dataclass(frozen=True, slots=True)
class StateFile:
    """`take` copies the table (loop), `encode` makes its bytes (thread), then one of the others is told."""

    path: Path
    take: Callable[[], Any]
    encode: Callable[[Any], bytes]
    saved: Callable[[Any], None]
    failed: Callable[[], None]
    without_log: Callable[[Any], Any] | None = None
    changes: TableChanges | None = None
    change_file: ChangeFile | None = None
    """Of a table that can tell its changes: `saved` is then told what was taken, the whole or the changes."""

    def write(self, snapshot: Any) -> None:
        """The whole table. Blocks; called in a thread."""
        data = self.encode(snapshot)
        if self.change_file is not None:
            self.change_file.write_image(data)
        else:
            write_durable(self.path, data)

    def append(self, snapshot: Any) -> None:
        """What changed since the last write. Blocks; called in a thread."""
        assert self.changes is not None and self.change_file is not None
        self.change_file.append(self.changes.encode(snapshot))
