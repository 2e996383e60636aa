"""The commit log as a stream, beside a broker that writes and rolls: killed and started again, the Parquet
files hold every acknowledged message once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.spark.sources.conftest import Running, launch
from tests.spark.sources.streams import Query, Sender

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]

SEGMENT_BYTES = 1 << 20
BATCH_BYTES = 3 << 20
COLUMNS = "topic,queue_id,queue_offset,commit_log_offset,size,body"


@pytest.fixture
def rolling(tmp_path: Path) -> Iterator[Running]:
    started = launch(tmp_path, segment_bytes=SEGMENT_BYTES)
    try:
        yield started
    finally:
        started.broker.stop()
        started.name_server.stop()


@pytest.fixture
def query(rolling: Running, tmp_path: Path) -> Iterator[Query]:
    options = {
        "stores": f"ClientCluster/spark-a={rolling.store}",
        "columns": COLUMNS,
        "max_bytes_per_trigger": str(BATCH_BYTES),
    }
    made = Query(tmp_path, "commitlog", options)
    yield made
    made.close()


def test_a_killed_stream_of_a_rolling_log_has_every_message_once(
    session: SparkSession, rolling: Running, query: Query
) -> None:
    with Sender(rolling.name_server.address, "orders").sending() as sender:
        query.start()
        query.kill_inside_a_batch(after=3)
        query.start()
        query.kill_between_batches(after=2)
        query.start()
        query.kill_inside_a_batch(after=2)
    query.start(until_done=True)
    query.wait()
    written = session.read.parquet(str(query.output))
    rows = written.select(F.split(F.col("body").cast("string"), " ")[0], "commit_log_offset").collect()
    times = Counter(int(number) for number, _ in rows)
    wrong = {number: times[number] for number in {*sender.acknowledged, *times} if times[number] != 1}
    assert not wrong, (
        f"of {len(sender.acknowledged)} sent, by how often they are there: {Counter(wrong.values())}"
    )
    assert len(times) == len(sender.acknowledged)
    assert len({offset for _, offset in rows}) == len(rows)
    segments = sorted(path.name for path in (rolling.store / "commitlog").iterdir())
    assert len({offset // SEGMENT_BYTES for _, offset in rows}) >= 4, f"the log has rolled: {segments}"
    steps = [sum(step.values()) for step in query.steps()]
    assert len(steps) >= 8, "several batches in each of its lives"
    assert max(steps) <= BATCH_BYTES, "no batch takes more than was said"
