"""Operations by REST, as tests of real agents run them: planned, begun, their agent killed, finished."""

from __future__ import annotations

from typing import Any

from rest_framework.test import APIClient

from clusters.models import Broker, Operation, Step
from tests.clusters.provisioning.agent_process import AgentProcess, wait, wait_until_over

CLUSTERS = "/api/v1/clusters/"
OPERATIONS = "/api/v1/operations/"


def begin(api: APIClient, path: str, body: dict[str, Any] | None = None) -> str:
    planned = api.post(f"{CLUSTERS}{path}?dry_run=true", body or {}, format="json")
    assert planned.status_code == 200, planned.data
    assert planned.data["plan"] and planned.data["steps"]
    answer = api.post(f"{CLUSTERS}{path}", body or {}, format="json")
    assert answer.status_code == 202, answer.data
    return str(answer.data["id"])


def tell(api: APIClient, operation: str, verb: str) -> None:
    answer = api.post(f"{OPERATIONS}{operation}/{verb}/", {}, format="json")
    assert answer.status_code in (200, 202), answer.data


def kill_in_the_middle(agent: AgentProcess, operation: str) -> None:
    """While one of its steps on the host runs: as often as not a process is being started or stopped. One
    that only asks brokers may be over sooner than anybody could see it run."""
    steps = Step.objects.filter(operation=operation, host__isnull=False)
    has_host_steps = steps.exists()
    running = (steps if has_host_steps else Step.objects.filter(operation=operation)).filter(state="running")
    wait(lambda: running.exists() or not _goes_on(operation))
    assert _goes_on(operation) or not has_host_steps, "it was over before its agent could be killed"
    agent.kill()
    agent.start()


def _goes_on(operation: str) -> bool:
    return Operation.objects.filter(pk=operation, state__in=["running", "rolling_back"]).exists()


def finish(operation: str, state: str = "succeeded", seconds: float = 120) -> Operation:
    done = wait_until_over(operation, seconds)
    log = [f"{step.state} {step.summary} {step.error}" for step in done.steps.all()]
    assert done.state == state, (done.state, done.error, log)
    return done


def cancel_after(api: APIClient, operation: str, kind: str) -> None:
    """Once a step of that kind is done; somebody must say then whether it goes on or back."""
    wait(lambda: Step.objects.filter(operation=operation, kind=kind, state="done").exists(), 120)
    tell(api, operation, "cancel")
    finish(operation, "failed")


def assert_one_of_each(agent: AgentProcess) -> None:
    engines = agent.engines()
    assert {label: len(found) for label, found in engines.items()} == dict.fromkeys(_labels(), 1)


def _labels() -> set[str]:
    servers = {"namesrv-1"} if Broker.objects.exists() else set()
    return servers | {broker.label for broker in Broker.objects.select_related("group")}
