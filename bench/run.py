"""`python -m bench.run [--quick] [--no-java] [--no-apache] [--case TEXT] [--write]`: all peers, interleaved.

Each round measures every peer once, one after the other, so that a machine that slows down slows all of them;
ratios are therefore ratios of one run. With --write the tables replace those in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from bench.cases import (
    BODY_BYTES,
    CONSUME_BACKLOG,
    CONSUME_TOPIC,
    JAVA_CASES,
    NATIVE_CASES,
    PULL_BACKLOG,
    PULL_TOPIC,
    Case,
)
from bench.native import Load, fill, program
from bench.page import Section
from bench.peers import APACHE, SIGNALBOX, Make, Peer, broker, echo
from bench.results import Results, Start, markdown, tables
from bench.usage import anonymous_bytes, machine
from tests.interop.jars import MavenFailed
from tests.interop.remoting import call

SECTION = Section("<!-- results: written by bench.run -->", "<!-- end of results -->")
_IDLE_S = 2.0
_SEND = 310

console = Console(width=140)


def main() -> int:
    options = _options()
    rounds, seconds, java_rounds = (3, 1.0, 1) if options.quick else (5, 3.0, 3)
    program("loadgen"), program("echo_server")
    results = Results()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="signalbox-bench-") as home, ExitStack() as stack:
        peers = [stack.enter_context(echo(BODY_BYTES))]
        makes = [SIGNALBOX] if options.no_apache else [SIGNALBOX, APACHE]
        for make in makes:
            peers += _start(stack, make, Path(home) / make.name, results, 1 if options.quick else 3)
        idle = {peer.name: anonymous_bytes(peer.pid) for peer in peers}
        for peer in peers[1:]:
            _prepare(peer, with_java=not options.no_java)
        cases = [(case, rounds) for case in NATIVE_CASES]
        cases += [] if options.no_java else [(case, java_rounds) for case in JAVA_CASES]
        for case, count in cases:
            if options.case in case.title:
                _measure(case, peers, count, seconds, results)
        for peer in peers:
            results.starts[peer.name] = Start(peer.started_in_s, idle[peer.name], anonymous_bytes(peer.pid))
    for table in tables(results):
        console.print(table)
    for name, reason in results.not_measured.items():
        console.print(f"not measured: {name}: {reason}")
    if options.write:
        SECTION.write(markdown(results, _heading(rounds, java_rounds, seconds, load)))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short rounds: a look, not a publication")
    parser.add_argument("--no-java", action="store_true", help="leave out the official Java client as load")
    parser.add_argument("--no-apache", action="store_true", help="leave out Apache RocketMQ's broker")
    parser.add_argument("--case", default="", metavar="TEXT", help="only cases whose title contains this")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    return parser.parse_args()


def _start(stack: ExitStack, make: Make, home: Path, results: Results, starts: int) -> list[Peer]:
    """The peer, or nothing and the reason why."""
    try:
        with _told(f"starting {make.name}"):
            peer = stack.enter_context(broker(make, home, starts))
            time.sleep(_IDLE_S)
            return [peer]
    except (MavenFailed, FileNotFoundError) as error:
        results.not_measured[make.name] = str(error).partition("\n")[0]
        return []


def _prepare(peer: Peer, *, with_java: bool) -> None:
    """Make the topics, and the backlogs that pulls and the Java consumer read."""
    backlogs = {
        "bench": 0,
        "bench_java": 0,
        PULL_TOPIC: PULL_BACKLOG,
        CONSUME_TOPIC: CONSUME_BACKLOG * with_java,
    }
    for topic, backlog in backlogs.items():
        _create(peer, topic)
        if backlog:
            fill(peer.port, Load("batch", in_flight=8, body_bytes=BODY_BYTES, topic=topic), backlog)


def _create(peer: Peer, topic: str) -> None:
    """By a first send, as clients do. Its route is known a moment later."""
    fields = dict(zip("abcdefgh", ("bench_producer", topic, "TBW102", "4", "0", "0", "1", "0"), strict=True))
    answer = call(peer.address, _SEND, fields, b"x" * BODY_BYTES)
    if answer.code != 0:
        raise RuntimeError(f"{peer.name} refused a first send: {answer}")


def _measure(case: Case, peers: list[Peer], rounds: int, seconds: float, results: Results) -> None:
    for number in range(rounds):
        for peer in peers:
            if peer.name_server or case.has_ceiling:
                with _told(f"{case.title}: round {number + 1} of {rounds}, {peer.name}"):
                    results.add(case.title, peer.name, case.measure(peer, seconds))


@contextmanager
def _told(what: str) -> Iterator[None]:
    with console.status(what):
        yield


def _heading(rounds: int, java_rounds: int, seconds: float, load: float) -> str:
    return (
        f"{machine()}; {datetime.now(UTC):%Y-%m-%d}; n = {rounds} rounds of {seconds:g} s per server "
        f"({java_rounds} with the Java client), medians; {BODY_BYTES}-byte bodies; "
        f"load average {load:.1f} before the run began."
    )


if __name__ == "__main__":
    raise SystemExit(main())
