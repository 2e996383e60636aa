"""Answers as JSON that browsers can read: large numbers and broken text included."""

from __future__ import annotations

import json

import pytest

from console.core.rendering import JsonRenderer


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 2**53}, {"a": str(2**53)}),
        ({"a": 2**53 - 1}, {"a": 2**53 - 1}),
        ({"a": True, "b": [-(2**60)]}, {"a": True, "b": [str(-(2**60))]}),
        ({"a\ud800b": "x\udfff"}, {"a?b": "x?"}),
        ({"a": ["\ud800", 2**60]}, {"a": ["?", str(2**60)]}),
        ("😀", "😀"),
    ],
)
def test_what_json_or_browsers_cannot_hold_is_made_fit(value: object, expected: object) -> None:
    assert json.loads(JsonRenderer().render(value)) == expected
