"""The order of a roll-back is pure: from planned steps and how far they got to what is undone, and when."""

from __future__ import annotations

from django.utils import timezone

from clusters.models import Step
from clusters.provisioning.kinds import kinds
from clusters.provisioning.layout import NameServerLayout
from clusters.provisioning.plans import restarts, sizes
from clusters.provisioning.plans.plan import ClusterState, GroupState, MemberState, Plan, ServerState
from clusters.provisioning.undoing import undo_order

MEMBERS = tuple(MemberState(f"broker-a-{n}", n, f"h{n}", f"10.0.0.{n}:10911") for n in range(2))
STATE = ClusterState(
    "orders", (ServerState("namesrv-1", 1, "h0", "10.0.0.1:9876"),), (GroupState("broker-a", 0, MEMBERS),)
)


def _undone(plan: Plan, last_begun: int) -> list[str]:
    """What is undone, as kind and process, when the plan came as far as that position."""
    steps = [
        Step(position=position, kind=spec.kind, arguments=spec.arguments, state="waiting")
        for position, spec in plan.steps
    ]
    for step in steps:
        if step.position <= last_begun:
            step.state, step.started_at = "done", timezone.now()
    order = undo_order(steps, kinds.undoable)
    return [f"{step.kind} {step.arguments.get('process', '')}".strip() for listed in order for step in listed]


def test_a_release_is_set_back_before_brokers_restart_and_each_is_behind_its_gate() -> None:
    plan = restarts.upgrade(STATE, "0.2.0", "builtin")
    assert _undone(plan, len(plan.positions) - 1) == [
        "set_release",
        "restart broker-a-0",
        "gate",
        "promote",
        "gate",
        "restart broker-a-1",
        "gate",
        "restart namesrv-1",
    ]


def test_a_gate_that_was_not_reached_is_behind_the_restart_that_failed() -> None:
    plan = restarts.upgrade(STATE, "0.2.0", "builtin")
    kinds_in_order = [spec.kind for _, spec in plan.steps]
    failed_at = kinds_in_order.index("restart", kinds_in_order.index("restart") + 1)
    assert _undone(plan, failed_at) == ["set_release", "restart broker-a-1", "gate", "restart namesrv-1"]


def test_brokers_forget_a_new_name_server_once_it_is_gone() -> None:
    plan = sizes.grow(STATE, [NameServerLayout(2, "h1")], [])
    assert _undone(plan, len(plan.positions) - 1)[:3] == ["start namesrv-2", "declare", "restart broker-a-0"]


def test_the_gate_of_a_new_cluster_is_not_waited_for_when_its_brokers_are_taken_away() -> None:
    plan = Plan("create", "")
    for kind in ("declare", "start", "gate"):
        plan.then([restarts.StepSpec(kind, kind)])
    assert _undone(plan, 2) == ["start", "declare"]
