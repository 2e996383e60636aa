"""A name server and one broker of a given make, on fixed loopback ports, over one store directory.

Targets are ``apache-4.9``, ``apache-5`` and ``signalbox``; all take the same ``broker.conf``. Ports and store
outlive a stop, so that another target can be started in the place of the first and clients see a restart.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from . import apache, signalbox
from .processes import Server, free_port_base
from .remoting import has_route, is_listening

APACHE_TARGETS = ("apache-4.9", "apache-5")
CLUSTER_NAME = "InteropCluster"
BROKER_NAME = "interop-a"
READY_TOPIC = "TBW102"

# Loopback and small files; slow machines must not trip Apache's 200 ms fast failure.
BROKER_DEFAULTS = {
    "brokerClusterName": CLUSTER_NAME,
    "brokerName": BROKER_NAME,
    "brokerId": "0",
    "brokerRole": "ASYNC_MASTER",
    "flushDiskType": "ASYNC_FLUSH",
    "brokerIP1": "127.0.0.1",
    "mappedFileSizeCommitLog": str(16 * 1024 * 1024),
    "diskMaxUsedSpaceRatio": "95",
    "waitTimeMillsInSendQueue": "5000",
    "autoCreateTopicEnable": "true",
    "enablePropertyFilter": "true",
    "traceTopicEnable": "true",
    "transactionTimeOut": "1000",
    "transactionCheckInterval": "1500",
    # Apache notes decisions every 3 s, and would ask about what is decided already.
    "transactionOpBatchInterval": "100",
}


def chosen_targets() -> tuple[str, ...]:
    """What the scenarios run against: ours, unless INTEROP_TARGETS asks for a control run against Apache."""
    return tuple(os.environ.get("INTEROP_TARGETS", "signalbox").split(","))


@dataclass(slots=True)
class Cluster:
    """One name server and one broker; ``start`` may be called again after ``stop`` or ``kill``."""

    target: str
    home: Path
    overrides: Mapping[str, str] = field(default_factory=dict)
    name_server_port: int = field(default_factory=free_port_base)
    broker_port: int = field(default_factory=free_port_base)
    _name_server: Server | None = None
    _broker: Server | None = None

    @property
    def name_server(self) -> str:
        return f"127.0.0.1:{self.name_server_port}"

    @property
    def broker(self) -> str:
        return f"127.0.0.1:{self.broker_port}"

    @property
    def store(self) -> Path:
        return self.home / "store"

    @property
    def broker_pid(self) -> int:
        assert self._broker is not None
        return self._broker.pid

    def start(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self._name_server = self._launch_name_server()
        self._name_server.wait_until(lambda: is_listening(self.name_server))
        self.start_broker()

    def start_broker(self) -> None:
        config = self.home / "broker.conf"
        config.write_text("".join(f"{key}={value}\n" for key, value in self._broker_settings().items()))
        if self.target == "signalbox":
            self._broker = signalbox.launch_broker(config, self.name_server, self.home)
        else:
            self._broker = apache.launch_broker(_version(self.target), config, self.name_server, self.home)
        self._broker.wait_until(
            lambda: is_listening(self.broker) and has_route(self.name_server, READY_TOPIC)
        )

    def stop(self) -> int:
        """A clean stop of the broker, which is what its store sees; returns its exit status."""
        assert self._broker is not None
        try:
            return self._broker.stop()
        finally:
            self._end_name_server()

    def stop_broker(self) -> int:
        """The broker alone, cleanly; the name server stays. ``start_broker`` brings it back."""
        assert self._broker is not None
        return self._broker.stop()

    def kill_broker(self) -> None:
        assert self._broker is not None
        self._broker.kill()

    def restart_name_server(self) -> None:
        """Killed, and back on its port with nothing but its KV file."""
        assert self._name_server is not None
        self._name_server.kill()
        self._name_server = self._launch_name_server()
        self._name_server.wait_until(lambda: is_listening(self.name_server))

    def kill(self) -> None:
        """The broker dies without warning; the name server with it."""
        if self._broker is not None:
            self._broker.kill()
        self._end_name_server()

    def become(self, target: str) -> None:
        """Starts another make on the same ports and store. The cluster must have been stopped or killed."""
        self.target = target
        self.start()

    def _end_name_server(self) -> None:
        # Apache's takes seconds to stop and keeps nothing that a kill could harm.
        if self._name_server is not None:
            self._name_server.stop() if self.target == "signalbox" else self._name_server.kill()

    def _launch_name_server(self) -> Server:
        if self.target == "signalbox":
            return signalbox.launch_name_server(self.name_server, self.home)
        return apache.launch_name_server(_version(self.target), self.name_server_port, self.home)

    def _broker_settings(self) -> dict[str, str]:
        return {
            **BROKER_DEFAULTS,
            "listenPort": str(self.broker_port),
            "namesrvAddr": self.name_server,
            "storePathRootDir": str(self.store),
            "storePathCommitLog": str(self.store / "commitlog"),
            **self.overrides,
        }


def _version(target: str) -> str:
    return target.removeprefix("apache-")


@contextmanager
def running(target: str, home: Path, overrides: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """A started cluster, gone at the end whatever happened. Ours must also end well when asked to."""
    cluster = Cluster(target, home, overrides or {})
    try:
        cluster.start()
        yield cluster
        if cluster.target == "signalbox":
            assert cluster.stop() == 0, "the broker did not stop cleanly"
    finally:
        cluster.kill()
