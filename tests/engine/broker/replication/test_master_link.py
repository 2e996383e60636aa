"""A slave's end of the stream, after the stream."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.broker.failover.group_file_io import GroupFile
from engine.broker.replication.acknowledgement import ConfirmedOffset
from engine.broker.replication.ha_port_io import Stream
from engine.broker.replication.master_link_io import LogCopy, MasterHello, MasterLink, PlainMasterLink
from engine.broker.storage.log_events import LogEvents
from tests.engine.store.samples import draft, open_store, put

pytestmark = pytest.mark.asyncio


class ClosedWriter:
    """As uvloop's: a write to a closed stream is an error of its own kind."""

    def is_closing(self) -> bool:
        return True

    def write(self, data: bytes) -> None:
        raise RuntimeError("the handler is closed")


async def test_a_flush_that_ends_after_the_stream_is_not_told_by_an_exception(tmp_path: Path) -> None:
    """It is the flushing task that would die of it, and with it every later acknowledgement."""
    store = open_store(tmp_path)
    stream = Stream(asyncio.StreamReader(), ClosedWriter())  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as threads:
        copy = LogCopy(
            store,
            GroupFile(tmp_path, threads),
            ConfirmedOffset(store.replica, LogEvents()),
            cut=lambda offset: asyncio.sleep(0),
            appended=lambda: None,
            now_ms=lambda: 0,
        )
        hello = MasterHello(0, 1, 1, (), 0, 0, 0)
        link = MasterLink(stream, copy, hello)
        put(store, draft(0))
        link.report_end()
        plain = PlainMasterLink(stream, copy)
        plain.report_end()
    store.close()
