"""What happens to the log, and who is called then: one object for all of a broker's parts. Pure.

Made first, with nothing connected; each part adds what it does to the lists while the broker is put together.
Whoever writes, syncs or confirms calls the method. Listeners must be cheap (they schedule, they do not work)
and are called in the order in which they were added. Loop thread only.
"""

from __future__ import annotations

from collections.abc import Callable


class LogEvents:
    def __init__(self) -> None:
        self.on_appended: list[Callable[[], None]] = []
        self.on_flushed: list[Callable[[int], None]] = []
        self.on_visible: list[Callable[[], None]] = []
        self.on_fenced: list[Callable[[], None]] = []

    def appended(self) -> None:
        """The log grew, by a message of this master or by bytes of a slave's master."""
        for listener in self.on_appended:
            listener()

    def flushed(self, commit_log_offset: int) -> None:
        """The log is on disk up to this offset, and perhaps more of it may be read."""
        for listener in self.on_flushed:
            listener(commit_log_offset)
        self.visible()

    def visible(self) -> None:
        """More of the log may be read: it reached the disk, or the confirmed offset moved."""
        for listener in self.on_visible:
            listener()

    def fenced(self) -> None:
        """A sync or a write of the queues failed: nothing is acknowledged any more."""
        for listener in self.on_fenced:
            listener()
