"""The file of a group: what is stored, and in which order."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.broker.failover import group_file_io as group_file
from engine.broker.failover.group_file_io import GroupFile
from engine.broker.failover.group_state import GroupState, promise

pytestmark = pytest.mark.asyncio


async def test_a_cancelled_change_is_not_overtaken_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads write; were the first let go, it could put its older promise over the newer one."""
    may_write, real = threading.Event(), group_file.write_durable
    written: list[bytes] = []

    def slow(path: Path, data: bytes) -> None:
        if not written and b'"epoch":1' in data:
            may_write.wait(5)
        written.append(data)
        real(path, data)

    monkeypatch.setattr(group_file, "write_durable", slow)
    with ThreadPoolExecutor(2) as threads:
        file = GroupFile(tmp_path, threads)
        first = asyncio.ensure_future(file.change(lambda state: promise(state, 1, 11)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        second = asyncio.ensure_future(file.change(lambda state: promise(state, 2, 22)))
        await asyncio.sleep(0.05)
        may_write.set()
        state = await second
    assert (state.epoch, state.term_id) == (2, 22)
    again = GroupFile(tmp_path, threads)
    assert again.load() == GroupState(epoch=2, term_id=22)
