"""A killed broker with a large table of topics: what was acknowledged in new topics is there."""

from __future__ import annotations

from pathlib import Path

from bench.crowd import ScaledBroker, ask_all, populate, pull_from, send_to
from engine.broker.state.state_file_io import changes_path

KNOWN, NEW = 400, 40
"""400 topics are more than a file that is written anew for each change."""


def test_topics_that_made_themselves_survive_a_kill(tmp_path: Path) -> None:
    broker = ScaledBroker(tmp_path)
    try:
        populate(broker.address, KNOWN, lambda text: None)
        new = [f"new-{number}" for number in range(NEW)]
        ask_all(broker.address, send_to(new))
        assert changes_path(tmp_path / "store" / "config" / "topics.json").exists()
        broker.kill()
        broker.start()
        ask_all(broker.address, pull_from((name, name) for name in new))
        assert broker.stop() < 30
        assert not changes_path(tmp_path / "store" / "config" / "topics.json").exists()
    finally:
        broker.close()
