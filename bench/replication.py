"""`python -m bench.replication [--quick] [--write]`: how fast a slave catches up, and how far it lags.

Catching up: the master alone is filled with 1 KiB messages, then a slave starts from nothing. MB/s are those
of the copied log, from the first to the last byte, and of what can be read there, up to its last message.
Lag: the master is driven as hard as it goes, and then at half of that rate; see `bench.lag`. With --write the
tables replace those in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from rich.console import Console

from bench.lag import intervals, lags, status, watched
from bench.native import Load, Outcome, fill, generate, program
from bench.page import Section
from bench.replica_pair import MASTER, SLAVE, Pair, pair
from bench.usage import cpu_seconds, machine
from tests.crash.wire import Link

SECTION = Section("<!-- replication: written by bench.replication -->", "<!-- end of replication -->")
BODY_BYTES = 1024
TOPIC, QUEUES = "load", 4
"""Not the broker's own name: that is a topic with one queue."""
BATCHES = Load("batch", in_flight=16, body_bytes=BODY_BYTES, topic=TOPIC)
SINGLES = Load("send", in_flight=256, body_bytes=BODY_BYTES, topic=TOPIC)
ROLES = {
    "ASYNC_MASTER": {"brokerRole": "ASYNC_MASTER"},
    "SYNC_MASTER, in-sync 2": {
        "brokerRole": "SYNC_MASTER",
        "inSyncReplicas": "2",
        "minInSyncReplicas": "2",
    },
}
_WARMUP_S = 1.0
_LOOK_S = 0.02
_STUCK_S = 30.0
_GET_MAX_OFFSET = 30

console = Console(width=140)


@dataclass(frozen=True, slots=True)
class Copy:
    copied_mb_s: float
    readable_mb_s: float
    cpu_s_per_gb: tuple[float, float]
    """Of the master and of the slave."""


@dataclass(frozen=True, slots=True)
class Driven:
    outcome: Outcome
    lags_s: list[float]
    sample_s: float
    """The longest time between two looks at the slave."""


# -- catching up --------------------------------------------------------------------------------------------


def catch_up(group: Pair) -> Copy:
    """A slave that starts from nothing, judged by its bytes."""
    end, messages = group.ask(MASTER).log_end, _message_count(group, MASTER)
    group.start(SLAVE)
    before = cpu_seconds(group.pid(MASTER)), cpu_seconds(group.pid(SLAVE))
    with Link(group.address(SLAVE)) as link:
        begun, first = _first_byte(link)
        copied_at = _reach(link, begun, first, end)
    while _message_count(group, SLAVE) < messages:
        _check_time(copied_at)
    readable_at = time.monotonic()
    after = cpu_seconds(group.pid(MASTER)), cpu_seconds(group.pid(SLAVE))
    if not group.is_byte_identical():
        raise RuntimeError("the slave's log is not the master's")
    size = end - first
    used = [(late - early) / (end / 1e9) for early, late in zip(before, after, strict=True)]
    return Copy(size / (copied_at - begun) / 1e6, size / (readable_at - begun) / 1e6, (used[0], used[1]))


def _first_byte(link: Link) -> tuple[float, int]:
    asked = time.monotonic()
    while not (first := status(link).log_end):
        _check_time(asked)
    return time.monotonic(), first


def _reach(link: Link, begun: float, first: int, end: int) -> float:
    """When the log has come to `end`; it must not stand still on the way."""
    moved_at, last = begun, first
    while last < end:
        _check_time(moved_at)
        now_end = status(link).log_end
        if now_end > last:
            moved_at, last = time.monotonic(), now_end
    return moved_at


def _check_time(since: float) -> None:
    if time.monotonic() - since > _STUCK_S:
        raise RuntimeError(f"nothing has moved for {_STUCK_S:g} s")
    time.sleep(_LOOK_S)


def _message_count(group: Pair, member: int) -> int:
    with Link(group.address(member)) as link:
        answers = [
            link.call(_GET_MAX_OFFSET, {"topic": TOPIC, "queueId": str(queue)}) for queue in range(QUEUES)
        ]
    return sum(int(answer.fields["offset"]) for answer in answers if answer.code == 0)


# -- lagging ------------------------------------------------------------------------------------------------


