"""Consume queues against the log: every record has its entry, and every entry its record.

    mismatches   findings, by what is wrong
      entry_without_record   an entry points to where no record begins
      record_without_entry   a record that consumers should find is in no queue
      queue_missing          a queue of the log has no entries at all: one row, `found` records
      entry_size             the entry says another size than the record
      entry_place            the record at the entry's place says another topic, queue or queue offset
      entry_tags             the entry's tag code is not that of the tag: who filters does not get it
    queues       per queue: records, entries, offsets

Only what is in reach of both is compared: entries before the log's beginning point to what retention deleted,
those behind the end that was looked at to what came later. Half and rolled-back messages of transactions have
no entries, and batches stored whole have them in other files. A delayed message's entry holds its time
instead of a tag code; an entry with an extension holds its address.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from engine.protocol.hashes import tags_code
from engine.protocol.sys_flags import INNER_BATCH, TRANSACTION_COMMIT, TRANSACTION_MASK, TRANSACTION_NONE
from spark.transforms.findings import finding
from spark.transforms.volumes import QUEUE

__all__ = ["ENTRIES", "expected_records", "in_reach", "mismatches", "queues"]

ENTRIES = StructType(
    [
        StructField("cluster", StringType(), False),
        StructField("broker", StringType(), False),
        StructField("store", StringType(), False),
        StructField("topic", StringType(), False),
        StructField("queue_id", IntegerType(), False),
        StructField("queue_offset", LongType(), False),
        StructField("commit_log_offset", LongType(), False),
        StructField("size", IntegerType(), False),
        StructField("tags_code", LongType(), False),
    ]
)
"""Written entries of consume queues, one row each."""
_INT32_MIN = -0x8000_0000
_SAID = ("topic", "queue_id", "queue_offset", "size")


def expected_records(records: DataFrame) -> DataFrame:
    """The records that a queue must have an entry for."""
    flag = F.col("sys_flag")
    kind = flag.bitwiseAND(TRANSACTION_MASK)
    is_queued = kind.isin(TRANSACTION_NONE, TRANSACTION_COMMIT) & (flag.bitwiseAND(INNER_BATCH) == 0)
    return records.where(is_queued)


def in_reach(entries: DataFrame, extents: DataFrame) -> DataFrame:
    """Entries that point into the part of the log that was read (store, from_offset, to_offset)."""
    offset = F.col("commit_log_offset")
    rows = entries.join(F.broadcast(extents.select("store", "from_offset", "to_offset")), "store")
    return rows.where((offset >= F.col("from_offset")) & (offset < F.col("to_offset"))).select(
        *ENTRIES.fieldNames()
    )


def mismatches(records: DataFrame, entries: DataFrame) -> DataFrame:
    """`records` as `expected_records` gives them, `entries` as `in_reach` does."""
    place = ["cluster", "broker", "store", "commit_log_offset"]
    listed = entries.select(
        *place,
        "tags_code",
        *(F.col(name).alias(f"entry_{name}") for name in _SAID),
        F.lit(True).alias("has_entry"),
    )
    stored = records.select(*place, "kind", "tags", *_SAID, F.lit(True).alias("has_record"))
    both = stored.join(listed, place, "full")
    return _unpaired(both, entries).unionByName(_differing(both.where("has_record and has_entry")))


def queues(records: DataFrame, entries: DataFrame) -> DataFrame:
    stored = records.groupBy(*QUEUE).agg(
        F.count("*").alias("records"),
        F.min("queue_offset").alias("first_queue_offset"),
        F.max("queue_offset").alias("last_queue_offset"),
    )
    listed = entries.groupBy(*QUEUE).agg(F.count("*").alias("entries"))
    return stored.join(listed, list(QUEUE), "full").fillna(0, ["records", "entries"])


def _unpaired(both: DataFrame, entries: DataFrame) -> DataFrame:
    lost = both.where(F.col("has_record").isNull()).drop(*_SAID)
    lost = lost.withColumnsRenamed({f"entry_{name}": name for name in _SAID})
    none = F.lit("none")
    dangling = finding(lost, "entry_without_record", expected=F.lit("a record"), found=none)
    known = entries.select(*QUEUE).distinct().withColumn("is_known", F.lit(True))
    bare = both.where(F.col("has_entry").isNull()).join(known, list(QUEUE), "left")
    single = bare.where("is_known")
    unlisted = finding(single, "record_without_entry", expected=F.lit("an entry"), found=none)
    whole = bare.where(F.col("is_known").isNull()).groupBy(*QUEUE).agg(F.count("*").alias("records"))
    missing = finding(whole, "queue_missing", expected=F.lit(0), found=F.col("records"))
    return dangling.unionByName(unlisted).unionByName(missing)


def _differing(pairs: DataFrame) -> DataFrame:
    resized = pairs.where(F.col("size") != F.col("entry_size"))
    sizes = finding(resized, "entry_size", expected=F.col("size"), found=F.col("entry_size"))
    said, listed = (
        _words("topic", "queue_id", "queue_offset"),
        _words(*(f"entry_{name}" for name in _SAID[:3])),
    )
    places = finding(pairs.where(said != listed), "entry_place", expected=said, found=listed)
    has_code = (F.col("kind") != "scheduled") & (F.col("tags_code") >= _INT32_MIN)
    coded = pairs.where(has_code).withColumn("code", _tag_codes(F.col("tags")))
    wrong = coded.where(F.col("code") != F.col("tags_code"))
    tags = finding(wrong, "entry_tags", expected=F.col("code"), found=F.col("tags_code"))
    return sizes.unionByName(places).unionByName(tags)


def _words(*names: str) -> Column:
    return F.concat_ws(" ", *(F.col(name).cast("string") for name in names))


def _codes(tags: pa.Array) -> pa.Array:
    # Tags repeat: each is hashed once.
    named = pc.dictionary_encode(tags)
    codes = pa.array([tags_code(tag) for tag in named.dictionary.to_pylist()], pa.int64())
    return pc.fill_null(codes.take(named.indices), 0)


def _tag_codes(tags: Column) -> Column:
    found: Column = arrow_udf(_codes, "bigint", ArrowUDFType.SCALAR)(tags)
    return found
