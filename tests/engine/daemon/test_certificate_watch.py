"""Broker and name server as processes with a certificate that ends soon: log, metric and snapshot."""

from __future__ import annotations

import asyncio
import time
import urllib.request
from pathlib import Path

import pytest

from engine.client.admin import Admin
from engine.net.tls import NOT_AFTER_METRIC, read_not_after_ms
from tests.certificates import Authority
from tests.engine.client.servers import start_broker, start_name_server
from tests.ports import free_port


def wait_for_warning(log: Path, words: str) -> None:
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        if log.exists() and any(
            " WARNING " in line and words in line for line in log.read_text().splitlines()
        ):
            return
        time.sleep(0.1)
    pytest.fail(f"{log} does not say {words!r}: {log.read_text() if log.exists() else 'no file'}")


def metric(port: int) -> float:
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read().decode()
    [line] = [line for line in text.splitlines() if line.startswith(NOT_AFTER_METRIC)]
    return float(line.split()[-1])


def test_both_daemons_tell_when_their_certificate_ends(tmp_path: Path) -> None:
    issued = Authority(tmp_path / "ca").issue("server", days=5)
    end_ms = read_not_after_ms(issued.cert)
    assert end_ms is not None
    tls = {"tls.server.certPath": issued.cert, "tls.server.keyPath": issued.key}
    ports = free_port(), free_port()
    server = start_name_server(
        tmp_path, **tls, metricsPromExporterPort=str(ports[0]), logDir=str(tmp_path / "namesrv-logs")
    )
    broker = start_broker(
        tmp_path,
        server.address,
        **tls,
        metricsExporterType="PROM",
        metricsPromExporterPort=str(ports[1]),
        logDir=str(tmp_path / "broker-logs"),
    )

    async def snapshot() -> dict[str, object]:
        async with Admin(namesrv=server.address) as admin:
            return dict((await admin.brokers.snapshot(broker.address)).sections)

    try:
        for log in (tmp_path / "namesrv-logs" / "namesrv.log", tmp_path / "broker-logs" / "broker.log"):
            wait_for_warning(log, "the TLS certificate expires on")
        assert [metric(port) for port in ports] == [end_ms / 1000] * 2
        assert asyncio.run(snapshot())["certificate"] == {"notAfterMs": end_ms}
    finally:
        broker.stop()
        server.stop()
