"""A master and its slave, as an operator starts them, with a name server; both on this machine."""

from __future__ import annotations

import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.lag import status
from engine.protocol.bodies.brokers import GroupStatus
from tests.crash.wire import Address, Link
from tests.interop.processes import Server, free_port_base
from tests.interop.remoting import is_listening
from tests.interop.signalbox import REPOSITORY, launch_name_server

NAME = "pair"
HOST = "127.0.0.1"
MASTER, SLAVE = 0, 1
_START_S = 60.0
_LOOK_BYTES = 16 << 20


class Pair:
    """`settings`: more lines for both broker.conf; the master's role is among them."""

    def __init__(self, home: Path, settings: dict[str, str]) -> None:
        self._home, self._settings = home, settings
        self._base = free_port_base()
        self._secret = home / "cluster.secret"
        self._secret.write_text(secrets.token_hex(32))
        self._secret.chmod(0o600)
        self._name_server = f"{HOST}:{free_port_base()}"
        self._servers = {-1: launch_name_server(self._name_server, home)}
        self._servers[-1].wait_until(lambda: is_listening(self._name_server))

    def address(self, member: int) -> Address:
        return HOST, self._base + 4 * member

    def store(self, member: int) -> Path:
        return self._home / f"store-{member}"

    def pid(self, member: int) -> int:
        return self._servers[member].pid

    def start(self, member: int) -> None:
        """Returns when it answers."""
        config = self._home / f"{member}.conf"
        config.write_text("".join(f"{key}={value}\n" for key, value in self._config(member).items()))
        server = self._servers[member] = self._run("engine.broker", f"member-{member}", "-c", str(config))
        host, port = self.address(member)
        server.wait_until(lambda: is_listening(f"{host}:{port}"), _START_S)

    def _config(self, member: int) -> dict[str, str]:
        own = {
            "brokerName": NAME,
            "brokerId": str(member),
            "brokerIP1": HOST,
            "listenPort": str(self.address(member)[1]),
            "namesrvAddr": self._name_server,
            "storePathRootDir": str(self.store(member)),
            "signalboxClusterSecretFile": str(self._secret),
            "diskMaxUsedSpaceRatio": "95",
        }
        return {**self._settings, **own, **({"brokerRole": "SLAVE"} if member else {})}

    def _run(self, module: str, name: str, *arguments: str) -> Server:
        command = [sys.executable, "-m", module, *arguments]
        return Server(command, self._home / f"{name}.log", None, REPOSITORY)

    def drop_slave(self) -> None:
        """With all that it has."""
        self._servers.pop(SLAVE).kill()
        shutil.rmtree(self.store(SLAVE))

    def ask(self, member: int) -> GroupStatus:
        with Link(self.address(member)) as link:
            return status(link)

    def await_in_sync(self) -> None:
        deadline = time.monotonic() + _START_S
        while set(self.ask(MASTER).in_sync.ids) != {MASTER, SLAVE}:
            if time.monotonic() > deadline:
                raise RuntimeError(f"not in sync: {self.ask(MASTER)} {self.ask(SLAVE)}")
            time.sleep(0.1)

    def is_byte_identical(self) -> bool:
        """Up to the end of the slave's log."""
        left = self.ask(SLAVE).log_end
        for path in sorted((self.store(MASTER) / "commitlog").iterdir()):
            other = self.store(SLAVE) / "commitlog" / path.name
            size = min(left, path.stat().st_size)
            if size and not _is_same(path, other, size):
                return False
            left -= size
        return left == 0

    def close(self) -> None:
        for server in reversed(self._servers.values()):
            server.kill()


def _is_same(one: Path, other: Path, size: int) -> bool:
    with one.open("rb") as first, other.open("rb") as second:
        while size > 0:
            piece = min(size, _LOOK_BYTES)
            if first.read(piece) != second.read(piece):
                return False
            size -= piece
    return True


@contextmanager
def pair(**settings: str) -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="signalbox-bench-") as home:
        made = Pair(Path(home), settings)
        try:
            yield made
        finally:
            made.close()
