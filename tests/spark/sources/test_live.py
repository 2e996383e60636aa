"""The format `live`: what brokers answer is what their files hold; as a stream, every message once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from engine.client.consuming.pull_requests import PullStatus, RawPull
from engine.errors import BadInput, CorruptRecord
from spark.schemas import message_schema
from spark.session import reason_of
from spark.sources import live
from spark.sources.live_queues import LiveOptions, LiveQueue
from spark.sources.live_stream import LiveStreamReader
from spark.sources.rates import shared_out
from spark.sources.wanted import Wanted
from tests.spark.sources.conftest import Running, launch
from tests.spark.sources.streams import Query, Sender

pytestmark = pytest.mark.timeout(900)

PLACE = ("topic", "queue_id", "queue_offset", "commit_log_offset", "size", "store_time", "keys", "body_crc")
BATCH_RECORDS = 700


def load(session: SparkSession, running: Running, **options: str) -> DataFrame:
    reader = session.read.format("live").options(name_servers=running.name_server.address, **options)
    return reader.load()


def from_files(session: SparkSession, running: Running) -> DataFrame:
    reader = session.read.format("commitlog").option("columns", ",".join(PLACE))
    return reader.option("topics", ",".join(running.sent)).load(str(running.store))


def place(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in PLACE)


def test_brokers_answer_what_their_files_hold(session: SparkSession, running: Running) -> None:
    answered = load(session, running, columns=",".join((*PLACE, "cluster", "broker", "store", "kind")))
    rows = answered.where("kind = 'normal'").collect()
    assert Counter(row["topic"] for row in rows) == running.sent
    assert {(row["cluster"], row["broker"], row["store"]) for row in rows} == {
        ("ClientCluster", "spark-a", running.broker.address)
    }
    kept = from_files(session, running).collect()
    assert sorted(map(place, rows)) == sorted(map(place, kept))


def test_topics_times_and_filters_narrow_what_is_asked(session: SparkSession, running: Running) -> None:
    kept = from_files(session, running).cache()
    middle = kept.agg(F.expr("percentile_approx(store_time, 0.5)")).collect()[0][0]
    text = middle.isoformat() + "+00:00"
    expected = kept.where((F.col("topic") == "orders") & (F.col("store_time") >= middle))
    asked = load(session, running, columns=",".join(PLACE), topics="orders", **{"from": text})
    assert sorted(asked.collect()) == sorted(expected.collect()) != []
    earlier = kept.where((F.col("topic") == "orders") & (F.col("store_time") < middle))
    asked = load(session, running, columns=",".join(PLACE), topics="orders", to=text)
    assert sorted(asked.collect()) == sorted(earlier.collect()) != []
    # Each batch went to a queue of the producer's choice: only these have a third message.
    queue = kept.where("topic = 'rare' AND queue_offset = 2").collect()[0]["queue_id"]
    pushed = (F.col("topic") == "rare") & (F.col("queue_id") == queue) & (F.col("queue_offset") >= 2)
    asked = load(session, running, columns=",".join(PLACE)).where(pushed)
    assert sorted(asked.collect()) == sorted(kept.where(pushed).collect()) != []
    kept.unpersist()


def test_no_name_server_is_one_clear_line(session: SparkSession) -> None:
    with pytest.raises(PySparkException) as caught:
        session.read.format("live").option("topics", "orders").load().count()
    assert reason_of(caught.value) == 'no name server was given: option("name_servers", "host:port")'


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"starting": "newest"}, "no such starting: newest (there are earliest, latest)"),
        ({"max_records_per_trigger": "many"}, "max_records_per_trigger must be a number above 0, not many"),
        ({"damage": "ignore"}, "no such damage: ignore (there are fail, skip)"),
    ],
)
def test_wrong_options_of_a_stream_are_refused(options: dict[str, str], told: str) -> None:
    with pytest.raises(BadInput) as caught:
        LiveStreamReader({"name_servers": "127.0.0.1:1", **options}, message_schema(("topic",)))
    assert caught.value.text == told


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 100), min_size=1), st.integers(1, 300))
def test_a_limit_is_shared_out_whole_and_never_exceeded(waiting: dict[str, int], most: int) -> None:
    taken = shared_out(waiting, most)
    assert sum(taken.values()) == min(most, sum(waiting.values()))
    assert all(0 <= taken[key] <= count for key, count in waiting.items())
    unsatisfied = [taken[key] for key, count in waiting.items() if taken[key] < count]
    assert max(unsatisfied, default=0) - min(unsatisfied, default=0) <= 1, "evenly"


class Emptied:
    """A broker that has nothing where messages were promised."""

    def __init__(self, status: PullStatus, next_offset: int) -> None:
        self.answer = RawPull(status, next_offset, 0, b"")
        self.asked = 0

    def __call__(self, options: LiveOptions) -> Emptied:
        return self

    def __enter__(self) -> Emptied:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def pull(self, queue: LiveQueue, offset: int, count: int) -> RawPull:
        self.asked += 1
        return self.answer


@pytest.mark.parametrize(
    ("status", "next_offset", "asked"),
    [(PullStatus.NO_NEW_MSG, 10, 51), (PullStatus.OFFSET_ILLEGAL, 7, 1)],
)
@pytest.mark.parametrize("is_strict", [True, False])
def test_messages_that_a_broker_has_lost_are_no_empty_answer(
    monkeypatch: pytest.MonkeyPatch, status: PullStatus, next_offset: int, asked: int, is_strict: bool
) -> None:
    broker = Emptied(status, next_offset)
    monkeypatch.setattr(live, "Brokers", broker)
    monkeypatch.setattr(live.time, "sleep", lambda seconds: None)
    part = live.QueuePart(LiveQueue("c", "b", "127.0.0.1:1", "orders", 0), 10, 20)
    options = LiveOptions("127.0.0.1:1")
    with pytest.raises(CorruptRecord, match="messages 10 to 20 of b/orders/0 are not there"):
        list(live.read_part(part, options, message_schema(("topic",)), Wanted(), is_strict))
    assert broker.asked == asked


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[tuple[Running, Query]]:
    running = launch(tmp_path)
    options = {
        "name_servers": running.name_server.address,
        "topics": "orders",
        "columns": "queue_id,queue_offset,body",
        "max_records_per_trigger": str(BATCH_RECORDS),
    }
    query = Query(tmp_path, "live", options)
    try:
        yield running, query
    finally:
        query.close()
        running.broker.stop()
        running.name_server.stop()


@pytest.mark.nightly
def test_a_killed_stream_of_a_broker_has_every_message_once(
    session: SparkSession, followed: tuple[Running, Query]
) -> None:
    running, query = followed
    with Sender(running.name_server.address, "orders").sending() as sender:
        query.start()
        query.kill_inside_a_batch(after=3)
        query.start()
        query.kill_between_batches(after=2)
    query.start(until_done=True)
    query.wait()
    written = session.read.parquet(str(query.output))
    rows = written.select(F.split(F.col("body").cast("string"), " ")[0], "queue_id", "queue_offset").collect()
    times = Counter(int(row[0]) for row in rows)
    wrong = Counter(times[number] for number in {*sender.acknowledged, *times} if times[number] != 1)
    assert not wrong, f"of {len(sender.acknowledged)} sent, by how often they are there: {wrong}"
    assert len(times) == len(sender.acknowledged)
    assert len({(row["queue_id"], row["queue_offset"]) for row in rows}) == len(rows)
    steps = [sum(step.values()) for step in query.steps()]
    assert len(steps) >= 6, "several batches in each of its lives"
    assert max(steps) == BATCH_RECORDS, "a full batch takes what was said, and none more"
