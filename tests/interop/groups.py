"""Groups of a master and slaves of any make behind one name server, and what both sides can be asked.

Members share `brokerName`; each has a port, a store and a `broker.conf` of its own. A member that is stopped
or killed comes back with the same ones.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .clusters import BROKER_NAME, Cluster
from .received import wait_until
from .remoting import call
from .signalbox import REPOSITORY

GET_RUNTIME_INFO = 28
GET_ROUTE = 105
GET_HA_STATUS = 907
CATCH_UP_S = 30
SEGMENT_BYTES = 1024 * 1024
SMALL_FILES = {"mappedFileSizeCommitLog": str(SEGMENT_BYTES), "maxMessageSize": str(SEGMENT_BYTES // 2)}


@dataclass(slots=True)
class Group:
    """`start(0, …)` is the master and comes first: it brings the name server."""

    home: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    members: dict[int, Cluster] = field(default_factory=dict)

    @property
    def name_server(self) -> str:
        return self.members[0].name_server

    def start(self, member: int, target: str, **overrides: str) -> Cluster:
        role = {"brokerRole": "SLAVE", "brokerId": str(member)} if member else {}
        own = {**SMALL_FILES, **self.settings, **role, **overrides}
        if target == "signalbox":
            own = {"signalboxClusterSecretFile": str(self._secret()), **own}
        cluster = Cluster(target, self.home / str(member), own)
        cluster.home.mkdir(parents=True, exist_ok=True)
        self.members[member] = cluster
        if member == 0:
            cluster.start()
        else:
            cluster.name_server_port = self.members[0].name_server_port
            cluster.start_broker()
            wait_until(lambda: str(member) in self.addresses(), CATCH_UP_S)
        return cluster

    def close(self) -> None:
        for cluster in self.members.values():
            cluster.kill()

    def addresses(self) -> dict[str, str]:
        """Whom the name server knows: brokerId on the wire to address."""
        answer = call(self.name_server, GET_ROUTE, {"topic": "TBW102"})
        if answer.code != 0:
            return {}
        (data,) = (one for one in decode(answer.body)["brokerDatas"] if one["brokerName"] == BROKER_NAME)
        return {str(key): value for key, value in data["brokerAddrs"].items()}

    def caught_up(self, member: int, master: int = 0, timeout_s: float = CATCH_UP_S) -> int:
        """Waits until the logs end at the same offset; returns it."""
        wait_until(lambda: self.log_end(member) == self.log_end(master), timeout_s)
        return self.log_end(member)

    def log_end(self, member: int) -> int:
        return int(self.runtime(member)["commitLogMaxOffset"])

    def runtime(self, member: int) -> dict[str, str]:
        table: dict[str, str] = decode(call(self.members[member].broker, GET_RUNTIME_INFO).body)["table"]
        return table

    def ha_status(self, member: int) -> dict[str, Any]:
        found: dict[str, Any] = decode(call(self.members[member].broker, GET_HA_STATUS).body)
        return found

    def log(self, member: int) -> str:
        """What a member of ours wrote into its log."""
        return (self.members[member].home / "broker-signalbox.log").read_text()

    def admin(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Our own command line."""
        command = [sys.executable, "-m", "engine.admin", *words, "-n", self.name_server]
        return subprocess.run(
            command, cwd=REPOSITORY, text=True, capture_output=True, timeout=60, check=False
        )

    def _secret(self) -> Path:
        path = self.home / "secret"
        if not path.exists():
            path.write_text("one secret for the members of this group\n")
            path.chmod(0o600)
        return path


@contextmanager
def broker_group(home: Path, **settings: str) -> Iterator[Group]:
    home.mkdir(parents=True)
    group = Group(home, settings)
    try:
        yield group
    finally:
        group.close()


def decode(body: bytes) -> Any:
    """RocketMQ's JSON, whose integer keys are not quoted."""
    return json.loads(re.sub(rb"([{,])(\d+):", rb'\1"\2":', body))


def same_bytes(first: Cluster, second: Cluster, start: int, end: int) -> bool:
    """Whether both commit logs hold the same in [start, end)."""
    return read_log(first, start, end) == read_log(second, start, end)


def read_log(cluster: Cluster, start: int, end: int) -> bytes:
    """Out of the files, as they lie on the disk; files of one size are named after their first offset."""
    pieces = []
    while start < end:
        name = start - start % SEGMENT_BYTES
        path = cluster.store / "commitlog" / f"{name:020d}"
        stop = min(end, name + SEGMENT_BYTES)
        with path.open("rb") as file:
            file.seek(start - name)
            pieces.append(file.read(stop - start))
        start = stop
    return b"".join(pieces)


def log_start(cluster: Cluster) -> int:
    return min(int(path.name) for path in (cluster.store / "commitlog").iterdir())
