"""Prints results: tables on a terminal (rich), aligned plain text in a pipe, JSON with `--json`.

Text that came over the wire may hold control characters: they are printed escaped, so that no message body
or client id can move the cursor or forge a line.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TextIO

import orjson

from engine.admin.results import Document, Facts, Result, Table


class ResultPrinter:
    def __init__(self, out: TextIO | None = None, *, as_json: bool = False) -> None:
        self._out = out or sys.stdout
        self._as_json = as_json

    def print(self, result: Result) -> None:
        if self._as_json:
            self._line(_json(_document_of(result)))
        elif isinstance(result, Document):
            self._line(_json(result.data, orjson.OPT_INDENT_2))
        elif isinstance(result, Facts):
            self._print_facts(result)
        elif self._out.isatty():
            self._print_rich(result)
        else:
            self._print_plain(result)
        self._out.flush()

    def _line(self, text: str) -> None:
        self._out.write(text + "\n")

    def _print_facts(self, facts: Facts) -> None:
        if facts.line is not None:
            self._line(printable(facts.line))
            return
        width = max((len(key) for key in facts.data), default=0)
        for key, value in facts.data.items():
            self._line(f"{printable(key):<{width}} : {printable(value)}")

    def _print_plain(self, table: Table) -> None:
        rows = [tuple(printable(cell) for cell in row) for row in (table.columns, *table.rows)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self._line("  ".join(cells).rstrip())
        for note in table.notes:
            self._line(printable(note))

    def _print_rich(self, table: Table) -> None:
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        console = Console(file=self._out)
        shown = RichTable(header_style="bold", box=None, pad_edge=False)
        for number, column in enumerate(table.columns):
            is_number = all(isinstance(row[number], (int, float)) for row in table.rows) and bool(table.rows)
            shown.add_column(column, justify="right" if is_number else "left", overflow="fold")
        for row in table.rows:
            shown.add_row(*(Text(printable(cell)) for cell in row))
        console.print(shown)
        for note in table.notes:
            console.print(Text(printable(note)))


def printable(value: object) -> str:
    """One line: `-` for None, JSON for booleans and containers, control characters escaped."""
    if value is None:
        return "-"
    if isinstance(value, (bool, dict, list, tuple)):
        text = _json(value)
    else:
        text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def json_key(column: str) -> str:
    """The key of a column in JSON: `Broker Name` is `broker_name`."""
    return column.replace(" ", "_").lower()


def _document_of(result: Result) -> object:
    if isinstance(result, Document):
        return result.data
    if result.document is not None:
        return result.document
    if isinstance(result, Facts):
        return result.data
    keys = [json_key(column) for column in result.columns]
    return [dict(zip(keys, row, strict=True)) for row in result.rows]


def _json(value: object, option: int = 0) -> str:
    return orjson.dumps(_with_text_keys(value), default=str, option=option).decode()


def _with_text_keys(value: Any) -> Any:
    """JSON has no keys but text: numbers and queues (`topic@broker@id`) become text."""
    if isinstance(value, Mapping):
        return {str(key): _with_text_keys(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_text_keys(member) for member in value]
    return value
