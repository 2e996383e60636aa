"""`python -m bench.spark_reads [--messages N] [--quick] [--write]`: how fast Spark reads a store.

The store is one that the real broker wrote (`bench.spark_store`); what Spark counts and sums is compared with
the broker's own numbers first, and nothing is measured when they differ. Each read decodes its columns and
throws the rows away (Spark's format `noop`), in `local[2]` with a driver of 1 GiB, after a round of warm-up.
Half of the store is a store of half the messages, not half of the same files. Memory is the most that the
driver's JVM and all Python workers had as their own, looked at every 200 ms.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from bench.page import Section
from bench.spark_store import HOUR_S, TOPICS, Expected, kept_store
from bench.usage import anonymous_bytes, machine
from spark.schemas import COLUMNS, HEAVY_COLUMNS
from spark.session import open_session

SECTION = Section("<!-- spark: written by bench.spark_reads -->", "<!-- end of spark -->")
LIGHT = tuple(name for name in COLUMNS if name not in HEAVY_COLUMNS)
STORED = tuple(name for name in LIGHT if name not in ("tags", "keys", "unique_key"))
"""What a record says without a look into its properties or its body."""
PROPERTIES = (*LIGHT, "properties")
MASTER, DRIVER_MEMORY = "local[2]", "1g"
_LOOK_S = 0.2

console = Console(width=140)
Read = Callable[[], DataFrame]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    messages: int
    read: Read


@dataclass(frozen=True, slots=True)
class Timed:
    case: Case
    seconds: list[float]

    @property
    def middle_s(self) -> float:
        return median(self.seconds)

    @property
    def rate(self) -> float:
        return self.case.messages / self.middle_s


def read(session: SparkSession, store: Path, columns: Sequence[str] = ()) -> DataFrame:
    """Loaded anew each time: Spark keeps what it pushed down with the loaded table."""
    return session.read.format("commitlog").option("columns", ",".join(columns)).load(str(store))


def check(session: SparkSession, store: Path, expected: Expected) -> None:
    """Counts and sums as the broker has them, or no benchmark."""
    rows = read(session, store, ("topic", "size", "commit_log_offset")).where(F.col("topic").isin(*TOPICS))
    found = {row["topic"]: row["count"] for row in rows.groupBy("topic").count().collect()}
    if found != expected.by_topic:
        raise SystemExit(f"Spark counts {found}, the broker {expected.by_topic}")
    place = F.col("commit_log_offset")
    [whole] = (
        read(session, store, ("size", "commit_log_offset"))
        .agg(F.min(place).alias("first"), F.max(place + F.col("size")).alias("end"))
        .collect()
    )
    if (whole["first"], whole["end"]) != (expected.min_offset, expected.max_offset):
        raise SystemExit(f"Spark reads {whole}, the broker {expected.min_offset}–{expected.max_offset}")


def cases(session: SparkSession, store: Path, expected: Expected, half: Path) -> list[Case]:
    begin = datetime.fromtimestamp(expected.first_hour_s + 4 * HOUR_S, UTC)
    hour = F.col("store_time").between(begin, begin + timedelta(hours=1) - timedelta(microseconds=1))
    whole, topic = expected.messages, TOPICS[3]
    return [
        Case("size only", whole, lambda: read(session, store, ("size",))),
        Case("all that is not in properties or body", whole, lambda: read(session, store, STORED)),
        Case("the same with tags, keys and unique key", whole, lambda: read(session, store, LIGHT)),
        Case("that, half as many messages", whole // 2, lambda: read(session, half, LIGHT)),
        Case("with properties", whole, lambda: read(session, store, PROPERTIES)),
        Case("with properties and body", whole, lambda: read(session, store)),
        Case(
            "one topic of ten, pushed down",
            expected.by_topic[topic],
            lambda: read(session, store, LIGHT).where(F.col("topic") == topic),
        ),
        Case("one hour of ten, pushed down", whole // 10, lambda: read(session, store, LIGHT).where(hour)),
    ]


def measure(case: Case, rounds: int) -> Timed:
    seconds = []
    for number in range(rounds + 1):
        with console.status(f"{case.name}: {'warming up' if not number else f'round {number} of {rounds}'}"):
            begun = time.monotonic()
            case.read().write.format("noop").mode("overwrite").save()
            seconds.append(time.monotonic() - begun)
    timed = Timed(case, seconds[1:])
    console.print(f"{case.name}: {timed.middle_s:.2f} s, {timed.rate / 1e6:.2f} million messages/s")
    return timed


@contextmanager
def most_memory(pid: int) -> Iterator[dict[str, int]]:
    """The most of the JVM and of all its children together, once the block is over."""
    most = {"jvm": 0, "workers": 0}
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_S):
            most["jvm"] = max(most["jvm"], _bytes_of(pid))
            most["workers"] = max(most["workers"], sum(_bytes_of(child) for child in _below(pid)))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    yield most
    over.set()
    watcher.join()


def _bytes_of(pid: int) -> int:
    try:
        return anonymous_bytes(pid)
    except (OSError, ValueError):
        return 0


def _below(pid: int) -> Iterator[int]:
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in listed.read_text().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from _below(child)


def table(timed: Sequence[Timed], memory: dict[str, int], rounds: int) -> Iterator[str]:
    by_name = {one.case.name: one for one in timed}
    full = by_name["the same with tags, keys and unique key"]
    yield f"{machine()}. {datetime.now(UTC):%Y-%m-%d}, n = {rounds} after one round of warm-up."
    yield ""
    yield "| read | messages | seconds (min–max) | million messages/s | × the full scan |"
    yield "| --- | --- | --- | --- | --- |"
    for one in timed:
        spread = f"{one.middle_s:.2f} ({min(one.seconds):.2f}–{max(one.seconds):.2f})"
        times = f"{full.middle_s / one.middle_s:.1f}"
        yield f"| {one.case.name} | {one.case.messages} | {spread} | {one.rate / 1e6:.2f} | {times} |"
    yield ""
    yield (
        f"The driver's JVM (heap {DRIVER_MEMORY}) had at most {memory['jvm'] / 1e6:.0f} MB of its own, "
        f"all Python workers together {memory['workers'] / 1e6:.0f} MB."
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=5_000_000, help="how many the store holds")
    parser.add_argument("--rounds", type=int, default=3, help="how often each read is timed")
    parser.add_argument("--quick", action="store_true", help="200,000 messages, one round")
    parser.add_argument("--write", action="store_true", help="replace the table in docs/benchmarks.md")
    asked = parser.parse_args()
    messages, rounds = (200_000, 1) if asked.quick else (asked.messages, asked.rounds)
    with console.status("writing stores by the real broker (once: they are kept under build/)"):
        (store, expected), (half, half_expected) = kept_store(messages), kept_store(messages // 2)
    session = open_session("bench", master=MASTER, settings={"spark.driver.memory": DRIVER_MEMORY})
    try:
        with console.status("comparing with the broker's own numbers"):
            check(session, store, expected)
            check(session, half, half_expected)
        jvm = session.sparkContext._gateway.proc.pid
        with most_memory(jvm) as memory:
            timed = [measure(case, rounds) for case in cases(session, store, expected, half)]
    finally:
        session.stop()
    text = "\n".join(table(timed, memory, rounds))
    console.print(text)
    if asked.write:
        SECTION.write(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
