"""Changes of a large table: what is read back after a stop at any byte, and how little is written."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.broker.groups.group_table import GROUPS_FILE, SubscriptionGroupTable
from engine.broker.state import state_file_io as change_file
from engine.broker.state.state_file_io import changes_path
from engine.broker.state.state_files_io import load_tables, state_files
from engine.broker.state.table_writer_task import TableWriter
from engine.broker.state.tables import Tables
from engine.broker.topics.topic_table import TOPICS_FILE
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig

NOW_MS = 1_700_000_000_000
TOPICS = 500
"""More than SMALL_IMAGE_BYTES of them."""


class Saved:
    """The tables of a broker and their files."""

    def __init__(self, folder: Path, threads: ThreadPoolExecutor) -> None:
        self.folder = folder
        self.tables: Tables = load_tables(folder)
        files = state_files(folder, self.tables, lambda: NOW_MS)
        self.persistence = TableWriter(
            files,
            asyncio.get_running_loop(),
            threads,
            flush_log=_no_log,
            when_registered=lambda done: done(),
        )

    async def save(self, file: str = TOPICS_FILE) -> OSError | None:
        done: asyncio.Future[OSError | None] = asyncio.get_running_loop().create_future()
        self.persistence.when_saved(file, done.set_result)
        return await asyncio.wait_for(done, 10)

    async def add(self, *names: str) -> None:
        for name in names:
            self.tables.topics.create_unsaved(TopicConfig(name, 1, 1), NOW_MS)
        assert await self.save() is None
        assert not self.tables.topics.unsaved

    @property
    def path(self) -> Path:
        return self.folder / TOPICS_FILE


async def _no_log() -> bool:
    return True


@pytest.fixture
async def threads() -> AsyncIterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


@pytest.fixture
async def saved(tmp_path: Path, threads: ThreadPoolExecutor) -> Saved:
    """A table of 500 topics, whole on disk."""
    made = Saved(tmp_path, threads)
    await made.add(*(f"topic-{number}" for number in range(TOPICS)))
    return made


def topics_on_disk(folder: Path) -> dict[str, TopicConfig]:
    return load_tables(folder).topics.configs()


async def test_one_new_topic_does_not_rewrite_the_others(saved: Saved) -> None:
    image = saved.path.read_bytes()
    await saved.add("new")
    assert saved.path.read_bytes() == image
    assert changes_path(saved.path).stat().st_size < 1_000
    saved.tables.topics.delete("topic-7", NOW_MS)
    await saved.add("another")
    assert saved.path.read_bytes() == image
    loaded = load_tables(saved.folder).topics
    assert loaded.configs() == saved.tables.topics.configs()
    assert loaded.version == saved.tables.topics.version


async def test_a_request_without_a_change_writes_nothing(saved: Saved) -> None:
    await saved.add("new")
    before = changes_path(saved.path).read_bytes()
    assert await saved.save() is None
    assert changes_path(saved.path).read_bytes() == before


async def test_a_version_that_moved_alone_is_kept(saved: Saved) -> None:
    saved.tables.topics.renew_version(NOW_MS + 1)
    await saved.save()
    assert load_tables(saved.folder).topics.version == saved.tables.topics.version


async def test_at_the_end_the_file_alone_holds_everything(saved: Saved) -> None:
    await saved.add("new")
    await saved.persistence.finish()
    assert "new" in json.loads(saved.path.read_bytes())["topicConfigTable"]
    assert not changes_path(saved.path).exists()
    written = saved.path.stat().st_mtime_ns
    await saved.persistence.finish()
    assert saved.path.stat().st_mtime_ns == written, "it was whole already"


async def test_other_readers_get_the_whole_file_soon(saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.broker.state.table_writer_task.REWRITE_S", 0.01)
    await saved.add("new")
    deadline = asyncio.get_running_loop().time() + 10
    while changes_path(saved.path).exists():
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.01)
    assert "new" in json.loads(saved.path.read_bytes())["topicConfigTable"]


async def test_changes_that_have_grown_large_become_an_image(
    saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_file, "LEAST_BYTES", 2_000)
    largest = 0
    for number in range(400):
        await saved.add(f"new-{number}")
        if changes_path(saved.path).exists():
            largest = max(largest, changes_path(saved.path).stat().st_size)
    assert 2_000 < largest < saved.path.stat().st_size
    assert topics_on_disk(saved.folder) == saved.tables.topics.configs()


async def test_after_a_stop_at_any_byte_a_prefix_is_there(saved: Saved, threads: ThreadPoolExecutor) -> None:
    states = [saved.tables.topics.configs()]
    for number in range(3):
        saved.tables.topics.delete(f"topic-{number}", NOW_MS)
        await saved.add(f"new-{number}")
        states.append(saved.tables.topics.configs())
    whole = changes_path(saved.path).read_bytes()
    first_line = whole.index(b"\n") + 1
    reached = 0
    for cut in (*range(first_line, len(whole) - 1, 7), len(whole) - 1, len(whole)):
        changes_path(saved.path).write_bytes(whole[:cut])
        found = states.index(topics_on_disk(saved.folder))
        assert found >= reached
        reached = found
        # What was found is read only; the next write is a whole image.
        assert found == whole[:cut].count(b"\n") - 1
    assert reached == 3
    again = Saved(saved.folder, threads)
    await again.add("after the crash".replace(" ", "-"))
    assert not changes_path(saved.path).exists()
    assert topics_on_disk(saved.folder) == again.tables.topics.configs()


async def test_changes_of_another_image_are_ignored(saved: Saved) -> None:
    await saved.add("old-change")
    old = changes_path(saved.path).read_bytes()
    saved.tables.topics.delete("old-change", NOW_MS)
    await saved.save()
    await saved.persistence.finish()
    changes_path(saved.path).write_bytes(old)  # a crash before it was deleted
    assert "old-change" not in topics_on_disk(saved.folder)


async def test_a_damaged_line_is_named_and_ends_the_changes(
    saved: Saved, caplog: pytest.LogCaptureFixture
) -> None:
    await saved.add("first")
    await saved.add("second")
    path = changes_path(saved.path)
    path.write_bytes(path.read_bytes().replace(b'"second"', b'"secund"'))
    found = topics_on_disk(saved.folder)
    assert "first" in found and "second" not in found and "secund" not in found
    assert "topics.json.changes: line 3 is damaged" in caplog.text


async def test_after_a_failed_append_all_is_written(saved: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    await saved.add("new")

    def full(fd: int, data: object) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    saved.tables.topics.create_unsaved(TopicConfig("unlucky", 1, 1), NOW_MS)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        error = await saved.save()
    assert error is not None and error.errno == errno.ENOSPC
    assert saved.tables.topics.unsaved == {"unlucky"}
    assert "new" in topics_on_disk(saved.folder)
    assert await saved.save() is None
    assert not saved.tables.topics.unsaved
    assert "unlucky" in json.loads(saved.path.read_bytes())["topicConfigTable"]


async def test_groups_and_their_forbidden_topics_come_back(saved: Saved) -> None:
    groups: SubscriptionGroupTable = saved.tables.groups
    for number in range(TOPICS):
        groups.put(SubscriptionGroupConfig(group_name=f"group-{number}"), NOW_MS)
    await saved.save(GROUPS_FILE)
    groups.put(SubscriptionGroupConfig(group_name="new", retry_max_times=3), NOW_MS)
    groups.set_readable("group-1", "orders", False, NOW_MS)
    groups.set_readable("group-2", "orders", False, NOW_MS)
    await saved.save(GROUPS_FILE)
    groups.set_readable("group-2", "orders", True, NOW_MS)
    groups.delete("group-3", NOW_MS)
    await saved.save(GROUPS_FILE)
    assert changes_path(saved.folder / GROUPS_FILE).exists()
    loaded = load_tables(saved.folder).groups
    assert loaded.configs() == groups.configs()
    assert loaded.forbidden() == groups.forbidden() == {"group-1": {"orders": 4}}
    assert loaded.version == groups.version
