"""The collector's snapshot over a real socket: what changed, only what changed, and nothing invented."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from engine.broker.offsets import progress
from engine.broker.snapshots import broker_snapshot as snapshots
from engine.broker.snapshots.broker_snapshot import Snapshots
from engine.protocol.bodies.stats import BrokerSnapshot
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.store.reading.message_search import StoreTimes
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import COMMITTING, Peer, RunningBroker, eventually


async def ask(peer: Peer, since: str | None = None) -> tuple[BrokerSnapshot, Command]:
    fields = {} if since is None else {"since": since}
    answer = await peer.ask(RequestCode.SIGNALBOX_COLLECTOR_SNAPSHOT, fields)
    assert answer.code == ResponseCode.SUCCESS
    is_full = answer.fields["isFull"] == "true"
    return BrokerSnapshot.read(answer.fields["version"], is_full, bytes(answer.body)), answer


async def settled(peer: Peer, broker: RunningBroker) -> BrokerSnapshot:
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())
    return (await ask(peer))[0]


def section(snapshot: BrokerSnapshot, name: str) -> dict[str, Any]:
    found: dict[str, Any] = snapshot.sections.get(name, {})
    return found


async def test_the_first_snapshot_has_everything(broker: RunningBroker, peer: Peer) -> None:
    for _ in range(3):
        await peer.send("orders", queue_id=1)
    await peer.heartbeat("readers", "orders")
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())
    await peer.pull("orders", 0, queue_id=1, consumer_group="readers", sys_flag=COMMITTING, commit_offset=1)
    full = await settled(peer, broker)
    assert full.is_full
    assert full.sections["broker"]["name"] == "broker-a"
    assert full.sections["topics"]["orders"]["queues"] == [[1, 0, 3]]
    assert full.sections["topics"]["orders"]["writeQueues"] == 4
    ((client_id, address, _, _),) = full.sections["groups"]["readers"]["members"]
    assert (client_id, address.split(":")[0]) == ("client-1", "127.0.0.1")
    assert full.sections["groups"]["readers"]["subscriptions"] == {"orders": ["*", "TAG"]}
    ((queue_id, committed, oldest_ms),) = full.sections["offsets"]["orders@readers"]
    assert (queue_id, committed) == (1, 1)
    assert oldest_ms == broker.inner.core.store.search.store_time_at("orders", 1, 1)
    assert full.sections["ha"] == {"role": "ASYNC_MASTER", "permission": 6}
    assert 0 <= full.sections["disk"]["usageRatio"] <= 1
    assert set(full.sections["rates"]) == {"put", "got", "pullsFound", "pullsMissed"}


@pytest.mark.parametrize("is_plain", [True, False])
async def test_who_sends_is_told_with_the_topic(broker: RunningBroker, peer: Peer, is_plain: bool) -> None:
    """By both handlers of sends. The first send makes the topic."""
    await peer.send("orders", producer_group="first")
    before = await settled(peer, broker)
    assert before.sections["topics"]["orders"]["senders"] == []
    if is_plain:
        await peer.send("orders", producer_group="shop")
    else:
        await peer.send("orders", producer_group="shop", properties={"DELAY": "1"})
    change, _ = await ask(peer, before.version)
    assert section(change, "topics")["orders"]["senders"] == ["shop"]


async def test_a_quiet_broker_answers_in_bytes(broker: RunningBroker, peer: Peer) -> None:
    full = await settled(peer, broker)
    change, answer = await ask(peer, full.version)
    # What flushing and rates still say after the start is a line; then there is nothing at all.
    assert len(answer.body) < 200
    assert not change.is_full
    assert not change.sections.keys() & {"topics", "groups", "offsets", "broker"}
    again, answer = await ask(peer, change.version)
    assert (again.version, len(answer.body)) == (change.version, 0)


async def test_a_broker_that_refuses_writes_says_so(broker: RunningBroker, peer: Peer) -> None:
    full = await settled(peer, broker)
    await peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=b"brokerPermission=4")
    change, _ = await ask(peer, full.version)
    assert section(change, "ha")["permission"] == 4


async def test_only_what_changed_is_told(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    await peer.send("others")
    await peer.heartbeat("readers", "orders")
    full = await settled(peer, broker)
    await peer.send("orders")
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())
    change, _ = await ask(peer, full.version)
    assert section(change, "topics").keys() == {"orders"}
    assert section(change, "groups") == {}
    assert section(change, "offsets") == {}


async def test_a_changed_topic_is_told_without_the_others(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    await peer.send("others")
    full = await settled(peer, broker)
    config = broker.inner.core.tables.topics.get("others")
    assert config is not None
    broker.inner.core.tables.topics.put(replace(config, perm=4), 1)
    change, _ = await ask(peer, full.version)
    assert {name: topic["perm"] for name, topic in section(change, "topics").items()} == {"others": 4}


async def test_a_message_for_a_group_that_had_read_all_is_its_oldest_unread(
    broker: RunningBroker, peer: Peer
) -> None:
    await peer.send("orders")
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())
    await peer.pull("orders", 0, sys_flag=COMMITTING, commit_offset=1)
    before = await settled(peer, broker)
    assert before.sections["offsets"]["orders@consumers"] == [[0, 1]]
    await peer.send("orders")
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())
    change, _ = await ask(peer, before.version)
    stored_ms = broker.inner.core.store.search.store_time_at("orders", 0, 1)
    assert section(change, "offsets") == {"orders@consumers": [[0, 1, stored_ms]]}


async def test_an_offset_that_is_not_known_is_absent(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())
    await peer.pull("orders", 0, sys_flag=COMMITTING, commit_offset=-1)
    full = await settled(peer, broker)
    assert "orders@consumers" not in section(full, "offsets")


async def test_what_is_gone_is_told_and_merged_away(broker: RunningBroker, peer: Peer) -> None:
    await peer.send("orders")
    await peer.heartbeat("readers", "orders")
    full = await settled(peer, broker)
    await peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "orders"})
    await peer.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "readers"})
    await peer.ask(RequestCode.UNREGISTER_CLIENT, {"clientID": peer.client_id, "consumerGroup": "readers"})
    change, _ = await ask(peer, full.version)
    assert section(change, "topics")["orders"] is None
    assert section(change, "groups")["readers"] is None
    assert "orders" not in change.onto(full).sections["topics"]


async def test_a_group_whose_last_member_left_has_none(broker: RunningBroker, peer: Peer) -> None:
    await peer.heartbeat("readers", "orders")
    full = await settled(peer, broker)
    await peer.ask(RequestCode.UNREGISTER_CLIENT, {"clientID": peer.client_id, "consumerGroup": "readers"})
    change, _ = await ask(peer, full.version)
    assert section(change, "groups")["readers"] == {"members": []}


async def test_changes_put_together_are_the_whole(broker: RunningBroker, peer: Peer) -> None:
    known = await settled(peer, broker)
    for number in range(5):
        await peer.send(f"topic-{number}", queue_id=number % 4)
        await peer.heartbeat(f"group-{number}", f"topic-{number}")
        await peer.pull(
            f"topic-{number}", 0, consumer_group=f"group-{number}", sys_flag=COMMITTING, commit_offset=number
        )
        known = (await ask(peer, known.version))[0].onto(known)
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())
    known = (await ask(peer, known.version))[0].onto(known)
    whole, _ = await ask(peer)
    for name in ("broker", "topics", "groups", "offsets"):
        assert known.sections[name] == whole.sections[name]


@pytest.mark.parametrize("version", ["", "x", "1-5", "-", "1-" + "9" * 40])
async def test_a_version_of_another_run_gets_everything(
    broker: RunningBroker, peer: Peer, version: str
) -> None:
    answer, _ = await ask(peer, version)
    assert answer.is_full
    assert "broker" in answer.sections


async def test_a_restarted_broker_tells_everything_again(start_broker: StartBroker) -> None:
    first = await start_broker()
    peer = Peer(first.address)
    await peer.send("orders")
    await eventually(lambda: not first.inner.core.store.queues.has_undispatched())
    await peer.pull("orders", 0, sys_flag=COMMITTING, commit_offset=1)
    seen = await settled(peer, first)
    await peer.close()
    await first.stop()
    second = await start_broker()
    peer = Peer(second.address)
    again, _ = await ask(peer, seen.version)
    await peer.close()
    assert again.is_full
    assert again.sections["offsets"]["orders@consumers"] == [[0, 1]]
    assert again.sections["topics"]["orders"]["queues"] == [[0, 0, 1]]


async def test_store_times_beyond_the_budget_come_with_later_answers(
    broker: RunningBroker, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "MAX_READS", 2)
    for topic in ("one", "two", "three"):
        await peer.send(topic)
        broker.inner.core.tables.offsets.commit(topic, "readers", 0, 0)
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())
    known, _ = await ask(peer)
    lengths = [sorted(len(queues[0]) for queues in known.sections["offsets"].values())]
    for _ in range(2):
        known = (await ask(peer, known.version))[0].onto(known)
        lengths.append(sorted(len(queues[0]) for queues in known.sections["offsets"].values()))
    assert lengths == [[2, 3, 3], [3, 3, 3], [3, 3, 3]]


async def test_store_times_are_never_read_on_the_loop(
    broker: RunningBroker, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, threads = StoreTimes.run, []

    def noted(self: StoreTimes) -> list[int]:
        threads.append(threading.get_ident())
        return run(self)

    monkeypatch.setattr(StoreTimes, "run", noted)
    await peer.send("orders")
    broker.inner.core.tables.offsets.commit("orders", "readers", 0, 0)
    full = await settled(peer, broker)
    assert len(full.sections["offsets"]["orders@readers"][0]) == 3
    assert len(threads) == 1
    assert threading.get_ident() not in threads
    # The time is known now: nothing is read again.
    await ask(peer)
    assert len(threads) == 1


async def test_a_topic_that_was_made_again_has_none_of_its_old_queues(
    broker: RunningBroker, peer: Peer
) -> None:
    for queue_id in range(3):
        await peer.send("orders", queue_id=queue_id)
    known = await settled(peer, broker)
    assert len(known.sections["topics"]["orders"]["queues"]) == 3
    await peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "orders"})
    await peer.send("orders", queue_id=1)
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())
    change, _ = await ask(peer, known.version)
    ((queue_id, _, _),) = section(change, "topics")["orders"]["queues"]
    assert queue_id == 1


# -- the work that it is ------------------------------------------------------------------------------------


class Looks:
    """How many topics, groups and pairs a snapshot looks at."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts = {"_put_topics": 0, "_put_groups": 0, "_offset_changes": 0}
        self.largest = 0
        for name in self.counts:
            monkeypatch.setattr(Snapshots, name, self._noting(name, getattr(Snapshots, name)))

    def _noting(self, name: str, real: Callable[..., Any]) -> Any:
        def look(snapshots: Snapshots, *values: Any) -> Any:
            count = (
                len(values[0]) if name != "_offset_changes" else sum(len(pairs) for _, pairs, _ in values[0])
            )
            self.counts[name] += count
            self.largest = max(self.largest, count)
            return real(snapshots, *values)

        return look

    def take(self) -> tuple[int, ...]:
        taken = tuple(self.counts.values())
        self.counts = dict.fromkeys(self.counts, 0)
        return taken


