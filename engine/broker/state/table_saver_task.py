"""Saves a table; of topics, the name servers hear too before who waits is told. Loop thread only."""

from __future__ import annotations

from collections.abc import Callable

from engine.broker.state.table_files import TOPICS_FILE, Done
from engine.broker.state.table_writer_task import Persistence


class Saving:
    """`save` in the background, `when_saved` for who waits. `when_announced` calls back once the name servers
    know of all topics."""

    def __init__(
        self, persistence: Persistence, when_announced: Callable[[Callable[[], None]], None]
    ) -> None:
        self._persistence = persistence
        self._when_announced = when_announced

    def save(self, file: str) -> None:
        self.when_saved(file, _ignore)

    def when_saved(self, file: str, done: Done) -> None:
        def saved(error: OSError | None) -> None:
            if error is None and file == TOPICS_FILE:
                self._when_announced(lambda: done(None))
            else:
                done(error)

        self._persistence.when_saved(file, saved)


def _ignore(error: OSError | None) -> None:
    """The failure is in the log already."""
