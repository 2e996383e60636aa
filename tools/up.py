"""`make up`: one name server and one broker on loopback, in the foreground, until Ctrl-C.

The two daemons are children in sessions of their own, so that a Ctrl-C reaches only this process and they can
be stopped in order: the broker first, while there is still a name server to unregister from. Their lines are
passed on. A locked pid file in the data folder lets `make down` find a running `make up`, never a stale one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command, encode_command
from tools.daemon import READY_TIMEOUT_S, Daemon, UpError

HOST = "127.0.0.1"
VIP_PORT_DISTANCE = 2

NAMESRV_CONF = """\
# Written once by `make up`; yours to edit. The names are RocketMQ's own.
kvConfigPath={data}/kvConfig.json
logDir={data}/logs
"""

BROKER_CONF = """\
# Written once by `make up`; yours to edit. The names are RocketMQ's own.
brokerClusterName=DefaultCluster
brokerName=broker-a
brokerId=0
brokerIP1={host}
bindAddress={host}
listenPort={broker_port}
storePathRootDir={data}/store
mappedFileSizeCommitLog=67108864
flushDiskType=ASYNC_FLUSH
logDir={data}/logs
"""

FIRST_STEPS = """
A name server on {namesrv} and a broker on {broker} are up; the store is in {data}/.

Send and receive from another terminal:

    .venv/bin/python -m engine.admin sendMessage -n {namesrv} -t hello -p "hi"
    .venv/bin/python -m engine.admin consumeMessage -n {namesrv} -t hello

or from Python:

    from engine.client import Message
    from engine.client.blocking import Producer
    with Producer("my-producers", namesrv="{namesrv}") as producer:
        print(producer.send(Message("hello", b"hi")))

Ctrl-C (or `make down`) stops both.
"""


@dataclass(frozen=True, slots=True)
class Options:
    namesrv_port: int
    broker_port: int
    data: Path

    @property
    def namesrv(self) -> str:
        return f"{HOST}:{self.namesrv_port}"

    @property
    def broker(self) -> str:
        return f"{HOST}:{self.broker_port}"


def refuse_taken_ports(options: Options) -> None:
    vip_port = options.broker_port - VIP_PORT_DISTANCE
    for port in (options.namesrv_port, options.broker_port, vip_port):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError as error:
                raise UpError(
                    f"port {port} is taken ({error.strerror}): stop what listens there (`make down`?) "
                    'or choose others: make up ARGS="--namesrv-port N --broker-port N"'
                ) from None


def write_conf(options: Options, name: str, text: str) -> str:
    """Ours on the first run, the user's from then on."""
    path = options.data / name
    if not path.exists():
        path.write_text(text.format(host=HOST, broker_port=options.broker_port, data=options.data))
    return str(path)


async def until_registered(options: Options) -> None:
    """Until the name server's cluster info names the broker's address, so that a first send finds a route."""
    request = encode_command(Command(RequestCode.GET_BROKER_CLUSTER_INFO, opaque=1))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(READY_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(HOST, options.namesrv_port)
            with contextlib.closing(writer):
                while True:
                    writer.write(request)
                    size = int.from_bytes(await reader.readexactly(4), "big")
                    if options.broker.encode() in await reader.readexactly(size):
                        return
                    await asyncio.sleep(0.1)
    raise UpError(f"the broker did not register with the name server within {READY_TIMEOUT_S} s")


@contextlib.contextmanager
def pid_file(data: Path) -> Iterator[None]:
    """Locked as long as this process lives: what the kernel releases cannot go stale."""
    data.mkdir(parents=True, exist_ok=True)
    with (data / "up.pid").open("a+") as file:
        if not _try_lock(file):
            raise UpError(f"another `make up` runs on {data} (`make down` stops it)")
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _try_lock(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def run(options: Options) -> None:
    """Until a signal cancels it; a second signal does not cut the orderly stop short."""
    work = asyncio.create_task(keep_up(options))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, lambda: work.cancelling() or work.cancel())
    with contextlib.suppress(asyncio.CancelledError):
        await work


async def keep_up(options: Options) -> None:
    async with contextlib.AsyncExitStack() as daemons:
        namesrv_conf = write_conf(options, "namesrv.conf", NAMESRV_CONF)
        namesrv = await Daemon.start("namesrv", "--listen", options.namesrv, "-c", namesrv_conf)
        daemons.push_async_callback(namesrv.stop)
        await namesrv.until_ready()
        broker_conf = write_conf(options, "broker.conf", BROKER_CONF)
        if f"listenPort={options.broker_port}\n" not in Path(broker_conf).read_text():
            raise UpError(f"{broker_conf} does not say listenPort={options.broker_port}: edit or remove it")
        broker = await Daemon.start("broker", "-c", broker_conf, "-n", options.namesrv)
        daemons.push_async_callback(broker.stop)
        await broker.until_ready()
        await until_registered(options)
        data = os.path.relpath(options.data)
        print(FIRST_STEPS.format(namesrv=options.namesrv, broker=options.broker, data=data), flush=True)
        daemons.callback(print, "stopping", flush=True)
        await asyncio.gather(namesrv.until_ended(), broker.until_ended())


def stop(options: Options) -> None:
    """What `make down` does: ends the `make up` that holds the pid file, if there is one."""
    path = options.data / "up.pid"
    if not path.exists():
        raise UpError("nothing is up")
    with path.open("r+") as file:
        if _try_lock(file):
            raise UpError("nothing is up")
        os.kill(int(file.read()), signal.SIGTERM)
        fcntl.flock(file, fcntl.LOCK_EX)
    print("stopped")


def parse(arguments: list[str] | None) -> tuple[Options, bool]:
    parser = argparse.ArgumentParser(prog="make up", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--namesrv-port", type=int, default=9876)
    parser.add_argument("--broker-port", type=int, default=10911)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--stop", action="store_true", help="stop the one that runs")
    given = parser.parse_args(arguments)
    return Options(given.namesrv_port, given.broker_port, given.data.absolute()), given.stop


def main(arguments: list[str] | None = None) -> int:
    options, is_stop = parse(arguments)
    try:
        if is_stop:
            stop(options)
            return 0
        with pid_file(options.data):
            refuse_taken_ports(options)
            asyncio.run(run(options))
    except UpError as error:
        print(f"make up: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
