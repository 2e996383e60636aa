"""Another release, back again, and repairs, with real processes under load: nothing acknowledged is lost.

The second release is these sources under another version, installed as docs/provisioning.md says. Operations
are interrupted on the way: cancelled after a hand-over, and their agent killed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from rest_framework.test import APIClient

from clusters.models import Broker, BrokerGroup, Cluster, Step
from clusters.provisioning.states import drifted
from console.beat import Beat
from engine.client.options import ClientOptions
from engine.protocol.signing import Credentials
from tests.clusters.provisioning.agent_process import AgentProcess, agents, wait
from tests.clusters.provisioning.operating import (
    CLUSTERS,
    assert_one_of_each,
    begin,
    cancel_after,
    finish,
    kill_in_the_middle,
    tell,
)
from tests.e2e.load import Load
from tests.packaging.distribution import copy_sources, install

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]
ROUTE_POLL_S = ClientOptions().poll_name_server_s
NEXT = "0.2.0"
NEW = {
    "name": "orders",
    "groups": 1,
    "slaves": 1,
    "profile": "safe",
    "allow_same_host": True,
    "overrides": {"mappedFileSizeCommitLog": "8388608", "maxIndexNum": "1000", "maxHashSlotNum": "500"},
}


@pytest.fixture(scope="module")
def next_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without a compiler, which is quicker: that must run the same stores, too."""
    folder = tmp_path_factory.mktemp("next")
    sources = copy_sources(folder / "sources")
    about = sources / "pyproject.toml"
    about.write_text(re.sub(r'(?m)^version = ".*"$', f'version = "{NEXT}"', about.read_text()))
    return install(sources, folder / "venv", CC=str(folder / "no-such-compiler")).folder


@pytest.fixture
def agent(
    tmp_path: Path, next_release: Path, redis: str, transactional_db: None, api: APIClient
) -> Iterator[AgentProcess]:
    """With the cluster `orders`, a topic and a group in it, and the next release installed on its host."""
    with agents(tmp_path, "one") as [running], Beat():
        releases = Path(running.host.data_root) / "releases"
        releases.mkdir()
        (releases / NEXT).symlink_to(next_release)
        finish(begin(api, "", NEW))
        for kind, name in (("topics", "hello"), ("groups", "readers")):
            made = api.post(f"{CLUSTERS}orders/{kind}/", {"name": name}, format="json")
            assert made.status_code in (200, 201), made.data
        yield running


def _credentials(api: APIClient) -> Credentials:
    made = api.post(f"{CLUSTERS}orders/acl/users/", {"name": "shop"}, format="json")
    assert made.status_code in (200, 201), made.data
    policies = [
        {"resource": "Topic:hello", "actions": ["Pub", "Sub", "Get"]},
        {"resource": "Group:readers", "actions": ["Sub", "Get"]},
    ]
    put = api.put(f"{CLUSTERS}orders/acl/users/shop/policies/", {"policies": policies}, format="json")
    assert put.status_code == 200, put.data
    return Credentials("shop", made.data["secret"])


def _load(api: APIClient) -> Load:
    [server] = Cluster.objects.get().name_servers.select_related("host")
    return Load(server.address, _credentials(api), "hello")


def _versions(agent: AgentProcess) -> set[str]:
    """What living engine processes run: the release's folder that their interpreter is in, or `builtin`."""
    found = {each.cmdline()[0] for processes in agent.engines().values() for each in processes}
    return {
        path.split("/releases/")[1].split("/")[0] if "/releases/" in path else "builtin" for path in found
    }


def _assert_runs(agent: AgentProcess, release: str) -> None:
    cluster = Cluster.objects.get()
    assert cluster.release == release and _versions(agent) == {release}
    assert drifted(cluster) == []
    assert_one_of_each(agent)


def test_releases_roll_backs_and_repairs_lose_nothing_under_load(agent: AgentProcess, api: APIClient) -> None:
    with _load(api) as load:
        _upgrade_and_return(agent, api)
        _roll_back_half_way(agent, api)
        _repair_what_was_given_up(agent, api)
    load.check_nothing_is_lost("readers")
    # 4 s on a quiet machine; a client that was not sent on would wait for its next look at the routes.
    assert load.longest_gap_s < ROUTE_POLL_S, "a hand-over is a moment"


def _upgrade_and_return(agent: AgentProcess, api: APIClient) -> None:
    upgraded = begin(api, "orders/upgrade/", {"release": NEXT})
    finish(upgraded)
    assert Step.objects.get(operation=upgraded, kind="find_release").result["version"] == NEXT
    _assert_runs(agent, NEXT)
    returned = begin(api, "orders/upgrade/", {"release": "builtin"})
    kill_in_the_middle(agent, returned)
    finish(returned)
    _assert_runs(agent, "builtin")


def _roll_back_half_way(agent: AgentProcess, api: APIClient) -> None:
    before = BrokerGroup.objects.get().master_member
    upgraded = begin(api, "orders/upgrade/", {"release": NEXT})
    cancel_after(api, upgraded, "promote")
    assert _versions(agent) == {NEXT, "builtin"}, "the old master was not reached yet"
    tell(api, upgraded, "roll_back")
    kill_in_the_middle(agent, upgraded)
    finish(upgraded, "rolled_back")
    _assert_runs(agent, "builtin")
    assert BrokerGroup.objects.get().master_member == before, "who was master is it again"


def _repair_what_was_given_up(agent: AgentProcess, api: APIClient) -> None:
    """The rows ask for the new settings, the processes run with the old ones: that is drift."""
    changed = begin(api, "orders/configure/", {"changes": {"flushDiskType": "ASYNC_FLUSH"}})
    cancel_after(api, changed, "set_overrides")
    tell(api, changed, "give_up")
    assert drifted(Cluster.objects.get())
    repaired = begin(api, "orders/repair/")
    kill_in_the_middle(agent, repaired)
    finish(repaired)
    _assert_runs(agent, "builtin")
    said = api.get(f"{CLUSTERS}orders/brokers/broker-a-0/config/").data
    assert said["is_reachable"] and said["different"] == []


def test_what_cannot_run_stops_nobody_and_what_is_down_is_repaired(
    agent: AgentProcess, api: APIClient
) -> None:
    before = _pids(agent)
    broken = Path(agent.host.data_root) / "releases" / "0.3.0" / "bin"
    broken.mkdir(parents=True)
    (broken / "python").symlink_to(psutil.Process().exe())
    for release, reason in (("0.3.0", "is broken"), ("9.9", "is not installed")):
        operation = begin(api, "orders/upgrade/", {"release": release})
        assert reason in finish(operation, "failed").error
        tell(api, operation, "roll_back")
        finish(operation, "rolled_back")
    _assert_runs(agent, "builtin")
    assert _pids(agent) == before
    _start_what_is_down(agent, api)


def _pids(agent: AgentProcess) -> set[int]:
    return {each.pid for processes in agent.engines().values() for each in processes}


def _start_what_is_down(agent: AgentProcess, api: APIClient) -> None:
    """In a crash loop whose next try is far, so that healing is not what brings it back."""
    agent.kill()
    [slave] = agent.engines()["broker-a-1"]
    slave.kill()
    wait(lambda: "broker-a-1" not in agent.engines())
    Broker.objects.filter(member=1).update(observed="crash_loop", next_start_at="2100-01-01T00:00:00Z")
    operation = begin(api, "orders/repair/")
    agent.start()
    finish(operation)
    _assert_runs(agent, "builtin")
