"""Rows of long lists as a serializer declares them, without its work per field and row.

    results = shaped(TopicRowSerializer, rows)

A serializer asks each field of each row how to get and to show its value, which at five hundred rows takes
longer than everything else together. Rows of lists are made by selectors and have the right values already,
but for times and 64-bit numbers: what a field changes is looked up once per serializer, here. The serializer
stays the one place that says which fields there are (and what the schema shows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from rest_framework import serializers

from console.core.fields import Int64Field

Convert = Callable[[Any], Any]
Shape = tuple[tuple[str, Convert | None], ...]
"""Names of fields with what makes JSON of their values; None: they are JSON already."""

_PLAIN = (
    serializers.CharField,
    serializers.IntegerField,
    serializers.FloatField,
    serializers.BooleanField,
    serializers.ChoiceField,
    serializers.JSONField,
)


def shaped(serializer: type[serializers.Serializer[Any]], rows: Iterable[Mapping[str, Any]]) -> list[Any]:
    shape = _shape_of(serializer)
    return [_row(shape, row) for row in rows]


def _row(shape: Shape, row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if (value := row[name]) is None or convert is None else convert(value)
        for name, convert in shape
    }


@cache
def _shape_of(serializer: type[serializers.Serializer[Any]]) -> Shape:
    return tuple((name, _conversion(field)) for name, field in serializer().fields.items())


def _conversion(field: serializers.Field[Any, Any, Any, Any]) -> Convert | None:
    assert field.source == field.field_name, f"{field.field_name} is called {field.source} in its rows"
    if isinstance(field, Int64Field):
        return str
    if isinstance(field, serializers.DateTimeField):
        return iso
    if isinstance(field, serializers.ListSerializer):
        inner = _shape_of(type(field.child))
        return lambda rows: [_row(inner, row) for row in rows]
    if isinstance(field, serializers.ListField | serializers.DictField):
        assert isinstance(field.child, _PLAIN), f"{field.field_name} holds what is not JSON already"
        return None
    assert type(field) in _PLAIN, f"a {type(field).__name__} cannot be shaped: {field.field_name}"
    return None


def iso(at: datetime | str) -> str:
    """As DRF writes times: a Z for UTC. What is a text already stays."""
    if isinstance(at, str):
        return at
    text = at.astimezone(UTC).isoformat()
    return f"{text[:-6]}Z"