async def many(peer: Peer, broker: RunningBroker, count: int) -> None:
    """As many topics, each with a message and a group that has not read it."""
    for number in range(count):
        broker.inner.core.tables.groups.find_or_create(f"g{number}", True, 1)
        await peer.send(f"t{number}")
        broker.inner.core.tables.offsets.commit(f"t{number}", f"g{number}", 0, 0)
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())


async def test_the_work_of_a_snapshot_follows_what_changed(
    broker: RunningBroker, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await many(peer, broker, 40)
    looks = Looks(monkeypatch)
    version = (await ask(peer))[0].version
    topics, groups, pairs = looks.take()
    # Pairs twice: before their store times were known, and after.
    assert (topics, groups, pairs) == (
        len(broker.inner.core.tables.topics),
        len(broker.inner.core.tables.groups),
        80,
    )
    version = (await ask(peer, version))[0].version
    assert looks.take() == (0, 0, 0)
    broker.inner.core.tables.offsets.commit("t7", "g7", 0, 1)
    version = (await ask(peer, version))[0].version
    assert looks.take() == (0, 0, 1)
    await peer.send("t8")
    await eventually(lambda: not broker.inner.core.store.queues.has_undispatched())
    version = (await ask(peer, version))[0].version
    assert looks.take() == (1, 0, 1)
    broker.inner.core.tables.groups.find_or_create("new", True, 1)
    await ask(peer, version)
    assert looks.take() == (0, 1, 0)


async def test_no_slice_looks_at_more_than_its_share(
    broker: RunningBroker, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SLICE", 8)
    await many(peer, broker, 40)
    looks = Looks(monkeypatch)
    assert len((await ask(peer))[0].sections["offsets"]) == 40
    assert looks.largest == 8


async def test_what_a_collector_left_half_done_is_done_for_the_next(
    broker: RunningBroker, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "SLICE", 4)
    made: list[Snapshots] = []
    refresh = Snapshots.refresh

    def noted(self: Snapshots, now_ms: int) -> Iterator[None]:
        made.append(self)
        return refresh(self, now_ms)

    monkeypatch.setattr(Snapshots, "refresh", noted)
    await ask(peer)
    await many(peer, broker, 40)
    left = refresh(made[0], 1)
    for _ in range(3):
        next(left)
    full, _ = await ask(peer)
    assert len(full.sections["offsets"]) == 40
    assert {f"t{number}" for number in range(40)} <= full.sections["topics"].keys()
