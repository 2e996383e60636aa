"""What a broker does not load: each module of a package it does not need delays every start."""

from __future__ import annotations

import subprocess
import sys


def test_a_broker_starts_without_the_client_and_the_metrics() -> None:
    code = "import sys, engine.broker.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "engine.broker.process.broker" in loaded
    assert loaded.isdisjoint(
        {"engine.client.sending.producer", "engine.client.instance.instance", "prometheus_client"}
    )
