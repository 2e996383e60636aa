"""Plans are pure: from a cluster's state to sentences and steps, in the order that keeps messages safe."""

from __future__ import annotations

import pytest

from clusters.provisioning.layout import group_names, lay_out
from clusters.provisioning.plans import restarts, sizes
from clusters.provisioning.plans.plan import ClusterState, GroupState, MemberState, Plan, ServerState

SERVER = ServerState("namesrv-1", 1, "h1", "10.0.0.1:9876")


def _group(name: str, members: int, master: int = 0) -> GroupState:
    listed = tuple(
        MemberState(f"{name}-{number}", number, f"h{number}", f"10.0.0.{number}:10911")
        for number in range(members)
    )
    return GroupState(name, master, listed)


def _state(*groups: GroupState) -> ClusterState:
    return ClusterState("orders", (SERVER,), groups)


def _kinds(plan: Plan) -> list[str]:
    return [f"{step.kind} {step.arguments.get('process') or step.arguments.get('group') or ''}".strip()
            for _, step in plan.steps]  # fmt: skip


def test_a_cluster_is_declared_then_name_servers_masters_slaves_then_a_gate() -> None:
    layout = lay_out(["h1", "h2"], name_servers=1, group_names=group_names(2), slaves=1)
    plan = sizes.create("orders", layout, "fast")
    kinds = [sorted({step.kind for step in steps}) for steps in plan.positions]
    assert kinds == [["declare"], ["reserve_ports"], ["start"], ["start"], ["start"], ["gate"]]
    assert {step.host for step in plan.positions[1]} == {"h1", "h2"}
    assert [step.arguments["process"] for step in plan.positions[3]] == ["broker-a-0", "broker-b-0"]
    assert any("Start broker-a-1 on h2 as a slave." in sentence for sentence in plan.sentences)


def test_slaves_restart_before_their_master_which_hands_over_first() -> None:
    plan = restarts.rolling_restart(_state(_group("broker-a", 3)), ["broker-a"], name_servers=False)
    assert _kinds(plan) == [
        "restart broker-a-1",
        "gate broker-a",
        "restart broker-a-2",
        "gate broker-a",
        "promote broker-a",
        "gate broker-a",
        "restart broker-a-0",
        "gate broker-a",
    ]
    assert all(len(steps) == 1 for steps in plan.positions), "one broker at a time"


def test_a_master_alone_is_restarted_with_a_warning() -> None:
    plan = restarts.rolling_restart(_state(_group("broker-a", 1)), ["broker-a"], name_servers=False)
    assert _kinds(plan) == ["restart broker-a-0", "gate broker-a"]
    assert "takes no writes" in plan.warnings[0]


def test_after_a_promotion_the_new_master_comes_last() -> None:
    plan = restarts.rolling_restart(_state(_group("broker-a", 2, master=1)), ["broker-a"], name_servers=False)
    assert [kind for kind in _kinds(plan) if kind.startswith("restart")] == [
        "restart broker-a-0",
        "restart broker-a-1",
    ]


def test_a_group_is_removed_only_after_it_refuses_writes_and_is_consumed() -> None:
    plan = sizes.shrink(_state(_group("broker-a", 2)), _group("broker-a", 2), ignore_groups=[], data="trash")
    assert [step.kind for _, step in plan.steps] == [
        "drain_group",
        "write_permission",
        "await_consumption",
        "remove",
        "remove",
        "forget",
    ]
    assert plan.positions[3][0].arguments["process"] == "broker-a-1", "slaves go first"


def test_live_settings_restart_nobody_and_others_do() -> None:
    state = _state(_group("broker-a", 1))
    live = restarts.configure(state, {}, {"maxMessageSize": "1000"}, {}, ["broker-a-0"])
    assert [step.kind for _, step in live.steps] == ["set_overrides", "apply_live", "read_back"]
    fixed = restarts.configure(state, {}, {"flushDiskType": "SYNC_FLUSH"}, {}, ["broker-a-0"])
    assert [step.kind for _, step in fixed.steps] == ["set_overrides", "restart", "gate", "read_back"]
    assert "flushDiskType: (default) → SYNC_FLUSH, with a restart." in fixed.sentences


def test_deleting_keeps_what_a_restore_needs_before_anything_stops() -> None:
    plan = sizes.delete(_state(_group("broker-a", 2)), keep_data=False)
    assert plan.positions[0][0].kind == "take_keepsake"
    assert plan.positions[-1][0].kind == "mark_deleted"
    assert plan.warnings == ["Every message of the cluster is lost."]
    labels = [step.arguments["process"] for _, step in plan.steps if step.kind == "remove"]
    assert labels == ["broker-a-1", "broker-a-0", "namesrv-1"]


@pytest.mark.parametrize("has_data", [True, False])
def test_a_restore_says_what_happens_to_offsets(has_data: bool) -> None:
    layout = {
        "name_servers": [{"number": 1, "host": "h1", "port": 9876}],
        "groups": [
            {"name": "broker-a", "master": 1, "members": [{"member": 0, "host": "h1", "port": 10911}]}
        ],
    }
    plan = sizes.restore("orders", {"layout": layout, "is_data_kept": has_data, "objects": {}})
    assert ("put_back_objects" in {step.kind for _, step in plan.steps}) != has_data
    assert any("offsets" in sentence for sentence in plan.sentences)
    [declare] = [step for _, step in plan.steps if step.kind == "declare"]
    assert declare.arguments["groups"][0]["master"] == (1 if has_data else 0)


def test_an_unclean_promotion_says_what_may_be_lost() -> None:
    plan = restarts.promote(_state(_group("broker-a", 2)), _group("broker-a", 2), 1, unclean=True)
    assert "lost" in plan.warnings[0]


def test_new_name_servers_restart_the_brokers_that_were_there() -> None:
    layout = lay_out(["h1"], name_servers=1, group_names=[], slaves=0, first_name_server=2)
    plan = sizes.grow(_state(_group("broker-a", 1)), layout.name_servers, [])
    assert "start namesrv-2" in _kinds(plan)
    assert _kinds(plan)[-2:] == ["restart broker-a-0", "gate broker-a"]


def test_nothing_to_repair_is_an_empty_plan() -> None:
    plan = restarts.repair(_state(_group("broker-a", 1)), [], [])
    assert plan.positions == [] and plan.sentences == ["Nothing is to be repaired."]
