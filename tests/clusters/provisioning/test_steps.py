"""Steps: taken once, kept by a lease, refused to whoever lost it; cancel, retry, roll back, approve."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from clusters.actions.operations import (
    do_approve_operation,
    do_cancel_operation,
    do_give_up_operation,
    do_retry_operation,
    do_roll_back_operation,
    do_start_operation,
)
from clusters.models import Cluster, Operation, Step, StepLine
from clusters.provisioning import executor, steps
from clusters.provisioning.plans.plan import Plan, StepSpec
from clusters.provisioning.registry import Later, StepContext, StepFailed, kinds
from clusters.tasks.steps import MOST_AT_ONCE, run_steps
from console.core.actors import Actor
from console.core.problems import Problem

ACTOR = Actor("alice", user_id=1)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def done() -> list[str]:
    return []


@pytest.fixture
def kind(done: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Lets a test say what a kind of step does, for as long as it runs."""
    monkeypatch.setattr(kinds, "_kinds", dict(kinds._kinds))

    def add(name: str, run: Any = None, undo: Any = None) -> None:
        def noted(ctx: StepContext) -> None:
            done.append(f"{name} {ctx.arguments.get('n', '')}".strip())

        def undone(ctx: StepContext) -> None:
            done.append(f"undo {name} {ctx.arguments.get('n', '')}".strip())

        kinds.add(name, run or noted, undo or undone)

    yield add


@pytest.fixture
def cluster(redis: str) -> Cluster:
    return Cluster.objects.create(
        name="c", broker_cluster_name="C", kind="managed", created_at=timezone.now()
    )


def _start(cluster: Cluster, *positions: list[StepSpec], needs_approval: bool = False) -> Operation:
    plan = Plan("test", "A test", ["It is tested."], [list(steps) for steps in positions])
    return do_start_operation(
        cluster, plan, {}, needs_approval=needs_approval, actor=ACTOR, now=timezone.now()
    )


def _spec(kind: str, n: int = 0) -> StepSpec:
    return StepSpec(kind, f"{kind} {n}", None, {"n": n})


def _run(stop: threading.Event | None = None) -> int:
    return executor.run_open_steps(None, "me", stop or threading.Event())


def test_positions_are_done_in_order(cluster: Cluster, kind: Any, done: list[str]) -> None:
    kind("a")
    operation = _start(cluster, [_spec("a", 1), _spec("a", 2)], [_spec("a", 3)], [_spec("a", 4)])
    assert _run() == 4
    assert done == ["a 1", "a 2", "a 3", "a 4"]
    operation.refresh_from_db()
    assert operation.state == "succeeded" and operation.finished_at is not None
    assert operation.revision > 0


def test_many_workers_run_each_step_once(cluster: Cluster, kind: Any) -> None:
    count: dict[int, int] = {}
    lock = threading.Lock()

    def run(ctx: StepContext) -> None:
        with lock:
            count[ctx.step.pk] = count.get(ctx.step.pk, 0) + 1

    kind("a", run)
    _start(cluster, [_spec("a", n) for n in range(12)], [_spec("a", n) for n in range(12)])

    def work() -> None:
        try:
            _run()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _run()
    assert list(count.values()) == [1] * 24


def test_a_lease_that_is_over_is_taken_and_the_old_owner_can_write_nothing(
    cluster: Cluster, kind: Any
) -> None:
    kind("a")
    operation = _start(cluster, [_spec("a")])
    step = operation.steps.get()
    now = timezone.now()
    old = steps.acquire(step, "old", now)
    assert old is not None and steps.acquire(step, "second", now) is None
    step.refresh_from_db()
    assert steps.acquire(step, "early", now + timedelta(seconds=14)) is None
    new = steps.acquire(step, "new", now + timedelta(seconds=16))
    assert new is not None and new.fence == old.fence + 1
    assert not steps.renew(old, now)
    for write in (
        lambda: steps.finish(old, {}, now),
        lambda: steps.fail(old, "no", now),
        lambda: steps.note(old, progress="x"),
        lambda: steps.add_line(old, "x", now),
    ):
        with pytest.raises(steps.LeaseLost):
            write()
    steps.put_back(old, now)
    step.refresh_from_db()
    assert (step.state, step.worker) == ("running", "new")
    assert not StepLine.objects.exists()
    steps.finish(new, {"x": 1}, now)
    step.refresh_from_db()
    assert (step.state, step.result) == ("done", {"x": 1})


def test_a_worker_that_lost_its_lease_stops_before_its_next_side_effect(cluster: Cluster, kind: Any) -> None:
    effects: list[str] = []

    def run(ctx: StepContext) -> None:
        effects.append("before")
        Step.objects.filter(pk=ctx.step.pk).update(fence=99)
        ctx.check(at_once=True)
        effects.append("after")

    kind("a", run)
    operation = _start(cluster, [_spec("a")])
    step = operation.steps.get()
    held = steps.acquire(step, "me", timezone.now())
    assert held is not None
    executor._run(step, held, threading.Event())
    assert effects == ["before"]
    assert Step.objects.get().state == "running", "whoever has it now says how it ends"


def test_a_failed_step_keeps_the_cluster_until_it_is_retried(
    cluster: Cluster, kind: Any, done: list[str]
) -> None:
    tries = iter([True, False])

    def run(ctx: StepContext) -> None:
        if next(tries):
            raise StepFailed("the disk is full")

    kind("a", run)
    kind("b")
    operation = _start(cluster, [_spec("a")], [_spec("b")])
    _run()
    operation.refresh_from_db()
    assert operation.state == "failed" and "the disk is full" in operation.error
    with pytest.raises(Problem) as caught:
        _start(cluster, [_spec("b")])
    assert caught.value.status == 409 and caught.value.extra["operation"] == str(operation.pk)
    do_retry_operation(operation, actor=ACTOR, now=timezone.now())
    _run()
    operation.refresh_from_db()
    assert operation.state == "succeeded" and done == ["b 0"]


