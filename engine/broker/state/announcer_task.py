"""Saves a table and registers its changes with the name servers. Loop thread only."""

from __future__ import annotations

from collections.abc import Callable

from engine.broker.state.table_files import Done
from engine.broker.state.table_writer_task import Persistence


class Announcer:
    """For changes of topics: `announce` in the background, `when_announced` for a caller that waits.

    `when_registered` calls back once the name servers know all topics, or after a time limit.
    """

    def __init__(
        self, persistence: Persistence, when_registered: Callable[[Callable[[], None]], None]
    ) -> None:
        self._persistence = persistence
        self._when_registered = when_registered

    def announce(self, file: str) -> None:
        self.when_announced(file, _ignore)

    def when_announced(self, file: str, done: Done) -> None:
        """`done` is called with the error of the save, or after the registration."""

        def saved(error: OSError | None) -> None:
            if error is None:
                self._when_registered(lambda: done(None))
            else:
                done(error)

        self._persistence.when_saved(file, saved)


def _ignore(error: OSError | None) -> None:
    """The writer has logged the failure."""
