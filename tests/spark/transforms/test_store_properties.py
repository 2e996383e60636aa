"""What must hold for any log: many small worlds, each a cluster of its own in one DataFrame, against models
that take the records one by one.

A world is made from a seed, so a failure names the world that it is about; clusters must not touch each
other, or all of these fail.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from engine.protocol.hashes import body_crc, tags_code
from spark.transforms.audit_report import audit_report
from spark.transforms.checksums import AUDIT_COLUMNS
from spark.transforms.costs import LABELS, Prices
from spark.transforms.disks import DISKS
from spark.transforms.gaps import BLANKS
from spark.transforms.percentiles import percentile
from spark.transforms.queue_entries import ENTRIES
from spark.transforms.retention_report import retention_report
from spark.transforms.subscriptions import COMMITTED
from spark.transforms.trace_events import TRACE_COLUMNS
from spark.transforms.unused import NAMES
from spark.transforms.usage import USAGE_COLUMNS
from spark.transforms.usage_report import usage_report
from spark.transforms.volumes import SEGMENTS, VOLUME_COLUMNS
from tests.spark.worlds import HOUR_MS, at, cached, frame, log_of, message, rows_of

pytestmark = pytest.mark.timeout(900)
SEGMENT = 1000
NOW_H = 200
CHOICES = (1, 10, 50, 120)
Row = dict[str, Any]
World = list[Row]


def laid_out(seed: int) -> World:
    """Records as a broker lays them out: file after file, queue offsets without holes."""
    rng = random.Random(seed)
    name = f"w{seed}"
    at_offset, hours, queues, rows = 0, 0.0, Counter[tuple[str, int]](), []
    begins = {queue: rng.randrange(5) for queue in ((topic, q) for topic in "ab" for q in (0, 1))}
    for number in range(rng.randrange(1, 20)):
        size, queue = rng.randrange(60, 400), (rng.choice("ab"), rng.randrange(2))
        if at_offset % SEGMENT + size + 8 > SEGMENT:
            at_offset += SEGMENT - at_offset % SEGMENT
        hours += rng.choice((0, 0.25, 3, 40)) * rng.random()
        tag = rng.choice((None, "x", "y"))
        body = rng.randbytes(rng.randrange(4))
        rows.append(
            message(
                queue[0],
                queue_id=queue[1],
                cluster=name,
                broker=name,
                store=name,
                queue_offset=begins[queue] + queues[queue],
                commit_log_offset=at_offset,
                size=size,
                stored=round(min(hours, NOW_H) * HOUR_MS),
                id=f"{name}-{number}",
                tags=tag,
                keys=rng.choice((None, "k", "k l", "l")),
                body=body,
                body_crc=body_crc(body),
            )
        )
        queues[queue] += 1
        at_offset += size
    return rows


def files_of(world: World) -> list[Row]:
    where = {name: world[0][name] for name in ("cluster", "broker", "store")}
    starts = sorted({row["commit_log_offset"] // SEGMENT * SEGMENT for row in world})
    return [
        {**where, "segment": start, "file_bytes": SEGMENT, "is_last": start == starts[-1]} for start in starts
    ]


def all_of(worlds: Iterable[World], part: Callable[[World], list[Row]] = lambda world: world) -> list[Row]:
    return [row for world in worlds for row in part(world)]


# -- retention ----------------------------------------------------------------------------------------------


def committed_in(world: World) -> list[Row]:
    rng = random.Random(f"{world[0]['cluster']}")
    queues = sorted({(row["topic"], row["queue_id"]) for row in world})
    where = {name: world[0][name] for name in ("cluster", "broker", "store")}
    return [
        {**where, "topic": topic, "group": group, "queue_id": queue, "committed": rng.randrange(-1, 15)}
        for topic, queue in queues
        for group in ("g", "h")
        if rng.random() < 0.8
    ]


def gone_at(world: World, hours: int) -> set[int]:
    """The files that retention deletes, by hand."""
    gone: set[int] = set()
    newest: dict[int, Any] = {}
    for row in world:
        newest[row["commit_log_offset"] // SEGMENT * SEGMENT] = row["store_time"]
    for start in sorted(newest)[:-1]:
        if newest[start] > at((NOW_H - hours) * HOUR_MS):
            break
        gone.add(start)
    return gone


def lost_by_hand(world: World, offsets: list[Row], hours: int) -> Counter[tuple[str, str]]:
    gone = gone_at(world, hours)
    return Counter(
        (commit["group"], commit["topic"])
        for commit in offsets
        for row in world
        if commit["committed"] >= 0
        and (row["topic"], row["queue_id"]) == (commit["topic"], commit["queue_id"])
        and row["queue_offset"] >= commit["committed"]
        and row["commit_log_offset"] // SEGMENT * SEGMENT in gone
    )


@pytest.mark.nightly
def test_retention_takes_what_a_look_at_each_record_says(session: SparkSession, seeds: list[int]) -> None:
    worlds = {f"w{seed}": laid_out(seed) for seed in seeds}
    offsets = {name: committed_in(world) for name, world in worlds.items()}
    disks = [{"store": name, "disk": name, "total_bytes": 10**6, "free_bytes": 10**5} for name in worlds]
    report = retention_report(
        log_of(session, all_of(worlds.values()), VOLUME_COLUMNS),
        frame(session, all_of(worlds.values(), files_of), SEGMENTS),
        frame(session, disks, DISKS),
        frame(session, [row for rows in offsets.values() for row in rows], COMMITTED),
        begin=None,
        end=None,
        now=at(NOW_H * HOUR_MS),
        hours=50,
        choices=CHOICES,
        full_ratio=0.9,
        keep=cached,
    )
    tables = {name: rows_of(report[name]) for name in ("volume", "settings", "groups", "stores")}
    freed = {(row["cluster"], row["hours"]): row for row in tables["settings"]}
    groups = {(row["cluster"], row["group"], row["topic"]): row for row in tables["groups"]}
    volume = Counter[str]()
    for row in tables["volume"]:
        volume[row["cluster"]] += row["bytes"]
    for name, world in worlds.items():
        assert volume[name] == sum(row["size"] for row in world), name
        for hours in CHOICES:
            gone, row = gone_at(world, hours), freed[name, hours]
            inside = sum(r["commit_log_offset"] // SEGMENT * SEGMENT in gone for r in world)
            assert (row["files_freed"], row["messages_freed"]) == (len(gone), inside), (name, hours)
            assert row["messages_kept"] == len(world) - inside
            lost = lost_by_hand(world, offsets[name], hours)
            assert row["messages_lost"] == lost.total(), (name, hours)
        now = lost_by_hand(world, offsets[name], 50)
        for group, topic in {(row["group"], row["topic"]) for row in offsets[name] if row["committed"] >= 0}:
            assert groups[name, group, topic]["lost_messages"] == now[group, topic], (name, group, topic)
    for row in tables["stores"]:
        # Whatever is recommended loses nothing that the setting in force would keep, unless the disk is full.
        assert row["recommended_hours"] >= 1
        if row["reason"] == "unread_lost":
            assert row["hours"] < row["recommended_hours"]


# -- usage --------------------------------------------------------------------------------------------------


def test_usage_counts_every_message_and_byte_once(session: SparkSession, seeds: list[int]) -> None:
    worlds = {f"w{seed}": laid_out(seed) for seed in seeds}
    labels = [{"kind": "topic", "pattern": "a", "team": "as"}]
    report = usage_report(
        log_of(session, all_of(worlds.values()), USAGE_COLUMNS),
        log_of(session, [], TRACE_COLUMNS),
        frame(session, [], NAMES),
        frame(session, [], COMMITTED),
        frame(session, labels, LABELS),
        until=at(NOW_H * HOUR_MS),
        prices=Prices(per_gigabyte=1.0),
        most=3,
        hot_share=0.5,
        keep=cached,
    )
    tables = {name: rows_of(report[name]) for name in ("usage", "sizes", "keys", "tags", "costs")}
    by_cluster: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for table, rows in tables.items():
        for row in rows:
            by_cluster[row["cluster"]][table].append(row)
    for name, world in worlds.items():
        found = by_cluster[name]
        assert sum(row["messages"] for row in found["usage"]) == len(world), name
        assert sum(row["bytes"] for row in found["costs"]) == sum(row["size"] for row in world), name
        assert sum(row["messages"] for row in found["sizes"]) == len(world), name
        assert sum(row["messages"] for row in found["tags"]) == len(world), "three tags at most"
        keys = Counter(
            (r["topic"], r["store_time"].date(), k) for r in world for k in (r["keys"] or "").split()
        )
        assert {(row["topic"], row["day"], row["key"]): row["messages"] for row in found["keys"]} == keys, (
            name
        )
        teams = {row["team"]: row["messages"] for row in found["costs"]}
        by_hand = Counter("as" if row["topic"] == "a" else None for row in world)
        assert teams == by_hand, name


# -- audit --------------------------------------------------------------------------------------------------


def entries_of(world: World) -> list[Row]:
    same = ("cluster", "broker", "store", "topic", "queue_id", "queue_offset", "commit_log_offset", "size")
    return [{**{name: row[name] for name in same}, "tags_code": tags_code(row["tags"])} for row in world]


def blanks_of(world: World) -> list[Row]:
    ends: dict[int, int] = {}
    for row in world:
        ends[row["commit_log_offset"] // SEGMENT * SEGMENT] = row["commit_log_offset"] + row["size"]
    return [
        {"store": world[0]["store"], "segment": segment, "blank_offset": end} for segment, end in ends.items()
    ]


def harmed(world: World, entries: list[Row], rng: random.Random) -> tuple[World, list[Row], set[str]]:
    """One fault, and the checks of which at least one must find it."""
    record, entry = rng.randrange(len(world)), rng.randrange(len(entries))
    fault = rng.choice(("crc", "size", "place", "tags", "no entry", "no record", "stray entry"))
    world, entries = [dict(row) for row in world], [dict(row) for row in entries]
    if fault == "crc":
        world[record]["body_crc"] ^= 1
        return world, entries, {"crc"}
    if fault == "size":
        entries[entry]["size"] += 1
        return world, entries, {"entry_size"}
    if fault == "place":
        entries[entry]["queue_offset"] += 1
        return world, entries, {"entry_place"}
    if fault == "tags":
        entries[entry]["tags_code"] += 1
        return world, entries, {"entry_tags"}
    if fault == "no entry":
        del entries[entry]
        return world, entries, {"record_without_entry", "queue_missing"}
    if fault == "no record":
        del world[record]
        return world, entries, {"entry_without_record"}
    entries.append({**entries[entry], "commit_log_offset": entries[entry]["commit_log_offset"] + 1})
    return world, entries, {"entry_without_record"}


@pytest.mark.nightly
def test_an_audit_finds_every_fault_and_nothing_else(session: SparkSession, seeds: list[int]) -> None:
    logs, entries, blanks, files, extents = [], [], [], [], []
    expected: dict[str, set[str]] = {}
    for number, seed in enumerate(seeds):
        world = laid_out(seed)
        listed = entries_of(world)
        files += files_of(world)
        blanks += blanks_of(world)
        extents.append((world[0]["store"], 0, world[-1]["commit_log_offset"] + world[-1]["size"]))
        if number % 2 and len(world) > 1:
            world, listed, expected[f"w{seed}"] = harmed(world, listed, random.Random(seed))
        logs += world
        entries += listed
    report = audit_report(
        log_of(session, logs, AUDIT_COLUMNS),
        frame(session, files, SEGMENTS),
        frame(session, entries, ENTRIES),
        session.createDataFrame(extents, "store string, from_offset bigint, to_offset bigint"),
        blanks=lambda ends: frame(session, blanks, BLANKS),
        keep=cached,
    )
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows_of(report["findings"]):
        found[row["cluster"]].add(row["check"])
    assert found.keys() <= expected.keys(), "faults in logs that are whole"
    for name, checks in expected.items():
        assert found[name] & checks, (name, checks, found[name])


# -- percentiles --------------------------------------------------------------------------------------------


def test_a_percentile_is_the_value_of_its_rank(session: SparkSession, seeds: list[int]) -> None:
    shares = (0.5, 0.9, 0.95, 0.99)
    worlds = {}
    for seed in seeds:
        rng = random.Random(seed)
        worlds[seed] = [rng.randrange(rng.choice((3, 10**6))) for _ in range(rng.randrange(1, 300))]
    numbered = [(seed, value) for seed, values in worlds.items() for value in values]
    rows = session.createDataFrame(numbered, "seed bigint, value bigint")
    columns = [percentile(F.col("value"), share).alias(f"p{share}") for share in shares]
    for row in rows_of(rows.groupBy("seed").agg(*columns)):
        values = worlds.pop(row["seed"])
        for share in shares:
            enough = [v for v in values if sum(other <= v for other in values) >= share * len(values)]
            assert row[f"p{share}"] == min(enough), (row["seed"], share)
    assert not worlds
