"""A thousand stories of crashes, cuts and promotions: nothing acknowledged and nothing read is ever lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from engine.broker.replication import election
from engine.broker.replication.group_state import GroupState, StaleEpoch
from engine.broker.replication.in_sync import InSyncTable
from tests.engine.broker.replication import simulated
from tests.engine.broker.replication.simulated import Broken, Group, Node

_STEPS = (
    *(("send", 10), ("copy", 24), ("store_set", 10), ("plan", 6), ("connect", 8)),
    *(("promote", 0.4), ("resume", 1), ("crash", 0.3), ("start", 3), ("part", 0.3), ("mend", 2), ("wait", 1)),
)
_NAMES, _WEIGHTS = zip(*_STEPS, strict=True)
_WILD = [weight * 4 if name in ("promote", "crash", "part") else weight for name, weight in _STEPS]
_STORIES = [(size, minimum) for size in (2, 3, 5) for minimum in (1, 2, 3) if minimum <= size]


def _tell(size: int, min_in_sync: int, seed: int, weights: Sequence[float] = _WEIGHTS) -> Group:
    group = Group(size, min_in_sync, seed)
    if seed % 2:  # half of the stories begin with a group that is whole
        _work(group, 40)
    for name in group.draw.choices(_NAMES, weights, k=400):
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
    acknowledged = reigns = 0
    for seed in range(150):
        group = _tell(size, min_in_sync, seed)
        acknowledged += len(group.acknowledged)
        reigns += max(node.state.epoch for node in group.nodes)
        _tell(size, min_in_sync, seed, _WILD)
    assert acknowledged > 100 and reigns > 300, "the stories are about something"


def _is_caught(*groups: tuple[int, int]) -> bool:
    """Whether some story tells of a loss."""
    for seed in range(3_000):
        for size, min_in_sync in groups:
            try:
                _tell(size, min_in_sync, seed, _WILD if seed % 4 < 2 else _WEIGHTS)
            except (Broken, StaleEpoch):
                return True
    return False


def test_too_few_promises_lose_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "needed_promises", lambda member_count, min_in_sync: 1)
    assert _is_caught((3, 2))


def test_a_list_of_members_that_too_few_know_loses_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    class Credulous(InSyncTable):
        """Takes the last master's wish for a fact."""

        def __init__(self, member_id: int, state: GroupState, min_in_sync: int) -> None:
            believed = replace(state.in_sync, settled=tuple(state.members))
            super().__init__(member_id, replace(state, in_sync=believed), min_in_sync)

    monkeypatch.setattr(simulated, "InSyncTable", Credulous)
    assert _is_caught((5, 2), (3, 2))


def test_a_promise_that_is_forgotten_loses_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        simulated, "promise", lambda state, epoch, reign: replace(state, epoch=epoch, reign=reign)
    )
    monkeypatch.setattr(Node, "leave_role", lambda node: None)
    assert _is_caught((3, 2))


@pytest.mark.parametrize("seed", range(20))
def test_a_group_that_is_whole_again_has_a_master_with_everything(seed: int) -> None:
    group = _tell(3, 2, seed)
    _heal(group)
    master = max((node for node in group.nodes if node.table is not None), key=lambda node: node.state.epoch)
    assert master.table is not None and master.table.is_enough()
    for offset, entry in group.acknowledged.items():
        assert master.log[offset] == entry
