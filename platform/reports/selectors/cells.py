"""Values of tables as JSON and CSV have them. Pure.

64-bit numbers are texts in JSON, as everywhere; times are ISO 8601 in UTC; bytes are base64. What is longer
than a page needs is cut, and says so: downloads have all of it.
"""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

LONGEST = 4_096
CUT = "…"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_WIDE = ("int64", "uint64")


def columns_of(schema: pyarrow.Schema) -> list[dict[str, str]]:
    return [{"name": column.name, "type": str(column.type)} for column in schema]


def json_rows(batch: pyarrow.RecordBatch) -> list[list[Any]]:
    """Row by row, values in the order of the columns."""
    columns = [
        [json_value(value, str(column.type) in _WIDE) for value in values_of(column)]
        for column in batch.columns
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def values_of(column: pyarrow.Array) -> list[Any]:
    """Maps as such: pyarrow gives them as lists of pairs."""
    values: list[Any] = column.to_pylist()
    if not str(column.type).startswith("map<"):
        return values
    return [None if value is None else dict(value) for value in values]


def json_value(value: Any, is_wide: bool = False, longest: int = LONGEST) -> Any:
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return str(value) if is_wide else value
    if isinstance(value, (datetime, date, Decimal)):
        return text_of(value)
    if isinstance(value, bytes):
        return _short(base64.b64encode(value).decode(), longest)
    if isinstance(value, dict):
        return {str(name): json_value(inner, longest=longest) for name, inner in value.items()}
    if isinstance(value, list):
        return [json_value(item, longest=longest) for item in value]
    return _short(str(value), longest)


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest] + CUT


def text_of(value: Any) -> str:
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return moment.isoformat(timespec="milliseconds") + "Z"
    return value.isoformat() if isinstance(value, date) else str(value)


def csv_cell(value: Any) -> Any:
    """As a spreadsheet can take it: no cell of text is ever a formula."""
    if value is None:
        return ""
    if isinstance(value, (bool, int, float, Decimal)):
        return value
    if isinstance(value, (datetime, date)):
        return text_of(value)
    if isinstance(value, (bytes, str)):
        text = base64.b64encode(value).decode() if isinstance(value, bytes) else value
    else:
        text = json.dumps(json_value(value, longest=1 << 30), ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text
