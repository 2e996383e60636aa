"""A thousand stories of crashes, cuts and promotions: nothing acknowledged and nothing read is ever lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from engine.broker.failover import election
from engine.broker.failover.group_state import GroupState, StaleEpoch
from engine.broker.replication.in_sync_set import InSyncTable
from tests.engine.broker.replication import simulated
from tests.engine.broker.replication.simulated import Broken, Group, Node

_STEPS = (
    *(("send", 10), ("copy", 24), ("store_set", 10), ("plan", 6), ("connect", 8)),
    *(("promote", 0.4), ("resume", 1), ("crash", 0.3), ("start", 3), ("part", 0.3), ("mend", 2), ("wait", 1)),
)
_NAMES, _WEIGHTS = zip(*_STEPS, strict=True)
_WILD = [weight * 4 if name in ("promote", "crash", "part") else weight for name, weight in _STEPS]
_MISFORTUNE = [*_NAMES, "lose_disk"]
_STORIES = [(size, minimum) for size in (2, 3, 5) for minimum in (1, 2, 3) if minimum <= size]


def _tell(size: int, min_in_sync: int, seed: int, weights: Sequence[float] = _WEIGHTS) -> Group:
    group = Group(size, min_in_sync, seed)
    if seed % 2:  # half of the stories begin with a group that is whole
        _work(group, 40)
    for name in group.draw.choices(_NAMES, weights, k=400):
        getattr(group, name)()
    return group


def _tell_of_lost_disks(size: int, min_in_sync: int, seed: int) -> Group:
    group = Group(size, min_in_sync, seed)
    _work(group, 40)
    for name in group.draw.choices(_MISFORTUNE, [*(_WILD if seed % 4 == 0 else _WEIGHTS), 2], k=400):
        getattr(group, name)()
    return group


def _tell_of_lost_fronts(size: int, min_in_sync: int, seed: int) -> Group:
    """Messages expire, and segments that have not are missing at some member."""
    group = Group(size, min_in_sync, seed)
    group.reserved_ms = 10_000
    _work(group, 40)
    weights = [*(_WILD if seed % 4 == 0 else _WEIGHTS), 6, 8, 2]
    for name in group.draw.choices([*_NAMES, "expire", "hear_start", "lose_front"], weights, k=500):
        getattr(group, name)()
    return group


def _work(group: Group, rounds: int) -> None:
    for _ in range(rounds):
        for name in ("connect", "copy", "store_set", "plan"):
            getattr(group, name)()


def _heal(group: Group) -> None:
    """Everything is up and connected: a master comes, and has all."""
    group.cut.clear()
    for node in group.nodes:
        node.is_up = True
    for _ in range(4_000):
        _work(group, 1)
        newest = max(node.state.epoch for node in group.nodes)
        if not any(node.table is not None and node.state.epoch == newest for node in group.nodes):
            group.promote()


@pytest.mark.parametrize(("size", "min_in_sync"), _STORIES)
def test_nothing_acknowledged_or_read_is_lost(size: int, min_in_sync: int) -> None:
    acknowledged = epochs = 0
    for seed in range(150):
        group = _tell(size, min_in_sync, seed)
        acknowledged += len(group.acknowledged)
        epochs += max(node.state.epoch for node in group.nodes)
        _tell(size, min_in_sync, seed, _WILD)
    assert acknowledged > 100 and epochs > 300, "the stories are about something"


@pytest.mark.parametrize(("size", "min_in_sync"), [story for story in _STORIES if story[1] > 1])
def test_nothing_is_lost_with_fewer_disks_than_hold_it(size: int, min_in_sync: int) -> None:
    acknowledged = lost = 0
    for seed in range(150):
        group = _tell_of_lost_disks(size, min_in_sync, seed)
        acknowledged, lost = acknowledged + len(group.acknowledged), lost + group.lost_disks
    assert acknowledged > 100 and lost > 100, "the stories are about something"


@pytest.mark.parametrize(("size", "min_in_sync"), [story for story in _STORIES if story[1] > 1])
def test_nothing_unexpired_is_lost_with_fewer_fronts_than_hold_it(size: int, min_in_sync: int) -> None:
    acknowledged = lost = started = 0
    for seed in range(150):
        group = _tell_of_lost_fronts(size, min_in_sync, seed)
        acknowledged, lost = acknowledged + len(group.acknowledged), lost + group.lost_fronts
        started += any(node.state.start_offset for node in group.nodes)
    assert acknowledged > 100 and lost > 80 and started > 10, "the stories are about something"


def _is_front_caught(size: int, min_in_sync: int) -> bool:
    for seed in range(1_500):
        try:
            _tell_of_lost_fronts(size, min_in_sync, seed)
        except Broken:
            return True
    return False


def test_an_election_that_looks_at_log_ends_alone_loses_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "front_loss", lambda member, votes, members: None)
    assert _is_front_caught(3, 2)


def test_a_member_that_does_not_know_what_it_lacks_loses_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated, "missing_from", lambda *state, **known: None)
    assert _is_front_caught(3, 2)


def _is_caught(size: int, min_in_sync: int) -> bool:
    """Whether some story tells of a loss."""
    for seed in range(3_000):
        try:
            _tell(size, min_in_sync, seed, _WILD if seed % 4 < 2 else _WEIGHTS)
        except (Broken, StaleEpoch):
            return True
    return False


def test_too_few_promises_lose_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "needed_promises", lambda member_count, min_in_sync: 1)
    assert _is_caught(3, 2)


def _trap_of_the_wish() -> Group:
    """0 died with a wish that nobody but 3 had heard: that 3 should be a member. It resumes with 3, cut off
    from 1 and 2, who elect one of theirs without them."""
    group = Group(4, 2, 1)
    first, second, third, late = group.nodes
    late.is_up = False
    assert first.table is not None
    while set(first.table.current.ids) != {0, 1, 2}:
        _work(group, 1)
    group.cut = {frozenset((mine, other)) for mine in (0, 3) for other in (1, 2)}
    late.is_up = True
    while late.following is None:
        group.connect()
    assert set(first.state.members) == {0, 1, 2, 3} and set(second.state.members) == {0, 1, 2}
    first.leave_role()
    late.leave_role()
    for _ in range(300):
        group.resume()
        group.send()
        _work(group, 1)
    for _ in range(50):
        group.promote()
    assert any(node.table is not None for node in (second, third)), "theirs is a clean election"
    return group


def test_a_list_of_members_that_too_few_know_is_not_believed() -> None:
    assert not _trap_of_the_wish().acknowledged


def test_a_list_of_members_that_too_few_know_loses_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    class Credulous(InSyncTable):
        """Takes the last master's wish for a fact."""

        def __init__(self, member_id: int, state: GroupState, min_in_sync: int) -> None:
            believed = replace(state.in_sync, settled=tuple(state.members))
            super().__init__(member_id, replace(state, in_sync=believed), min_in_sync)

    monkeypatch.setattr(simulated, "InSyncTable", Credulous)
    with pytest.raises(Broken, match="is master without"):
        _trap_of_the_wish()


