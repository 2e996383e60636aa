"""Charts of a summary: small, plain, and drawn by whoever shows the report.

    {"name", "kind": "line|bar", "x": {"label", "values"}, "series": [{"label", "values"}]}

Values along a series are as many as along x; null is a gap. Numbers of 64 bits are texts, as everywhere in a
summary; moments are ISO 8601 in UTC. A chart has a few series and so many points as a screen can show: what
is left out is in the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from pyspark.sql import DataFrame

__all__ = ["chart", "lines_by", "rows_of", "text_of"]

MOST_SERIES = 8
MOST_POINTS = 1000
Row = dict[str, Any]


def rows_of(frame: DataFrame) -> list[Row]:
    """A small table as plain values; moments know their zone."""
    return list(frame.toArrow().to_pylist())


def text_of(value: Any) -> Any:
    """As summaries write it: whole numbers as texts, because browsers lose digits of large ones."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def chart(name: str, kind: str, x_label: str, x: Sequence[Any], series: Mapping[str, Sequence[Any]]) -> Row:
    return {
        "name": name,
        "kind": kind,
        "x": {"label": x_label, "values": [text_of(value) for value in x]},
        "series": [
            {"label": label, "values": [text_of(value) for value in values]}
            for label, values in series.items()
        ],
    }


def lines_by(
    name: str, rows: Iterable[Row], *, x: str, series: Sequence[str], value: str, kind: str = "line"
) -> Row:
    """One line per combination of the `series` columns, the largest ones; gaps where there is no value."""
    found: dict[str, dict[Any, Any]] = {}
    for row in rows:
        label = " / ".join(str(row[column]) for column in series)
        found.setdefault(label, {})[row[x]] = row[value]
    weights = {label: sum(points.values()) for label, points in found.items()}
    largest = sorted(found, key=lambda label: (-weights[label], label))[:MOST_SERIES]
    points = sorted({point for label in largest for point in found[label]})[-MOST_POINTS:]
    return chart(
        name, kind, x, points, {label: [found[label].get(point) for point in points] for label in largest}
    )
