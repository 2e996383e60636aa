"""The audit of stores: every record's CRC, queue entries against the log, holes, keys stored twice.

    findings     what is wrong, one row each
    duplicates   unique keys with several messages; nothing is wrong with the store then
    segments     per file of the log: records, bytes, times, damaged bodies
    queues       per queue: records and entries

`keep` as in `trace_report`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import DataFrame

from spark.transforms import gaps, queue_entries
from spark.transforms.checksums import bad_crc, summed
from spark.transforms.duplicates import duplicates
from spark.transforms.trace_report import Keep

__all__ = ["audit_report"]


def audit_report(
    log: DataFrame,
    files: DataFrame,
    entries: DataFrame,
    extents: DataFrame,
    *,
    blanks: Callable[[DataFrame], DataFrame],
    keep: Keep,
) -> dict[str, DataFrame]:
    """`extents` say which part of each log there is (store, from_offset, to_offset); `blanks` looks up what
    lies behind the last records of files (`gaps.ends` -> BLANKS)."""
    records = keep("summed", summed(log))
    segments = keep("segments", gaps.segments(records, files))
    queued = queue_entries.expected_records(records)
    listed = keep("entries", queue_entries.in_reach(entries, extents))
    findings = [
        bad_crc(records),
        queue_entries.mismatches(queued, listed),
        gaps.log_gaps(records, segments, blanks(gaps.ends(segments)), extents),
        gaps.queue_gaps(queued),
    ]
    return {
        "findings": keep("findings", reduce(DataFrame.unionByName, findings)),
        "duplicates": duplicates(records),
        "segments": segments,
        "queues": queue_entries.queues(queued, listed),
    }
