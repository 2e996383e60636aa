"""`python -m bench.replication [--quick] [--write]`: how fast a slave catches up, and how far it lags.

A group of two brokers of ours. First the master alone is filled with 1 KiB messages and the slave starts from
nothing: MB/s from its first to its last byte. Then the master is driven as hard as it goes, and once more
with a load nearest to half of that; meanwhile both members are asked how far they are. A slave's lag is the
age of the newest byte that the master had and the slave has.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
import threading
import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench.native import Load, Outcome, fill, generate, program
from bench.usage import machine
from engine.client.blocking import Admin
from engine.errors import EngineError
from tests.interop.processes import Server, free_port_base
from tests.interop.signalbox import REPOSITORY

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- replication: written by bench.replication -->", "<!-- end of replication -->"
BODY_BYTES = 1024
_SAMPLE_S = 0.02


@dataclass(slots=True)
class Lag:
    """What both members said, and what follows."""

    times: list[float] = field(default_factory=list)
    master_ends: list[int] = field(default_factory=list)
    lags_s: list[float] = field(default_factory=list)

    def note(self, now: float, master_end: int, slave_end: int) -> None:
        self.times.append(now)
        self.master_ends.append(master_end)
        reached = bisect_right(self.master_ends, slave_end)
        self.lags_s.append(now - self.times[reached - 1] if reached else now - self.times[0])

    def shown(self) -> str:
        ordered = sorted(self.lags_s)
        return (
            f"{ordered[len(ordered) // 2]:.3f} / {ordered[len(ordered) * 99 // 100]:.3f} / {ordered[-1]:.3f}"
        )


class Pair:
    def __init__(self, home: Path) -> None:
        self._home = home
        self._base = free_port_base()
        secret = home / "secret"
        secret.write_text(secrets.token_hex(32))
        secret.chmod(0o600)
        self.name_server = f"127.0.0.1:{free_port_base()}"
        self.servers = [self._start("engine.namesrv", "--listen", self.name_server)]
        self.admin = Admin(namesrv=self.name_server)
        self.admin.start()

    def address(self, member: int) -> str:
        return f"127.0.0.1:{self.port(member)}"

    def port(self, member: int) -> int:
        return self._base + 4 * member

    def start(self, member: int) -> None:
        config = self._home / f"{member}.conf"
        settings = {
            "brokerName": "bench",
            "brokerId": str(member),
            "brokerRole": "SLAVE" if member else "ASYNC_MASTER",
            "listenPort": str(self.port(member)),
            "brokerIP1": "127.0.0.1",
            "namesrvAddr": self.name_server,
            "storePathRootDir": str(self._home / f"store-{member}"),
            "signalboxClusterSecretFile": str(self._home / "secret"),
            "brokerFastFailureEnable": "false",
            "diskMaxUsedSpaceRatio": "95",
        }
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self.servers.append(self._start("engine.broker", "-c", str(config)))
        while self.log_end(member) is None:
            time.sleep(0.02)

    def _start(self, module: str, *arguments: str) -> Server:
        log = self._home / f"{module}.log"
        return Server([sys.executable, "-m", module, *arguments], log, None, REPOSITORY)

    def log_end(self, member: int) -> int | None:
        try:
            return self.admin.broker_groups.status(self.address(member)).log_end
        except EngineError:
            return None

    def close(self) -> None:
        self.admin.close()
        for server in reversed(self.servers):
            server.kill()


@contextmanager
def pair() -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="signalbox-bench-") as home:
        made = Pair(Path(home))
        try:
            yield made
        finally:
            made.close()


def catch_up(group: Pair) -> float:
    """MB/s of a slave that starts from nothing."""
    end = group.log_end(0) or 0
    group.start(1)
    began, first = 0.0, 0
    while True:
        now, done = time.monotonic(), group.log_end(1) or 0
        if done and not began:
            began, first = now, done
        if done >= end:
            return (done - first) / max(now - began, 1e-9) / 1e6
        time.sleep(_SAMPLE_S)


def driven(group: Pair, in_flight: int, seconds: float) -> tuple[Outcome, Lag]:
    load = Load("send", 1, in_flight, BODY_BYTES)
    lag, is_over = Lag(), threading.Event()

    def sample() -> None:
        while not is_over.is_set():
            slave_end, master_end = group.log_end(1), group.log_end(0)
            if slave_end is not None and master_end is not None:
                lag.note(time.monotonic(), master_end, slave_end)
            time.sleep(_SAMPLE_S)

    sampler = threading.Thread(target=sample)
    sampler.start()
    outcome = generate(group.port(0), load, seconds=seconds, warmup_s=0.5)
    is_over.set()
    sampler.join()
    return outcome, lag


def half_load(group: Pair, most: float) -> int:
    """The number in flight whose rate is nearest to half of the most."""
    rates = {n: driven(group, n, 1.0)[0].rate for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)}
    return min(rates, key=lambda n: abs(rates[n] - most / 2))


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.replication", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="300 MB and 3 s instead of 2 GB and 15 s")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    count, seconds = (300_000, 3.0) if options.quick else (2_000_000, 15.0)
    program("loadgen")
    load_average = os.getloadavg()[0]
    with pair() as group:
        group.start(0)
        fill(group.port(0), Load("batch", 1, 16, BODY_BYTES), count)
        speed = catch_up(group)
        most, most_lag = driven(group, 256, seconds)
        half, half_lag = driven(group, half_load(group, most.rate), seconds)
    rows = [
        f"{machine()}; {datetime.now(UTC):%Y-%m-%d}; {BODY_BYTES}-byte bodies, ASYNC_MASTER with one slave "
        f"on the same machine, {seconds:g} s each; load average {load_average:.1f} before the run began.",
        "",
        "| case | messages/s | slave's lag in s, p50 / p99 / max |",
        "| --- | --- | --- |",
        f"| catch-up from nothing | {speed:.0f} MB/s | – |",
        f"| most that the master takes | {most.rate:.0f} | {most_lag.shown()} |",
        f"| about half of it | {half.rate:.0f} | {half_lag.shown()} |",
    ]
    print("\n".join(rows))
    if options.write:
        page = PAGE.read_text()
        before, _, rest = page.partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(rows) + f"\n\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
