"""Where the platform keeps its files: one folder, one map.

    console/    db.sqlite3, secret.key, redis.sock, logs/, backups/      the console's own
    hosts/      <host>/                                                 what the agent of a host made here

`SIGNALBOX_DATA` names it; without that it is data/ beside manage.py. Nothing is made by looking: `prepare`
makes the folders, readable by their owner alone.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FRONTEND = Path(os.environ.get("SIGNALBOX_PAGES") or REPOSITORY / "build" / "frontend")
"""The built pages (tools/build_frontend.sh); not there until they are built."""
LONGEST_SOCKET = 107
"""Bytes of a unix socket's path, without the closing zero."""


@dataclass(frozen=True, slots=True)
class DataRoot:
    path: Path

    @property
    def console(self) -> Path:
        return self.path / "console"

    @property
    def database(self) -> Path:
        return self.console / "db.sqlite3"

    @property
    def key_file(self) -> Path:
        return self.console / "secret.key"

    @property
    def redis_socket(self) -> Path:
        """Beside the rest; a path that is too long for a socket has one of its own among temporary files."""
        path = self.console / "redis.sock"
        if len(str(path).encode()) <= LONGEST_SOCKET:
            return path
        name = hashlib.sha256(str(self.path).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"signalbox-{os.getuid()}-{name}" / "redis.sock"

    @property
    def logs(self) -> Path:
        return self.console / "logs"

    def of_host(self, name: str) -> Path:
        return self.path / "hosts" / name

    def prepare(self) -> None:
        for folder in (self.path, self.console, self.logs, self.redis_socket.parent):
            folder.mkdir(parents=True, exist_ok=True)
            # Not ours: somebody may have made a temporary folder of that name before us. This refuses.
            folder.chmod(0o700)


def data_root(environment: Mapping[str, str] = os.environ) -> DataRoot:
    return DataRoot(Path(environment.get("SIGNALBOX_DATA") or REPOSITORY / "data").absolute())
