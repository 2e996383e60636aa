"""Tables on disk: who waits is told, writes of one file never overlap, a storm of changes is few writes."""

from __future__ import annotations

import asyncio
import errno
import re
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from engine.broker.state.state_file_io import StateFile
from engine.broker.state.table_writer_task import TableWriter


class Table:
    """A number that is saved; `gate` holds the writing thread."""

    def __init__(self, path: Path) -> None:
        self.value = 0
        self.saved: list[int] = []
        self.failures = 0
        self.encoded: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.is_flushed = asyncio.Event()
        self.is_sound = True
        self.file = StateFile(path, lambda: self.value, self._encode, self.saved.append, self._failed)

    def _encode(self, value: int) -> bytes:
        self.gate.wait(5)
        self.encoded.append(value)
        if self.error is not None:
            raise self.error
        return b"%d" % value

    def _failed(self) -> None:
        self.failures += 1

    async def flush_log(self) -> bool:
        """The log of a file that follows it: on disk when the test says so."""
        await self.is_flushed.wait()
        return self.is_sound


@pytest.fixture
async def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "config" / "table.json")


def table_writer(table: Table, threads: ThreadPoolExecutor) -> TableWriter:
    return TableWriter(
        {"table": table.file},
        asyncio.get_running_loop(),
        threads,
        flush_log=table.flush_log,
        when_registered=lambda done: done(),
    )


@pytest.fixture
async def persistence(table: Table) -> AsyncIterator[TableWriter]:
    with ThreadPoolExecutor(2) as threads:
        yield table_writer(table, threads)


async def saved(persistence: TableWriter) -> OSError | None:
    done: asyncio.Future[OSError | None] = asyncio.get_running_loop().create_future()
    persistence.when_saved("table", done.set_result)
    return await asyncio.wait_for(done, 5)


async def test_what_is_on_disk_is_what_was_asked_for(persistence: TableWriter, table: Table) -> None:
    table.value = 7
    assert await saved(persistence) is None
    assert table.file.path.read_bytes() == b"7"
    assert table.saved == [7]


async def test_a_slow_disk_is_said_to_be_one(
    persistence: TableWriter, table: Table, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("engine.broker.state.table_writer_task.SLOW_S", 1e9)
    assert await saved(persistence) is None
    assert caplog.text == ""
    monkeypatch.setattr("engine.broker.state.table_writer_task.SLOW_S", -1.0)
    assert await saved(persistence) is None
    assert re.search(r"table.json took \d+\.\d s to be written: the disk is slow", caplog.text)


async def test_changes_during_a_write_share_the_next_one(persistence: TableWriter, table: Table) -> None:
    table.gate.clear()
    waiting = []
    for table.value in range(1, 51):
        waiting.append(asyncio.ensure_future(saved(persistence)))
        await asyncio.sleep(0)
    table.gate.set()
    assert await asyncio.gather(*waiting) == [None] * 50
    assert table.encoded == [1, 50]
    assert table.file.path.read_bytes() == b"50"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no room"), ValueError("no such value")])
async def test_a_failure_is_told_to_all_who_wait(
    persistence: TableWriter, table: Table, error: Exception
) -> None:
    table.error = error
    assert isinstance(await saved(persistence), OSError)
    assert (table.saved, table.failures) == ([], 1)
    table.error = None
    assert await saved(persistence) is None


async def test_everything_is_saved_at_the_end(persistence: TableWriter, table: Table) -> None:
    table.gate.clear()
    persistence.save("table")
    table.value = 9
    table.gate.set()
    await persistence.save_all()
    assert table.file.path.read_bytes() == b"9"


async def test_what_follows_the_log_is_written_behind_it(table: Table) -> None:
    """What was copied is written, not what has changed while the log went to the disk."""
    table.file = replace(table.file, without_log=lambda value: value - 1)
    with ThreadPoolExecutor(2) as threads:
        loop = asyncio.get_running_loop()
        persistence = table_writer(table, threads)
        table.value = 7
        done: asyncio.Future[OSError | None] = loop.create_future()
        persistence.when_saved("table", done.set_result)
        table.value = 8
        await asyncio.sleep(0)
        assert not table.file.path.exists()
        table.is_flushed.set()
        assert await asyncio.wait_for(done, 5) is None
        assert table.file.path.read_bytes() == b"7"
        table.is_sound = False
        assert await saved(persistence) is None
        assert table.file.path.read_bytes() == b"7", "8 is not proven"
