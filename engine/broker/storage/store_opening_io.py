"""Opens a broker's store and logs what is damaged or missing: records of the log, and tables under config/.

A broker writes all its tables at every start, RocketMQ's within seconds. So where the log has messages and
one of the other tables is there, a missing one was lost, and its .bak with it. Files are looked at once, at
the start, before any is written.
"""

from __future__ import annotations

import logging
from pathlib import Path

from engine.broker.groups.group_table import GROUPS_FILE
from engine.broker.offsets.offset_table import OFFSETS_FILE
from engine.broker.topics.topic_table import TOPICS_FILE
from engine.errors import EngineError, StoreError
from engine.protocol.layouts.store_files import segment_name
from engine.store.message_store import MessageStore
from engine.store.options import StoreOptions

log = logging.getLogger(__name__)

_CONSEQUENCES = {
    OFFSETS_FILE: "groups begin where their consumers are set to begin, and may consume everything again",
    TOPICS_FILE: "topics have no configuration but that of their queues",
    GROUPS_FILE: "groups have their default configuration",
}


def open_store(options: StoreOptions, config_directory: Path, now_ms: int) -> MessageStore:
    """Raises StoreError; nothing stays open then. Strictly opened, a store with losses is refused."""
    store = MessageStore.open(options, now_ms, on_progress=_log_progress)
    try:
        has_messages = store.log.max_offset > store.log.min_offset
        check_tables(config_directory, has_messages=has_messages, is_strict=options.is_strict)
    except (EngineError, OSError):
        store.close(now_ms)
        raise
    if store.missing is not None:
        log.warning("%s", store.missing)
    report = store.recovery
    if report is not None and report.lost_bytes:
        log.warning(
            "the last %d bytes of the commit log were on disk and are damaged: cut off at offset %d",
            report.lost_bytes,
            report.end_offset,
        )
    for start, end in report.damaged if report is not None else ():
        where = start, segment_name(store.repairs.segment_start(start)), end - start
        log.warning("the commit log is damaged at offset %d in %s: %d bytes are passed over", *where)
    return store


def _log_progress(done: int, total: int) -> None:
    log.info("recovering the store: %d of %d bytes", done, total)


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
