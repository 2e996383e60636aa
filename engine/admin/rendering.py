"""Results on a terminal (rich tables), in a pipe (aligned plain text) or for scripts (`--json`).

What came over the wire may hold control characters: they are shown escaped, never sent to the terminal.
"""

from __future__ import annotations

import sys
from typing import Any, TextIO

import orjson

from engine.admin.commands import Facts, Result, Table
from engine.protocol.bodies.basics import MessageQueue


class Renderer:
    def __init__(self, out: TextIO | None = None, *, as_json: bool = False) -> None:
        self._out = out or sys.stdout
        self._as_json = as_json

    def show(self, result: Result) -> None:
        if self._as_json:
            self._out.write(orjson.dumps(_plain(_as_data(result)), default=str).decode() + "\n")
        elif isinstance(result, Facts):
            self._show_facts(result)
        elif self._out.isatty():
            self._show_rich(result)
        else:
            self._show_plain(result)
        self._out.flush()

    def _show_facts(self, facts: Facts) -> None:
        if facts.line is not None:
            self._out.write(printable(facts.line) + "\n")
            return
        width = max((len(key) for key in facts.data), default=0)
        for key, value in facts.data.items():
            self._out.write(f"{printable(key):<{width}} : {printable(value)}\n")

    def _show_plain(self, table: Table) -> None:
        rows = [tuple(printable(cell) for cell in row) for row in (table.columns, *table.rows)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(table.columns))]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            self._out.write("  ".join(cells).rstrip() + "\n")
        for note in table.notes:
            self._out.write(printable(note) + "\n")

    def _show_rich(self, table: Table) -> None:
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
    """Text that cannot move the cursor or forge a line."""
    if value is None:
        return "-"
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _as_data(result: Result) -> Any:
    if isinstance(result, Facts):
        return result.data
    keys = [column.replace(" ", "_").lower() for column in result.columns]
    return [dict(zip(keys, row, strict=True)) for row in result.rows]


def _plain(value: Any) -> Any:
    """Maps with keys that JSON has not (numbers, queues) get text keys; a queue reads topic@broker@id."""
    if isinstance(value, dict):
        return {_key(key): _plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    return value


def _key(key: object) -> str:
    if isinstance(key, MessageQueue):
        return f"{key.topic}@{key.broker_name}@{key.queue_id}"
    return str(key)
