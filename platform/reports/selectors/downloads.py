"""Tables as streams: CSV with a head line, or one Parquet file however many parts the job wrote.

Iterators of bytes, a batch at a time. A single part that needs no masking is sent as it lies there.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.selectors.cells import csv_cell, values_of

if TYPE_CHECKING:
    import pyarrow

_CHUNK = 256 * 1024


def as_csv(schema: pyarrow.Schema, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[bytes]:
    yield _lines([schema.names])
    for batch in batches:
        columns = [map(csv_cell, values_of(column)) for column in batch.columns]
        yield _lines(zip(*columns, strict=True))


def _lines(rows: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode(errors="replace")


def as_file(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


class _Sink(io.RawIOBase):
    """What a writer has written since the last look."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        return len(piece)

    def take(self) -> bytes:
        taken, self._pieces = b"".join(self._pieces), []
        return taken


def as_parquet(schema: pyarrow.Schema, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[bytes]:
    """A file is written from its beginning to its footer, never back: so it can be sent while it is made."""
    import pyarrow.parquet

    sink = _Sink()
    with pyarrow.parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            if piece := sink.take():
                yield piece
    yield sink.take()
