"""How far a stream reads at once: within its limit, at a boundary, and always further."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from spark.sources.logs import Log
from spark.sources.rates import end_after_bytes, end_after_records
from tests.spark.sources.written import Sent, Written, look

sizes = st.lists(st.integers(0, 900), min_size=1, max_size=40)


def log_of(folder: str, body_sizes: list[int]) -> tuple[Written, Log]:
    written = Written(Path(folder)).write([Sent(body=b"x" * size) for size in body_sizes]).close()
    return written, look(folder)[0]


@given(sizes, st.integers(1, 10_000))
def test_steps_of_bytes_meet_every_boundary_and_the_end(body_sizes: list[int], max_bytes: int) -> None:
    with TemporaryDirectory() as folder:
        written, log = log_of(folder, body_sizes)
        ends = {record.commit_log_offset + record.size for record in written.records}
        largest = max(record.size for record in written.records)
        at = 0
        while at < log.end_offset:
            following = end_after_bytes(log.segments, at, log.end_offset, max_bytes)
            assert at < following <= at + max(max_bytes, largest + written.segment_bytes)
            assert following in ends or following % written.segment_bytes == 0
            at = following
        assert at == log.end_offset


@given(sizes, st.integers(1, 7))
def test_steps_of_records_hold_as_many_as_told(body_sizes: list[int], max_records: int) -> None:
    with TemporaryDirectory() as folder:
        written, log = log_of(folder, body_sizes)
        at, left = 0, list(written.records)
        while at < log.end_offset:
            following = end_after_records(log.segments, at, log.end_offset, max_records)
            taken = [record for record in left if record.commit_log_offset < following]
            assert len(taken) == min(max_records, len(left))
            left = left[len(taken) :]
            at = following
        assert not left
