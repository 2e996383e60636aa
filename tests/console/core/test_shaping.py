"""Rows of lists look exactly as their serializer would show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import orjson
import pytest
from rest_framework import serializers

from console.core.fields import Int64Field
from console.core.rendering import JsonRenderer
from console.core.shaping import shaped


class Inner(serializers.Serializer[Any]):
    offset = Int64Field(allow_null=True)


class Outer(serializers.Serializer[Any]):
    name = serializers.CharField(allow_blank=True)
    lag = Int64Field(allow_null=True)
    at = serializers.DateTimeField(allow_null=True)
    rate = serializers.FloatField(allow_null=True)
    is_live = serializers.BooleanField()
    kind = serializers.ChoiceField([("a", "A")])
    labels = serializers.DictField(child=serializers.CharField())
    brokers = serializers.ListField(child=serializers.CharField())
    queues = Inner(many=True)


ROW = {
    "name": "orders",
    "lag": 2**60,
    "at": datetime(2026, 1, 1, 12, tzinfo=UTC),
    "rate": 1.5,
    "is_live": True,
    "kind": "a",
    "labels": {"team": "shop"},
    "brokers": ["a"],
    "queues": [{"offset": 0}, {"offset": None}],
}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"lag": None, "at": None, "rate": None, "queues": []},
        {"at": datetime(2026, 1, 1, 12, 0, 0, 7, tzinfo=UTC), "lag": -1},
        {"at": datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))},
    ],
)
def test_rows_are_shaped_as_their_serializer_shows_them(changes: dict[str, Any]) -> None:
    rows = [ROW | changes]
    [quick], [slow] = (
        orjson.loads(JsonRenderer().render(found))
        for found in (shaped(Outer, rows), Outer(rows, many=True).data)
    )
    assert quick == slow


def test_a_field_that_does_its_own_work_is_refused() -> None:
    class Odd(serializers.Serializer[Any]):
        secret = serializers.SerializerMethodField()

    with pytest.raises(AssertionError, match="secret is called"):
        shaped(Odd, [{}])