def drive(group: Pair, load: Load, seconds: float) -> Driven:
    """The slave has caught up before; afterwards it must again."""
    with watched(group.address(MASTER), group.address(SLAVE)) as (master, slave):
        outcome = generate(group.address(MASTER)[1], load, seconds=seconds, warmup_s=_WARMUP_S)
    if outcome.faults:
        raise RuntimeError(f"the master did not answer soundly: {outcome}")
    waited = time.monotonic()
    while group.ask(SLAVE).log_end < group.ask(MASTER).log_end:
        _check_time(waited)
    return Driven(outcome, lags(master, slave), max(intervals(slave.times)))


def lag_rounds(settings: dict[str, str], rounds: int, seconds: float) -> tuple[list[Driven], list[Driven]]:
    """At the most that this master takes, and at half of it, by turns."""
    most: list[Driven] = []
    half: list[Driven] = []
    with pair(**settings) as group:
        group.start(MASTER)
        group.start(SLAVE)
        group.await_in_sync()
        for _ in range(rounds):
            most.append(drive(group, SINGLES, seconds))
            rate = median(driven.outcome.rate for driven in most) / 2
            paced = Load("send", in_flight=256, body_bytes=BODY_BYTES, topic=TOPIC, rate=rate)
            half.append(drive(group, paced, seconds))
    return most, half


# -- the tables ---------------------------------------------------------------------------------------------


def copy_rows(copies: Sequence[Copy]) -> Iterator[str]:
    yield "| catching up from nothing | MB/s (min–max) |"
    yield "| --- | --- |"
    for what, figures in (
        ("log copied", [copy.copied_mb_s for copy in copies]),
        ("messages readable", [copy.readable_mb_s for copy in copies]),
    ):
        yield f"| {what} | {median(figures):.0f} ({min(figures):.0f}–{max(figures):.0f}) |"
    for number, who in enumerate(("master", "slave")):
        used = [copy.cpu_s_per_gb[number] for copy in copies]
        yield f"| processor seconds per GB, {who} | {median(used):.2f} s |"


def lag_rows(found: dict[str, tuple[list[Driven], list[Driven]]]) -> Iterator[str]:
    yield "| master | load | messages/s | refused | lag in ms, p50 / p99 / max | longest gap of samples |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for role, (most, half) in found.items():
        for load, rounds in (("most", most), ("half", half)):
            rate = median(driven.outcome.rate for driven in rounds)
            refused = sum(driven.outcome.refused for driven in rounds)
            gap_ms = max(driven.sample_s for driven in rounds) * 1e3
            yield f"| {role} | {load} | {rate:.0f} | {refused} | {_shown(rounds)} | {gap_ms:.0f} ms |"


def _shown(rounds: Sequence[Driven]) -> str:
    """Of all samples of all rounds."""
    ordered = sorted(lag_s * 1e3 for driven in rounds for lag_s in driven.lags_s)
    p50, p99 = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    return f"{p50:.0f} / {p99:.0f} / {ordered[-1]:.0f} (n = {len(ordered)})"


def measure_copies(count: int, rounds: int) -> list[Copy]:
    copies: list[Copy] = []
    with pair(**ROLES["ASYNC_MASTER"]) as group:
        group.start(MASTER)
        with console.status("filling the master"):
            fill(group.address(MASTER)[1], BATCHES, count)
        for number in range(rounds):
            if number:
                group.drop_slave()
            with console.status(f"catching up, round {number + 1} of {rounds}"):
                copies.append(catch_up(group))
            console.print(copies[-1])
    return copies


def main() -> int:
    options = _options()
    count, rounds, seconds = (300_000, 1, 3.0) if options.quick else (2_000_000, 3, 10.0)
    program("loadgen")
    heading = (
        f"{machine()}; {datetime.now(UTC):%Y-%m-%d}; master, slave and load on this machine, "
        f"{BODY_BYTES}-byte bodies, ASYNC_FLUSH; catching up: {count:,} messages, n = {rounds}; lag: "
        f"n = {rounds} rounds of {seconds:g} s; load average {os.getloadavg()[0]:.1f} before the run began."
    )
    copies = measure_copies(count, rounds)
    found: dict[str, tuple[list[Driven], list[Driven]]] = {}
    for role, settings in ROLES.items():
        with console.status(f"lag, {role}"):
            found[role] = lag_rounds(settings, rounds, seconds)
    text = "\n\n".join((heading, "\n".join(copy_rows(copies)), "\n".join(lag_rows(found))))
    console.print(text)
    if options.write:
        SECTION.write(text)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.replication", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="300 MB and 3 s, once: a look, not a publication"
    )
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
