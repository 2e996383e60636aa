"""Offsets in memory, at brokers and in a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from engine.client.consuming.offsets import LocalOffsets, RemoteOffsets, local_offsets_path
from engine.errors import BadInput, PeerUnreachable
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.offsets import OffsetSerializeWrapper

A, B = MessageQueue("t", "a", 0), MessageQueue("t", "b", 1)


class Brokers:
    """Stands for the brokers' side of QueueOffsets."""

    def __init__(self) -> None:
        self.table: dict[MessageQueue, int] = {}
        self.unreachable: set[MessageQueue] = set()
        self.commits = 0
        self.is_master_away = False
        self.under_way: list[MessageQueue] = []
        self.together: list[list[MessageQueue]] = []
        """At each commit: which were under way."""

    async def committed(self, group: str, queue: MessageQueue) -> int | None:
        return self.table.get(queue)

    async def commit(self, group: str, queue: MessageQueue, offset: int) -> bool:
        if queue in self.unreachable:
            raise PeerUnreachable("away")
        self.under_way.append(queue)
        self.together.append(list(self.under_way))
        await asyncio.sleep(0)
        self.under_way.remove(queue)
        self.commits += 1
        self.table[queue] = offset
        return not self.is_master_away


def remote() -> tuple[RemoteOffsets, Brokers]:
    brokers = Brokers()
    return RemoteOffsets("group", brokers), brokers  # type: ignore[arg-type]


async def test_only_changes_are_committed() -> None:
    store, brokers = remote()
    store.update(A, 5)
    store.update(B, 6)
    await store.persist()
    store.update(A, 5)
    await store.persist()
    assert brokers.table == {A: 5, B: 6} and brokers.commits == 2


async def test_the_first_commit_of_a_topic_at_a_broker_is_alone_there() -> None:
    store, brokers = remote()
    queues = [MessageQueue("t", broker, number) for broker in ("a", "b") for number in range(3)]
    for queue in queues:
        store.update(queue, 7)
    await store.persist()
    assert brokers.table == dict.fromkeys(queues, 7)
    first, rest = brokers.together[:2], brokers.together[2:]
    assert first[-1] == [queues[0], queues[3]] and len(rest[-1]) == 4


async def test_a_queue_that_is_forgotten_while_others_are_committed_is_left_out() -> None:
    store, brokers = remote()
    queues = [MessageQueue("t", "a", number) for number in range(3)]
    for queue in queues:
        store.update(queue, 7)
    persisting = asyncio.ensure_future(store.persist())
    await asyncio.sleep(0)
    store.forget(queues[1])
    await persisting
    assert brokers.table == {queues[0]: 7, queues[2]: 7}


async def test_a_commit_that_only_a_slave_took_is_told_to_the_master_too() -> None:
    store, brokers = remote()
    store.update(A, 5)
    brokers.is_master_away = True
    await store.persist()
    brokers.is_master_away = False
    await store.persist()
    await store.persist()
    assert brokers.commits == 2


async def test_a_commit_that_failed_is_tried_again() -> None:
    store, brokers = remote()
    store.update(A, 5)
    store.update(B, 6)
    brokers.unreachable = {A}
    await store.persist()
    assert brokers.table == {B: 6}
    brokers.unreachable = set()
    await store.persist()
    assert brokers.table == {A: 5, B: 6}


async def test_only_the_queues_asked_for_are_committed() -> None:
    store, brokers = remote()
    store.update(A, 5)
    store.update(B, 6)
    await store.persist([A])
    assert brokers.table == {A: 5}


async def test_a_forgotten_queue_is_not_committed() -> None:
    store, brokers = remote()
    store.update(A, 5)
    store.forget(A)
    await store.persist()
    assert not brokers.table and store.get(A) is None


async def test_loading_puts_the_offset_into_memory() -> None:
    store, brokers = remote()
    brokers.table[A] = 9
    assert (await store.load(A), store.get(A), await store.load(B)) == (9, 9, None)


async def test_an_update_while_loading_is_not_overwritten() -> None:
    store, brokers = remote()
    brokers.table[A] = 0
    store.update(A, 7)
    await store.load(A)
    await store.persist()
    assert brokers.table[A] == 7


async def test_a_file_keeps_what_was_persisted(tmp_path: Path) -> None:
    path = local_offsets_path(str(tmp_path), "10.0.0.1@DEFAULT", "group")
    assert path == tmp_path / "10.0.0.1@DEFAULT" / "group" / "offsets.json"
    store = LocalOffsets(path)
    assert await store.load(A) is None
    store.update(A, 5)
    store.update(B, 7)
    await store.persist()
    again = LocalOffsets(path)
    assert (await again.load(A), await again.load(B)) == (5, 7)
    assert OffsetSerializeWrapper.decode(path.read_bytes()).offset_table == {A: 5, B: 7}


async def test_a_torn_file_is_replaced_by_its_backup(tmp_path: Path) -> None:
    path = tmp_path / "offsets.json"
    store = LocalOffsets(path)
    store.update(A, 5)
    await store.persist()
    store.update(A, 6)
    await store.persist()
    path.write_bytes(b'{"offsetTable":{{"brokerN')
    assert await LocalOffsets(path).load(A) == 5


async def test_two_bad_files_are_an_error_not_a_fresh_start(tmp_path: Path) -> None:
    path = tmp_path / "offsets.json"
    path.write_bytes(b"{")
    with pytest.raises(BadInput, match="cannot be read"):
        await LocalOffsets(path).load(A)
