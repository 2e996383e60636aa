"""Opens a broker's store and says in the log what was found damaged or missing."""

from __future__ import annotations

import logging
from pathlib import Path

from engine.broker.state.missing_files_io import check_tables
from engine.errors import EngineError
from engine.protocol.layouts.store_files import segment_name
from engine.store.message_store import MessageStore
from engine.store.options import StoreOptions

log = logging.getLogger(__name__)


def open_store(options: StoreOptions, config_directory: Path, now_ms: int) -> MessageStore:
    """Raises StoreError; nothing stays open then. Strictly opened, a store with losses is refused."""
    store = MessageStore.open(options, now_ms, on_progress=_log_progress)
    try:
        has_messages = store.commit_log_max_offset > store.commit_log_min_offset
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
