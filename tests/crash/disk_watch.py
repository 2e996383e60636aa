"""How slow the machine's disk is while a broker runs: what a broker saves in time waits for the same disk.

A thread that syncs a byte beside the store every 50 ms, as long as the broker lives, and keeps the slowest.
"""

from __future__ import annotations

import os
import threading
import time

from tests.crash.cluster import Daemon

_PAUSE_S = 0.05


class DiskWatch:
    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self.slowest_s = 0.0

    def start(self) -> None:
        threading.Thread(target=self._watch, args=(self._daemon.pid,), daemon=True).start()

    def _watch(self, pid: int) -> None:
        probe = os.open(self._daemon.log_path.with_suffix(".probe"), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            while self._daemon.is_alive and self._daemon.pid == pid:
                os.pwrite(probe, b"x", 0)
                begun = time.monotonic()
                os.fsync(probe)
                self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
                time.sleep(_PAUSE_S)
        finally:
            os.close(probe)
