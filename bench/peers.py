"""Who is measured: the echo ceiling, our broker, Apache RocketMQ's broker. Each is a process with a port.

Both brokers get the same broker.conf (ASYNC_FLUSH, RocketMQ's defaults) and a name server of their own make.
The JVM gets what a small production broker would: G1, a heap that it never fills, the full JIT; interop's
flags are for quick starts and would hold it back.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.native import program
from tests.interop import apache
from tests.interop.jars import class_path
from tests.interop.processes import Server, free_port_base
from tests.interop.remoting import call, has_route, is_listening
from tests.interop.signalbox import REPOSITORY, name_server_command

JVM_FLAGS = (
    "-Xms1g",
    "-Xmx1g",
    "-XX:+UseG1GC",
    "-XX:MaxDirectMemorySize=1g",
    "-Djava.net.preferIPv4Stack=true",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)
APACHE_VERSION = "5"
CLUSTER, BROKER = "BenchCluster", "bench-a"
_GET_MAX_OFFSET = 30
_START_TIMEOUT_S = 60.0


@dataclass(slots=True)
class Peer:
    """A running server; `name_server` is empty for the echo server, which needs none."""

    name: str
    pid: int
    port: int
    name_server: str = ""
    started_in_s: float = 0.0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextmanager
def echo(body_bytes: int) -> Iterator[Peer]:
    process = subprocess.Popen(
        [str(program("echo_server")), "--body", str(body_bytes)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield Peer("echo", process.pid, int(process.stdout.readline().rpartition(":")[2]))
    finally:
        process.kill()
        process.communicate()


@dataclass(frozen=True, slots=True)
class Make:
    """How one make of broker and name server is started."""

    name: str
    name_server_command: Callable[[int, Path], list[str]]
    broker_command: Callable[[Path, str, Path], list[str]]


def _our_name_server(port: int, home: Path) -> list[str]:
    return name_server_command(f"127.0.0.1:{port}", home)


def _our_broker(config: Path, name_server: str, home: Path) -> list[str]:
    return [sys.executable, "-m", "engine.broker", "-c", str(config), "-n", name_server]


def _java(main_class: str, home: Path) -> list[str]:
    quiet = home / "conf" / "logback_namesrv.xml"
    properties = [f"-Duser.home={home}", f"-Drmq.logback.configurationFile={quiet}"]
    return ["java", *JVM_FLAGS, *properties, "-cp", class_path(f"server-{APACHE_VERSION}"), main_class]


def _apache_name_server(port: int, home: Path) -> list[str]:
    config = home / "namesrv.conf"
    config.write_text(f"listenPort={port}\nkvConfigPath={home / 'kvConfig.json'}\n")
    return [*_java(apache.NAME_SERVER_CLASS, home), "-c", str(config)]


def _apache_broker(config: Path, name_server: str, home: Path) -> list[str]:
    return [*_java(apache.BROKER_CLASS, home), "-c", str(config), "-n", name_server]


SIGNALBOX = Make("signalbox", _our_name_server, _our_broker)
APACHE = Make("apache", _apache_name_server, _apache_broker)


@contextmanager
def broker(make: Make, home: Path, starts: int) -> Iterator[Peer]:
    """A name server and a broker on an empty store. The broker is started `starts` times, the last one stays:
    `started_in_s` is the median time from the start of its process to its first answer."""
    home.mkdir(parents=True)
    env = apache.prepare_home(home)
    name_server = f"127.0.0.1:{free_port_base()}"
    port = free_port_base()
    config = _write_config(home, port, name_server)
    command = make.name_server_command(int(name_server.rpartition(":")[2]), home)
    servers = [Server(command, home / "namesrv.log", env, REPOSITORY)]
    try:
        servers[0].wait_until(lambda: is_listening(name_server))
        times: list[float] = []
        for number in range(starts):
            began = time.monotonic()
            server = Server(
                make.broker_command(config, name_server, home), home / "broker.log", env, REPOSITORY
            )
            servers.append(server)
            _wait_for_answer(server, f"127.0.0.1:{port}")
            times.append(time.monotonic() - began)
            if number < starts - 1:
                server.stop()
        server.wait_until(lambda: has_route(name_server, "TBW102"))
        yield Peer(make.name, server.pid, port, name_server, sorted(times)[len(times) // 2])
    finally:
        for server in reversed(servers):
            server.kill()


def _wait_for_answer(server: Server, address: str) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            call(address, _GET_MAX_OFFSET, {"topic": "TBW102", "queueId": "0"})
            return
        except OSError:
            if time.monotonic() > deadline:
                server.wait_until(lambda: False, timeout_s=0)
            time.sleep(0.01)


def _write_config(home: Path, port: int, name_server: str) -> Path:
    settings = {
        "brokerClusterName": CLUSTER,
        "brokerName": BROKER,
        "brokerId": "0",
        "brokerRole": "ASYNC_MASTER",
        "flushDiskType": "ASYNC_FLUSH",
        "brokerIP1": "127.0.0.1",
        "listenPort": str(port),
        "namesrvAddr": name_server,
        "storePathRootDir": str(home / "store"),
        "storePathCommitLog": str(home / "store" / "commitlog"),
        "autoCreateTopicEnable": "true",
        "diskMaxUsedSpaceRatio": "95",
    }
    config = home / "broker.conf"
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return config
