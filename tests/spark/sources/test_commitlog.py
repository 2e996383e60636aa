"""The format `commitlog` beside a running broker: its numbers are the broker's."""

from __future__ import annotations

import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from engine.client import blocking
from spark.schemas import COLUMNS
from spark.session import reason_of
from tests.spark.sources.conftest import Running

TOTAL = 20_020
SMALL = {"part_bytes": str(1 << 20)}


def load(
    session: SparkSession, *stores: Path | str, columns: str = "topic,size", **options: str
) -> DataFrame:
    reader = session.read.format("commitlog").options(columns=columns, **SMALL, **options)
    return reader.load([str(store) for store in stores]) if len(stores) > 1 else reader.load(str(stores[0]))


def counts(frame: DataFrame) -> dict[str, int]:
    return {row["topic"]: row["count"] for row in frame.groupBy("topic").count().collect()}


def test_a_live_store_gives_the_brokers_own_numbers(session: SparkSession, running: Running) -> None:
    with blocking.Admin(namesrv=running.name_server.address) as admin:
        info = admin.brokers.runtime_info(running.broker.address)
        tables = {
            topic: admin.topics.stats_on_broker(running.broker.address, topic) for topic in running.sent
        }
    held = {
        topic: sum(queue.max_offset - queue.min_offset for queue in table.offset_table.values())
        for topic, table in tables.items()
    }
    assert (running.store / "abort").exists(), "the broker runs"
    frame = load(session, running.store, columns="topic,queue_id,queue_offset,size,commit_log_offset")
    assert counts(frame) == held == running.sent
    ends: Any = frame.groupBy("topic", "queue_id").agg(F.max("queue_offset"), F.count("*")).collect()
    for topic, queue_id, last, count in ends:
        offsets = {queue.queue_id: at for queue, at in tables[topic].offset_table.items()}[queue_id]
        assert (last + 1, count) == (offsets.max_offset, offsets.max_offset - offsets.min_offset)
    last = frame.agg(F.max(F.col("commit_log_offset") + F.col("size"))).first()
    assert last == Row(**{last.__fields__[0]: int(info["commitLogMaxOffset"])})


def test_every_column_arrives_in_spark(session: SparkSession, running: Running) -> None:
    named = f"ClientCluster/spark-a={running.store}"
    frame = session.read.format("commitlog").options(**SMALL).load(named)
    assert frame.columns == list(COLUMNS)
    row = frame.where("topic = 'rare'").orderBy("commit_log_offset").first()
    assert row is not None
    assert row["cluster"] == "ClientCluster" and row["broker"] == "spark-a" and row["kind"] == "normal"
    assert row["store"] == str(running.store) and row["store_host"] == running.broker.address
    assert row["tags"] == "paid" and row["keys"] == row["properties"]["KEYS"] == "rare-0"
    assert row["unique_key"] == row["properties"]["UNIQ_KEY"]
    assert row["body"] == b"0 " + b"x" * 400 and row["body_size"] == 402
    assert timedelta(0) <= row["store_time"] - row["born_time"] < timedelta(minutes=5)
    # Loaded anew: see docs/spark.md, "One load, one filter".
    frame = session.read.format("commitlog").options(**SMALL).load(named)
    crc = frame.where((F.crc32("body").bitwiseAND(0x7FFFFFFF)) != F.col("body_crc")).count()
    assert crc == 0


def test_filters_find_what_a_whole_read_finds(session: SparkSession, running: Running) -> None:
    columns = "topic,queue_id,queue_offset,commit_log_offset,store_time,kind"
    frame = load(session, running.store, columns=columns)
    kept = frame.cache()
    assert kept.count() == TOTAL
    middle = kept.agg(F.expr("percentile_approx(store_time, 0.5)")).collect()[0][0]
    place = kept.agg(F.expr("percentile_approx(commit_log_offset, 0.7)")).collect()[0][0]
    for condition in (
        F.col("topic") == "rare",
        F.col("topic").isin("rare", "logs"),
        F.col("topic").startswith("ra"),
        F.col("store_time") < middle,
        (F.col("store_time") >= middle) & (F.col("topic") == "orders"),
        (F.col("topic") == "orders") & (F.col("queue_id") == 1) & (F.col("queue_offset") > 2500),
        F.col("commit_log_offset") >= place,
        F.col("kind") != "normal",
    ):
        assert sorted(frame.where(condition).collect()) == sorted(kept.where(condition).collect()), condition
    kept.unpersist()


def test_a_store_grows_while_it_is_read(session: SparkSession, running: Running) -> None:
    running.send(700, ("logs",))
    deadline = time.monotonic() + 30
    while counts(load(session, running.store)) != running.sent:
        assert time.monotonic() < deadline, "what was acknowledged can be read"


def test_replicas_and_several_stores_in_one_read(
    session: SparkSession, running: Running, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(running.store / "commitlog", copy / "commitlog")
    one = load(session, running.store, columns="store")
    both = load(session, running.store, copy, columns="store")
    assert both.select("store").distinct().count() == 1, "a copy of the same log is read once"
    assert both.count() == one.count()


def test_archived_segments_are_read_alone(session: SparkSession, running: Running, tmp_path: Path) -> None:
    first = sorted((running.store / "commitlog").iterdir())[:2]
    for segment in first:
        shutil.copy(segment, tmp_path / segment.name)
    frame = load(session, f"file://{tmp_path}", columns="commit_log_offset,size")
    assert frame.agg(F.max("commit_log_offset")).collect()[0][0] > int(first[1].name)
    assert 0 < frame.count() < TOTAL


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("nowhere", {}, "no such store: {home}/nowhere is not a folder"),
        ("empty", {}, "not a store: {home}/empty has no commitlog folder, and no segments of one"),
        (
            "cut",
            {},
            "{home}/cut/commitlog/00000000000004194304 is cut: it has 2097152 bytes, the log goes on",
        ),
        (
            "cut",
            {"from": "2026-02-01", "to": "2026-01-01"},
            "wrong time range: from 2026-02-01 is not before",
        ),
        ("cut", {"columns": "msgid"}, "no such column: msgid"),
    ],
)
def test_bad_input_is_one_clear_line(
    session: SparkSession, running: Running, tmp_path: Path, name: str, options: dict[str, str], told: str
) -> None:
    (tmp_path / "empty").mkdir()
    if name == "cut":
        shutil.copytree(running.store, tmp_path / "cut")
        segment = tmp_path / "cut" / "commitlog" / "00000000000004194304"
        segment.write_bytes(segment.read_bytes()[: 2 << 20])
    with pytest.raises(PySparkException) as caught:
        session.read.format("commitlog").options(**options).load(str(tmp_path / name)).count()
    assert reason_of(caught.value).startswith(told.format(home=tmp_path))
    assert "\n" not in reason_of(caught.value)


def test_what_the_documents_call_safe_is_right(session: SparkSession, running: Running) -> None:
    """docs/spark.md, "One load, one filter"."""
    expected = {topic: running.sent[topic] for topic in ("orders", "rare")}

    def loaded(**options: str) -> DataFrame:
        return load(session, running.store, **options)

    by_options = loaded(topics="orders").unionByName(loaded(topics="rare"))
    by_loads = loaded().where("topic = 'orders'").unionByName(loaded().where("topic = 'rare'"))
    at_once = loaded().where("topic IN ('orders', 'rare')")
    kept = loaded().cache()
    by_cache = kept.where("topic = 'orders'").unionByName(kept.where("topic = 'rare'"))
    assert [counts(frame) for frame in (by_options, by_loads, at_once, by_cache)] == [expected] * 4
    kept.unpersist()
