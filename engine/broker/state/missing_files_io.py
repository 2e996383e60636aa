"""Tables that a store must have had and has not any more. Files are looked at once, at the start, before any
is written.

A broker writes all its tables at every start, RocketMQ's within seconds. So where the log has messages and
one of the other tables is there, a missing one was lost, and its .bak with it."""

from __future__ import annotations

import logging
from pathlib import Path

from engine.broker.state.table_files import GROUPS_FILE, OFFSETS_FILE, TOPICS_FILE
from engine.errors import StoreError

log = logging.getLogger(__name__)

_CONSEQUENCES = {
    OFFSETS_FILE: "groups begin where their consumers are told to begin, and may consume everything again",
    TOPICS_FILE: "topics have no configuration but that of their queues",
    GROUPS_FILE: "groups have their default configuration",
}


def missing_tables(present: set[str], *, has_messages: bool) -> list[str]:
    """The tables that must have been there, given the names of files (with .bak) that are. Pure."""
    found = {name for name in _CONSEQUENCES if name in present or f"{name}.bak" in present}
    return [name for name in _CONSEQUENCES if name not in found] if found and has_messages else []


def check_tables(directory: Path, *, has_messages: bool, is_strict: bool) -> None:
    """Warn of what is gone, or refuse to go on without it."""
    present = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    missing = missing_tables(present, has_messages=has_messages)
    lines = [f"{name} is gone, and its .bak: {_CONSEQUENCES[name]}" for name in missing]
    if lines and is_strict:
        raise StoreError(f"{'; '.join(lines)}. Restore it, or start without --strict")
    for line in lines:
        log.warning("%s", line)
    for name in _CONSEQUENCES:
        if name not in present and f"{name}.bak" in present:
            log.warning("%s is gone: its .bak is read instead", name)
