"""Looking through messages of a real broker: order over queues, budgets, going on, what cannot be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clusters.gateway.addressing import ClusterAddress, address_of
from clusters.gateway.connections import ask
from clusters.gateway.messages import (
    by_key,
    by_offset_id,
    by_unique_key,
    ends_of,
    find_stretches,
    follow,
    scan_stretches,
)
from clusters.gateway.scanning import Budget, Stretch, Wanted
from clusters.gateway.sends import Fate, Outgoing, new_msg_ids, send, send_many
from clusters.gateway.traces import read_trace
from clusters.models import Cluster
from console.core.problems import Problem
from engine.protocol.message_ids import offset_msg_id

ALL = Budget(10_000, 100_000, 20)


@pytest.fixture
def address(attached: Cluster) -> ClusterAddress:
    return address_of(attached)


def make_topic(address: ClusterAddress, topic: str, count: int, **more: object) -> None:
    """That many messages, numbered, in turn over four queues."""
    for first in range(0, count, 200):
        messages = [
            Outgoing(topic, b"number %d" % n, tags="odd" if n % 2 else "even", keys=(f"k{n}",))
            for n in range(first, min(count, first + 200))
        ]
        for sent in send_many(address, messages):
            assert sent.fate is Fate.SENT, sent


def numbers(messages: list[object]) -> list[int]:
    return [int(message.body.split()[1]) for message in messages]  # type: ignore[attr-defined]


@pytest.mark.parametrize("backwards", [False, True])
def test_a_scan_in_small_steps_sees_everything_once(
    address: ClusterAddress, fresh: Callable[[str], str], backwards: bool
) -> None:
    topic = fresh("stepped")
    make_topic(address, topic, 150)
    left = find_stretches(address, [topic], 0, None)
    assert sum(stretch.count for stretch in left) == 150
    seen: list[int] = []
    times: list[int] = []
    steps = 0
    while left:
        step = scan_stretches(address, left, Wanted(), Budget(1000, 37, 20), backwards=backwards)
        seen += numbers(step.found)  # type: ignore[arg-type]
        times += [message.stored_ms for message in step.found]
        assert step.scanned == len(step.found) <= 37
        left, steps = step.left, steps + 1
    assert (sorted(seen), steps) == (list(range(150)), 5)
    assert times == sorted(times, reverse=backwards)


def test_what_is_wanted_is_found_and_the_rest_counted(
    address: ClusterAddress, fresh: Callable[[str], str]
) -> None:
    topic = fresh("wanted")
    make_topic(address, topic, 60)
    stretches = find_stretches(address, [topic], 0, None)
    odd = scan_stretches(address, stretches, Wanted(tag="odd"), ALL)
    assert (len(odd.found), odd.scanned, odd.stopped, odd.left) == (30, 60, "end", [])
    text = scan_stretches(address, stretches, Wanted(body="number 5"), ALL)
    assert sorted(numbers(text.found)) == [5, *range(50, 60)]  # type: ignore[arg-type]
    few = scan_stretches(address, stretches, Wanted(tag="even"), Budget(3, 1000, 20))
    assert (len(few.found), few.stopped) == (3, "found_enough")
    assert sum(stretch.count for stretch in few.left) == 60 - few.scanned
    none = scan_stretches(address, stretches, Wanted(), Budget(10, 10, 0))
    assert (none.found, none.stopped) == ([], "time_budget")


def test_a_queue_that_cannot_be_read_is_told_and_stays(
    address: ClusterAddress, fresh: Callable[[str], str]
) -> None:
    topic = fresh("gone")
    make_topic(address, topic, 8)
    stretches = find_stretches(address, [topic], 0, None)
    beyond = Stretch(topic, stretches[0].broker, 0, 1_000, 1_010)
    scanned = scan_stretches(address, [beyond, *stretches[1:]], Wanted(), ALL)
    assert (scanned.stopped, scanned.left) == ("problem", [beyond])
    assert "nothing is kept at 1000" in scanned.problems[0]


def test_messages_are_found_by_time_key_and_id(address: ClusterAddress, fresh: Callable[[str], str]) -> None:
    topic = fresh("found")
    make_topic(address, topic, 20)
    everything = scan_stretches(address, find_stretches(address, [topic], 0, None), Wanted(), ALL).found
    moment = everything[10].stored_ms
    later = find_stretches(address, [topic], moment, None)
    assert sum(stretch.count for stretch in later) == sum(m.stored_ms >= moment for m in everything)
    before = find_stretches(address, [topic], 0, moment)
    got = scan_stretches(address, before, Wanted(to_ms=moment), ALL).found
    assert len(got) == sum(message.stored_ms < moment for message in everything)
    assert by_offset_id(address, everything[3].offset_id) == everything[3]
    assert by_unique_key(address, topic, everything[3].msg_id) == [everything[3]]
    page = by_key(address, topic, "k7")
    assert numbers(page.messages) == [7]  # type: ignore[arg-type]
    assert (page.following, page.is_cut) == (None, False)


@pytest.mark.parametrize("host", [("127.0.0.1", 22), ("10.0.0.1", 6379), ("169.254.169.254", 80)])
def test_a_forged_id_is_refused_before_anything_is_dialled(
    address: ClusterAddress, monkeypatch: pytest.MonkeyPatch, host: tuple[str, int]
) -> None:
    dialled: list[object] = []
    monkeypatch.setattr("clusters.gateway.dialing.checked_ip", lambda *where: dialled.append(where))
    with pytest.raises(Problem) as caught:
        by_offset_id(address, offset_msg_id(host, 0))
    assert (caught.value.status, caught.value.code, dialled) == (400, "message_id", [])


def test_what_comes_is_followed_and_filtered(address: ClusterAddress, fresh: Callable[[str], str]) -> None:
    topic = fresh("tailed")
    make_topic(address, topic, 4)
    ends = ends_of(address, topic)
    nothing, ends, _ = follow(address, topic, ends, tag="*", most=10, wait_s=0.1)
    assert nothing == []
    make_topic(address, topic, 6)
    seen: list[int] = []
    while len(seen) < 3:
        some, ends, problems = follow(address, topic, ends, tag="odd", most=10, wait_s=5)
        assert (bool(some), problems) == (True, [])
        seen += numbers(some)  # type: ignore[arg-type]
    assert sorted(seen) == [1, 3, 5]
    assert follow(address, topic, ends, tag="*", most=10, wait_s=0)[0] == []


def test_each_way_of_sending_says_what_the_broker_said(
    address: ClusterAddress, fresh: Callable[[str], str]
) -> None:
    topic = fresh("sent")
    plain = send(address, Outgoing(topic, b"x", tags="t", keys=("a", "b"), properties={"p": "1"}))
    assert (plain.fate, plain.status, plain.topic) == (Fate.SENT, "SEND_OK", topic)
    stored = by_offset_id(address, plain.offset_id)
    assert (stored.queue, stored.queue_offset, stored.msg_id) == (
        plain.queue,
        plain.queue_offset,
        plain.msg_id,
    )
    assert (stored.tags, stored.keys, stored.properties["p"]) == ("t", ["a", "b"], "1")
    ordered = {send(address, Outgoing(topic, b"x", sharding_key="customer")).queue for _ in range(5)}
    assert len(ordered) == 1
    [msg_id] = new_msg_ids(address, 1)
    half = send(address, Outgoing(topic, b"committed", is_transactional=True, msg_id=msg_id))
    assert (half.fate, half.transaction, half.msg_id) == (Fate.SENT, "COMMIT", msg_id)
    later = send(address, Outgoing(topic, b"x", delay_ms=60_000))
    assert (later.fate, bool(later.recall_handle)) == (Fate.SENT, True)
    refused = send(address, Outgoing("SCHEDULE_TOPIC_XXXX", b"x"))
    assert refused.fate is Fate.REFUSED and refused.detail


def test_a_send_to_a_broker_that_is_not_registered_is_unsure_not_lost(attached: Cluster) -> None:
    attached.broker_addresses = []
    sent = send(address_of(attached), Outgoing("anything", b"x"))
    assert (sent.fate, "cannot be reached" in sent.detail) == (Fate.UNSURE, True)


def test_a_message_that_nobody_traced_is_an_answer(
    address: ClusterAddress, fresh: Callable[[str], str]
) -> None:
    sent = send(address, Outgoing(fresh("untraced"), b"x"))
    trace = read_trace(address, sent.msg_id)
    assert (trace.sends, trace.tries) == ((), ())
    assert any("not traced" in doubt for doubt in trace.doubts)


def test_kept_producers_are_shared(address: ClusterAddress) -> None:
    async def same(admin):  # type: ignore[no-untyped-def]
        return dict(admin.companions)

    new_msg_ids(address, 1)
    assert ask(address, same).keys() == {"producer"}
    first = ask(address, same)["producer"]
    new_msg_ids(address, 1)
    assert ask(address, same)["producer"] is first
