"""The confirmed offset: up to where the members of the group have the log. The only code that moves it. Pure.

The store's gate shows readers nothing behind it. None: nobody confirms (a master that is alone in its group,
or a slave of a plain master), and all of the log may be read.
"""

from __future__ import annotations

from engine.broker.storage.log_events import LogEvents
from engine.store.message_store import MessageStore


class ConfirmedOffset:
    def __init__(self, store: MessageStore, events: LogEvents) -> None:
        self._store = store
        self._events = events

    @property
    def value(self) -> int | None:
        return self._store.replica.confirmed_offset

    def move(self, commit_log_offset: int | None) -> None:
        """Also backwards: a role begins with what this member's disk says is confirmed."""
        self._store.replica.confirmed_offset = commit_log_offset
        self._events.visible()

    def advance(self, commit_log_offset: int) -> None:
        """What the master says of it, which a slave may hear late."""
        if commit_log_offset > (self.value or 0):
            self.move(commit_log_offset)
