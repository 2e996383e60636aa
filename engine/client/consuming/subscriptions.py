"""Subscriptions: the tag expression, its hashes for the broker, and the exact test in the client.

A broker compares 32-bit hashes of tags, which can collide; a consumer therefore compares the tags
again. Pure; the subscription's version (a time) is passed in.
"""

from __future__ import annotations

from engine.errors import BadInput
from engine.protocol.bodies.clients import ALL_TAGS, SQL92_EXPRESSION, TAG_EXPRESSION, SubscriptionData
from engine.protocol.hashes import java_hash


def subscription(
    topic: str, expression: str | None, sub_version_ms: int, kind: str = TAG_EXPRESSION
) -> SubscriptionData:
    """The subscription of `topic` by an expression: `*` for all, `a || b` for tags, or SQL92 text."""
    text = (expression or "").strip() or ALL_TAGS
    if kind == SQL92_EXPRESSION:
        return SubscriptionData(
            topic=topic, sub_string=text, sub_version=sub_version_ms, expression_type=SQL92_EXPRESSION
        )
    if kind != TAG_EXPRESSION:
        raise BadInput(f"an expression is of type {TAG_EXPRESSION} or {SQL92_EXPRESSION}, not {kind!r}")
    tags = [] if text == ALL_TAGS else [tag for part in text.split("||") if (tag := part.strip())]
    if text != ALL_TAGS and not tags:
        raise BadInput(f"the expression {text!r} names no tag")
    return SubscriptionData(
        topic=topic,
        sub_string=text,
        tags_set=frozenset(tags),
        code_set=frozenset(map(java_hash, tags)),
        sub_version=sub_version_ms,
    )


def is_sql(data: SubscriptionData) -> bool:
    return data.expression_type == SQL92_EXPRESSION


def accepts(data: SubscriptionData, tags: str | None) -> bool:
    """Whether the subscription selects a message with these tags."""
    return not data.tags_set or (tags is not None and tags in data.tags_set)
