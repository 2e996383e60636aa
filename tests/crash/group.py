"""A broker group of real processes: name server, members on fixed ports, one cluster secret.

Members are asked and promoted through engine.client, as an operator's tool would; everything else goes over
raw connections. The master is whoever says so with the highest epoch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from engine.client.blocking import Admin
from engine.errors import EngineError
from engine.protocol.bodies.brokers import GroupStatus, Promotion
from tests.crash.checker.replica_equality import check_replica_equality
from tests.crash.checker.violations import Violation
from tests.crash.cluster import ASYNC, Broker, Daemon, NameServer
from tests.ports import free_port

GROUP_NAME = "group"
WAIT_S = 40.0
LOOPBACK = "127.0.0.1"
SAFE = {
    "minInSyncReplicas": "2",
    "allAckInSyncStateSet": "true",
    "slaveReadEnable": "true",
}


def until(holds: Callable[[], object], what: str, seconds: float = WAIT_S) -> float:
    """Seconds that it took."""
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < seconds, f"not within {seconds} s: {what}"
        time.sleep(0.02)
    return time.monotonic() - begun


class Member(Broker):
    def __init__(
        self,
        folder: Path,
        number: int,
        secret_file: Path,
        name_servers: Sequence[tuple[str, int]],
        *,
        flush: str,
        settings: Mapping[str, str],
        launcher: str = "engine.broker",
        store: Path | None = None,
        environment: Mapping[str, str] | None = None,
        host: str = LOOPBACK,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.number = number
        self.ha_port = free_port()
        own = {
            "brokerName": GROUP_NAME,
            "brokerIP1": host,
            "bindAddress": host,
            "brokerId": str(number),
            "brokerRole": "SLAVE" if number else "SYNC_MASTER",
            "haListenPort": str(self.ha_port),
            "signalboxClusterSecretFile": str(secret_file),
        }
        super().__init__(
            folder,
            flush=flush,
            store=store,
            name_servers=list(name_servers),
            settings={**SAFE, **own, **settings},
            launcher=launcher,
            environment=environment,
            name=f"member-{number}",
        )
        self.address = (host, int(self._settings["listenPort"]))

    def change_settings(self, **settings: str) -> None:
        """For the next start."""
        self._settings.update(settings)
        self._write_config()

    def drop_settings(self, *names: str) -> None:
        """For the next start: its broker.conf says nothing of these."""
        for name in names:
            self._settings.pop(name, None)
        self._write_config()

    @property
    def place(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    @property
    def commit_log(self) -> Path:
        return self.store / "commitlog"


class Group:
    """`launchers`: another module for some members (mutants); `stores`: another folder for some."""

    def __init__(
        self,
        folder: Path,
        size: int,
        *,
        flush: str = ASYNC,
        settings: Mapping[str, str] | None = None,
        launcher: str = "engine.broker",
        stores: Mapping[int, Path] | None = None,
        environments: Mapping[int, Mapping[str, str]] | None = None,
        hosts: Mapping[int, str] | None = None,
        name_server_host: str = LOOPBACK,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.secret_file = folder / "cluster.secret"
        self.secret_file.write_text("a secret that the whole crash suite may know")
        self.secret_file.chmod(0o600)
        self.name_server = NameServer(folder, host=name_server_host)
        at = [(name_server_host, self.name_server.port)]
        self.members = [
            Member(
                folder / str(number),
                number,
                self.secret_file,
                at,
                flush=flush,
                settings=settings or {},
                launcher=launcher,
                store=(stores or {}).get(number),
                environment=(environments or {}).get(number),
                host=(hosts or {}).get(number, LOOPBACK),
            )
            for number in range(size)
        ]
        self.admin = Admin(namesrv=f"{name_server_host}:{self.name_server.port}", timeout_ms=3_000)

    @property
    def daemons(self) -> list[Daemon]:
        return [self.name_server, *self.members]

    def start(self, *numbers: int) -> None:
        """All members (or these), and all of them in sync."""
        self.name_server.start()
        self.admin.start()
        for number in numbers or range(len(self.members)):
            self.members[number].start()
        self.await_in_sync(*numbers)

    def close(self) -> None:
        self.admin.close()

    # -- asking ---------------------------------------------------------------------------------------------

    def status(self, member: Member) -> GroupStatus | None:
        try:
            return self.admin.broker_groups.status(member.place)
        except EngineError:
            return None

    def statuses(self) -> dict[int, GroupStatus]:
        found = {member.number: self.status(member) for member in self.members if member.is_alive}
        return {number: status for number, status in found.items() if status is not None}

    def find_master(self) -> tuple[Member, GroupStatus] | None:
        masters = [status for status in self.statuses().values() if status.role == "master"]
        if not masters:
            return None
        best = max(masters, key=lambda status: status.epoch)
        return self.members[best.member_id], best

    def master(self) -> tuple[Member, GroupStatus]:
        until(self.find_master, f"there is a master: {self.statuses()}")
        found = self.find_master()
        assert found is not None
        return found

    def is_in_sync(self, wanted: set[int]) -> bool:
        """All of them follow one master and have its log."""
        found = self.find_master()
        if found is None:
            return False
        _, master = found
        statuses = self.statuses()
        return set(master.in_sync.ids) == wanted and all(
            number in statuses
            and statuses[number].epoch == master.epoch == statuses[number].log_epoch
            and statuses[number].log_end >= master.log_end
            for number in wanted
        )

    def await_in_sync(self, *numbers: int, seconds: float = WAIT_S) -> float:
        wanted = set(numbers or range(len(self.members)))
        return until(lambda: self.is_in_sync(wanted), f"members {wanted} are in sync", seconds)

    # -- changing -------------------------------------------------------------------------------------------

    def promote(self, by: Member, *, wanted: int | None = None, unclean: bool = False) -> Promotion:
        return self.admin.broker_groups.promote(by.place, wanted=wanted, unclean=unclean)

    # -- judging --------------------------------------------------------------------------------------------

    def check_equality(self, *numbers: int) -> list[Violation]:
        """Of the members that follow: their logs up to what the master knows to be confirmed."""
        _, master = self.master()
        logs = {
            f"member-{number}": self.members[number].commit_log
            for number in (numbers or range(len(self.members)))
        }
        return check_replica_equality(logs, master.confirmed_offset)