def test_rolling_back_undoes_what_was_done_the_last_first(
    cluster: Cluster, kind: Any, done: list[str]
) -> None:
    def broken(ctx: StepContext) -> None:
        raise StepFailed("no")

    kind("a")
    kind("b", broken)
    operation = _start(cluster, [_spec("a", 1)], [_spec("a", 2)], [_spec("b", 3)], [_spec("a", 4)])
    _run()
    do_roll_back_operation(operation, actor=ACTOR, now=timezone.now())
    _run()
    operation.refresh_from_db()
    assert operation.state == "rolled_back"
    assert done == ["a 1", "a 2", "undo b 3", "undo a 2", "undo a 1"]
    assert operation.steps.get(arguments={"n": 4}).state == "skipped"


def test_an_unknown_error_is_the_steps_error(cluster: Cluster, kind: Any) -> None:
    def run(ctx: StepContext) -> None:
        raise ZeroDivisionError("oops")

    kind("a", run)
    operation = _start(cluster, [_spec("a")])
    _run()
    operation.refresh_from_db()
    assert operation.state == "failed" and "ZeroDivisionError: oops" in operation.error


def test_cancelling_before_it_began_leaves_nothing(cluster: Cluster, kind: Any, done: list[str]) -> None:
    kind("a")
    operation = _start(cluster, [_spec("a")], needs_approval=True)
    assert _run() == 0
    do_cancel_operation(operation, actor=ACTOR, now=timezone.now())
    operation.refresh_from_db()
    assert operation.state == "cancelled" and done == []
    _start(cluster, [_spec("a")])


def test_cancelling_in_the_middle_asks_whether_to_go_on_or_back(
    cluster: Cluster, kind: Any, done: list[str]
) -> None:
    def run(ctx: StepContext) -> None:
        do_cancel_operation(ctx.operation, actor=ACTOR, now=timezone.now())
        ctx.check(at_once=True)
        done.append("never")

    kind("a")
    kind("b", run)
    operation = _start(cluster, [_spec("a")], [_spec("b")], [_spec("a", 9)])
    _run()
    operation.refresh_from_db()
    assert operation.state == "failed" and "cancelled when 1 of 3" in operation.error
    assert done == ["a 0"]
    do_give_up_operation(operation, actor=ACTOR, now=timezone.now())
    operation.refresh_from_db()
    assert operation.state == "cancelled"


def test_a_second_person_approves(cluster: Cluster, kind: Any, done: list[str]) -> None:
    kind("a")
    operation = _start(cluster, [_spec("a")], needs_approval=True)
    with pytest.raises(Problem, match="cannot approve"):
        do_approve_operation(operation, actor=ACTOR, now=timezone.now())
    do_approve_operation(operation, actor=Actor("bob", user_id=2), now=timezone.now())
    _run()
    operation.refresh_from_db()
    assert (operation.state, operation.approved_by) == ("succeeded", "bob")


def test_a_step_that_waits_holds_no_worker(cluster: Cluster, kind: Any) -> None:
    def run(ctx: StepContext) -> None:
        raise Later(60, "12 messages are unread")

    kind("a", run)
    operation = _start(cluster, [_spec("a")])
    assert _run() == 1
    step = operation.steps.get()
    assert (step.state, step.progress) == ("waiting", "12 messages are unread")
    assert step.not_before is not None and step.attempts == 0


def test_steps_leave_threads_for_what_pages_wait_for(cluster: Cluster, kind: Any) -> None:
    """An agent has eight; a log tail must not wait for a dozen brokers that start."""
    begun, go_on = threading.Semaphore(0), threading.Event()

    def run(ctx: StepContext) -> None:
        begun.release()
        assert go_on.wait(30)

    kind("a", run)
    operation = _start(cluster, [_spec("a", n) for n in range(MOST_AT_ONCE + 3)])

    def work() -> None:
        try:
            run_steps("")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(MOST_AT_ONCE)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert begun.acquire(timeout=30)
    assert run_steps("") == 0, "it does not wait"
    go_on.set()
    for thread in threads:
        thread.join()
    operation.refresh_from_db()
    assert operation.state == "succeeded", "whoever was there did the rest"


def test_a_worker_that_ends_puts_its_step_back(cluster: Cluster, kind: Any) -> None:
    stop = threading.Event()

    def run(ctx: StepContext) -> None:
        stop.set()
        ctx.check()

    kind("a", run)
    operation = _start(cluster, [_spec("a")])
    _run(stop)
    step = operation.steps.get()
    assert (step.state, step.lease_until) == ("waiting", None)


@pytest.mark.parametrize(
    ("worker", "taken"), [("control@here:1", 1), ("control@there:1", 0), ("control@here:77", 0)]
)
def test_an_agent_that_boots_takes_over_its_predecessors_steps_at_once(
    cluster: Cluster, kind: Any, worker: str, taken: int
) -> None:
    kind("a")
    step = _start(cluster, [_spec("a")]).steps.get()
    assert steps.acquire(step, worker, timezone.now()) is not None
    assert _run() == 0
    assert steps.release_orphans(0, "here", 77, timezone.now()) == taken
    assert _run() == taken
