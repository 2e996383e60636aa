"""Resources as RocketMQ writes them: which names they match, which of two is more specific."""

from __future__ import annotations

import pytest

from engine.access.resources import Kind, Resource, parse_resource
from engine.errors import Refused


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        ("Topic:orders", Resource(Kind.TOPIC, "orders")),
        ("topic:orders", Resource(Kind.TOPIC, "orders")),
        ("Group:bill*", Resource(Kind.GROUP, "bill", True)),
        ("Cluster:*", Resource(Kind.CLUSTER, None)),
        ("*", Resource(Kind.ANY, None)),
    ],
)
def test_resources_are_read_and_written(text: str, resource: Resource) -> None:
    assert parse_resource(text) == resource
    assert str(resource).lower() == text.lower()


@pytest.mark.parametrize("text", [None, "", "orders", "Topic:", "Topic", "Queue:x", "*:x", "**"])
def test_what_is_no_resource_is_refused(text: str | None) -> None:
    with pytest.raises(Refused) as refused:
        parse_resource(text)
    assert refused.value.code == 16


@pytest.mark.parametrize(
    ("text", "kind", "name", "expected"),
    [
        ("Topic:a", Kind.TOPIC, "a", True),
        ("Topic:a", Kind.TOPIC, "ab", False),
        ("Topic:a", Kind.GROUP, "a", False),
        ("Topic:a*", Kind.TOPIC, "ab", True),
        ("Topic:a*", Kind.TOPIC, "ba", False),
        ("Topic:*", Kind.TOPIC, "x", True),
        ("Topic:*", Kind.CLUSTER, "x", False),
        ("*", Kind.CLUSTER, "x", True),
    ],
)
def test_matching(text: str, kind: Kind, name: str, expected: bool) -> None:
    assert parse_resource(text).matches(kind, name) is expected


def test_the_order_of_specificity() -> None:
    texts = ["*", "Topic:*", "Topic:a*", "Topic:ab*", "Topic:abc"]
    by_vagueness = sorted(map(parse_resource, texts), key=lambda resource: resource.vagueness)
    assert [str(resource) for resource in by_vagueness] == list(reversed(texts))
