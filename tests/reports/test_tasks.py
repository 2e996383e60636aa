"""Wake-ups of an agent's runs: none is lost."""

from __future__ import annotations

import pytest

from clusters.models import Host
from clusters.provisioning import agents
from reports.tasks import runs


@pytest.mark.django_db
def test_a_wake_up_at_the_end_of_a_turn_is_another_turn(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first worker has looked for the last time when the second comes, and finds it still there."""
    looks: list[str] = []

    def look(mine: Host, *, worker: str, **_: object) -> int:
        looks.append(worker)
        if len(looks) == 1:
            assert runs.run_reports(mine.name) == 0, "one at a time"
        return 1

    agents.become(host.name)
    monkeypatch.setattr(runs, "do_run_reports", look)
    try:
        assert runs.run_reports(host.name) == 2
        assert runs.run_reports(host.name) == 1
    finally:
        agents.become("")
    assert len(looks) == 3
    assert runs.run_reports(host.name) == 0, "this is no agent"