def test_a_promise_that_is_forgotten_loses_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        simulated, "promise", lambda state, epoch, term_id: replace(state, epoch=epoch, term_id=term_id)
    )
    monkeypatch.setattr(Node, "leave_role", lambda node: None)
    assert _is_caught(3, 2)


def _trap_of_the_emptied(*, copied_again: int) -> Group:
    """0 dropped 2 from the set and acknowledged with 1, which came back empty and copied some of it again;
    then 0 died, and 2 may not lead with such a witness."""
    group = Group(3, 2, 1)
    first, second, third = group.nodes
    assert first.table is not None
    while set(first.table.current.ids) != {0, 1, 2}:
        _work(group, 1)
    third.is_up = False
    group.now_ms += 20_000
    while set(first.table.current.ids) != {0, 1}:
        _work(group, 1)
    while len(group.acknowledged) < 8:
        group.send()
        _work(group, 1)
    second.leave_role()
    second.state, second.log = GroupState(), []
    while copied_again and len(second.log) < copied_again:
        _work(group, 1)
    first.is_up, third.is_up = False, True
    for _ in range(200):
        group.promote()
        group.resume()
    return group


@pytest.mark.parametrize("copied_again", [0, 1, 4])
def test_an_emptied_member_is_no_witness(copied_again: int) -> None:
    group = _trap_of_the_emptied(copied_again=copied_again)
    assert not any(node.table is not None for node in group.nodes if node.is_up)


@pytest.mark.parametrize("copied_again", [0, 4])
def test_a_witness_that_lost_its_disk_loses_messages(
    monkeypatch: pytest.MonkeyPatch, copied_again: int
) -> None:
    monkeypatch.setattr(election, "is_complete", lambda vote: True)
    with pytest.raises(Broken, match="is master without"):
        _trap_of_the_emptied(copied_again=copied_again)


@pytest.mark.parametrize("seed", range(20))
def test_a_group_that_is_whole_again_has_a_master_with_everything(seed: int) -> None:
    group = _tell(3, 2, seed)
    _heal(group)
    master = max((node for node in group.nodes if node.table is not None), key=lambda node: node.state.epoch)
    assert master.table is not None and master.table.is_enough()
    for offset, entry in group.acknowledged.items():
        assert master.log[offset] == entry
