"""Tables of a run, read with pyarrow a batch at a time: a page, its columns, all rows in order.

However large a table is, one batch of it is in memory. Parts are read in the order of their names, which is
the order in which the job wrote them. pyarrow is part of the optional extra: without it, one sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.core.problems import Problem

if TYPE_CHECKING:
    import pyarrow

BATCH_ROWS = 5_000


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise Problem(
            "no_pyarrow", "reading tables needs pyarrow: install the extra signalbox[spark]", 503
        ) from None
    return pyarrow.parquet


def _opened(path: Path) -> Any:
    import pyarrow

    try:
        return _parquet().ParquetFile(path)
    except FileNotFoundError:
        raise Problem("gone", "the files of this run are gone", 410) from None
    except (pyarrow.ArrowException, OSError) as error:
        raise Problem("damaged", f"{path.name} cannot be read: {error}", 422) from None


def schema_of(files: Sequence[Path]) -> pyarrow.Schema:
    """Of the first part: the job gives all parts of a table the same."""
    _parquet()
    if not files:
        raise Problem("empty", "the table has no files", 404)
    with _opened(files[0]) as file:
        return file.schema_arrow


def count_rows(files: Sequence[Path]) -> int:
    """From the parts' own footers."""
    return sum(_rows_of(path) for path in files)


def _rows_of(path: Path) -> int:
    with _opened(path) as file:
        return int(file.metadata.num_rows)


def batches(
    files: Sequence[Path], columns: Sequence[str] | None = None, *, skip: int = 0, rows: int = BATCH_ROWS
) -> Iterator[pyarrow.RecordBatch]:
    """All rows behind the first `skip`; row groups that are skipped whole are not read."""
    import pyarrow

    _parquet()
    try:
        for path in files:
            with _opened(path) as file:
                groups, skip = _groups_after(file.metadata, skip)
                if not groups:
                    continue
                names = None if columns is None else list(columns)
                for batch in file.iter_batches(rows, row_groups=groups, columns=names):
                    cut = min(skip, batch.num_rows)
                    skip -= cut
                    if cut < batch.num_rows:
                        yield batch.slice(cut)
    except (pyarrow.ArrowException, OSError) as error:
        raise Problem("damaged", f"the table cannot be read: {error}", 422) from None


def _groups_after(metadata: Any, skip: int) -> tuple[list[int], int]:
    """The row groups that are not skipped whole, and what is to be skipped of the first of them; when all
    are, what is left to skip of the next file."""
    for number in range(metadata.num_row_groups):
        count = metadata.row_group(number).num_rows
        if skip < count:
            return list(range(number, metadata.num_row_groups)), skip
        skip -= count
    return [], skip


def page(
    files: Sequence[Path], columns: Sequence[str] | None, *, offset: int, limit: int
) -> pyarrow.RecordBatch | None:
    """None: past the end."""
    import pyarrow

    found, left = [], limit
    for batch in batches(files, columns, skip=offset, rows=min(limit, BATCH_ROWS)):
        found.append(batch.slice(0, left))
        left -= found[-1].num_rows
        if left <= 0:
            break
    if not found:
        return None
    return pyarrow.Table.from_batches(found).combine_chunks().to_batches()[0]
