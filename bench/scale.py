"""`python -m bench.scale [--quick] [--sizes N,N] [--write]`: what requests cost with many topics and groups.

For each size a name server and a broker are started in a folder of their own, and get that many topics (of
one queue, with one message each) and groups (with one member each). Measured is the processor time of the
broker, all threads, for each request: the best of several rounds, because neighbours on a machine make things
slower and never faster. Requests go to 100 of the topics and groups ("to 100"), to all of them by turns ("to
all"), or make a new one each ("new"). "To all" touches a file of its own for each topic, which the kernel
charges to the broker: opening it, and a page each. Start and stop are seconds of the clock. With --write the
table replaces the one in docs/limits.md.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from rich.console import Console

from bench.crowd import (
    Request,
    ScaledBroker,
    ask_all,
    descriptors,
    drawn,
    heartbeat_of,
    pairs,
    populate,
    process_cpu_s,
    pull_from,
    resident_bytes,
    send_to,
    topic_name,
)
from bench.page import Section
from bench.usage import machine

SECTION = Section("<!-- scale: written by bench.scale -->", "<!-- end of scale -->")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "limits.md"
SIZES = (100, 10_000, 100_000)
QUICK_SIZES = (100, 2_000)
REQUESTS = 10_000
NEW = 1_000
_SETTLE_S = 35.0
"""Until what the last requests left to do is done: large tables are written anew half a minute later."""

console = Console(width=140)
Row = dict[str, float]


def measure(broker: ScaledBroker, size: int, rounds: int, say: Callable[[str], None]) -> Row:
    """Microseconds of processor time for each request."""
    numbers = count()

    def new(make: Callable[[list[str]], Iterable[Request]]) -> Iterable[Request]:
        return make([f"new-{next(numbers)}" for _ in range(NEW)])

    kinds: list[tuple[str, Callable[[], Iterable[Request]]]] = [
        ("heartbeat, to 100", lambda: heartbeat_of(pairs(drawn(REQUESTS, min(100, size))))),
        ("heartbeat, to all", lambda: heartbeat_of(pairs(drawn(REQUESTS, size)))),
        ("send, to 100", lambda: send_to(map(topic_name, drawn(REQUESTS, min(100, size))))),
        ("send, to all", lambda: send_to(map(topic_name, drawn(REQUESTS, size)))),
        ("pull, to 100", lambda: pull_from(pairs(drawn(REQUESTS, min(100, size))))),
        ("pull, to all", lambda: pull_from(pairs(drawn(REQUESTS, size)))),
        ("heartbeat, new group", lambda: new(lambda names: heartbeat_of((n, topic_name(0)) for n in names))),
        ("send, new topic", lambda: new(send_to)),
    ]
    row: Row = {}
    for name, requests in kinds:
        say(f"{size:,}: {name}")
        row[name] = min(_cost_us(broker, list(requests())) for _ in range(rounds))
    return row


def _cost_us(broker: ScaledBroker, requests: list[Request]) -> float:
    before = process_cpu_s(broker.pid)
    ask_all(broker.address, requests)
    return (process_cpu_s(broker.pid) - before) / len(requests) * 1e6


def measure_restart(broker: ScaledBroker, row: Row, size: int, say: Callable[[str], None]) -> None:
    say(f"{size:,}: stop, start, kill, start")
    time.sleep(_SETTLE_S)
    row["RSS, MB"] = resident_bytes(broker.pid) / 1e6
    row["descriptors"] = descriptors(broker.pid)
    row["clean stop, s"] = broker.stop()
    row["start, s"] = broker.start()
    row["start, s of processor"] = process_cpu_s(broker.pid)
    broker.kill()
    row["start after kill -9, s"] = broker.start()
    row["RSS after start, MB"] = resident_bytes(broker.pid) / 1e6


def table(rows: dict[int, Row]) -> str:
    sizes = list(rows)
    lines = [
        "| topics and groups, each | " + " | ".join(f"{size:,}" for size in sizes) + " |",
        "|---|" + "---:|" * len(sizes),
    ]
    for name in rows[sizes[0]]:
        label = f"{name}, µs" if name.startswith(("heartbeat", "send", "pull")) else name
        lines.append(f"| {label} | " + " | ".join(_figure(rows[size][name]) for size in sizes) + " |")
    return "\n".join(lines)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def main() -> int:
    options = _options()
    rounds = 3 if options.quick else 5
    load = os.getloadavg()[0]
    rows: dict[int, Row] = {}
    with console.status("") as status:
        for size in options.sizes:
            with tempfile.TemporaryDirectory(prefix="signalbox-scale-") as home:
                broker = ScaledBroker(Path(home))
                try:
                    before, begun = process_cpu_s(broker.pid), time.monotonic()
                    populate(broker.address, size, status.update)
                    made_s, made_cpu_s = time.monotonic() - begun, process_cpu_s(broker.pid) - before
                    status.update(f"{size:,}: waiting until all of it is on disk")
                    time.sleep(_SETTLE_S)
                    rows[size] = measure(broker, size, rounds, status.update)
                    measure_restart(broker, rows[size], size, status.update)
                    rows[size]["all of them made in, s"] = made_s
                    rows[size]["all of them made in, s of processor"] = made_cpu_s
                    console.print(table({size: rows[size]}), markup=False)
                    status.update(f"{size:,}: deleting its files")
                finally:
                    broker.close()
    text = (
        f"{datetime.now(UTC):%Y-%m-%d}, {machine()}; best of {rounds} rounds of {REQUESTS:,} requests "
        f"({NEW:,} new ones); load of the machine before: {load:.1f}, after: {os.getloadavg()[0]:.1f}.\n\n"
    ) + table(rows)
    console.print(text, markup=False)
    if options.write:
        SECTION.write(text, PAGE)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.scale", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="100 and 2,000 of them; a minute")
    parser.add_argument("--sizes", help="how many topics and groups, separated by commas")
    parser.add_argument("--write", action="store_true", help="put the table into docs/limits.md")
    options = parser.parse_args()
    options.sizes = [int(size) for size in options.sizes.split(",")] if options.sizes else list(SIZES)
    if options.quick and options.sizes == list(SIZES):
        options.sizes = list(QUICK_SIZES)
    return options


if __name__ == "__main__":
    raise SystemExit(main())
