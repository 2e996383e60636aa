"""What a command returns: values, never text. Only `result_printer` turns them into tables, lines or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of equal length under column titles; `notes` are lines below the table.

    As JSON a table is a list of objects, one per row, keyed by the column titles. A command whose JSON has
    more than its table gives it as `document`.
    """

    columns: tuple[str, ...]
    rows: Sequence[Row]
    notes: tuple[str, ...] = ()
    document: object = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The properties of one thing, or the outcome of a change: with a `line` that line is printed, without
    one a line per property. As JSON: `document`, else `data`."""

    data: Mapping[str, object]
    line: str | None = None
    document: object = None


@dataclass(frozen=True, slots=True)
class Document:
    """JSON in any case: what only programs read."""

    data: object


Result = Table | Facts | Document
