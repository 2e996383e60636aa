"""Which messages a subscription wants: tag expressions as sets of hash codes.

    *  or nothing     everything
    A || B            messages whose tag is A or B

The broker compares hash codes only (that is all a queue unit holds); the client compares the texts again.
Codes are always made from the expression, never taken from a client: the C++ client sends garbage. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from engine.errors import Refused
from engine.protocol.bodies.heartbeats import ALL_TAGS, SQL92_EXPRESSION, TAG_EXPRESSION, SubscriptionData
from engine.protocol.codes import ResponseCode
from engine.protocol.hashes import tags_code

MAX_EXPRESSION_LENGTH = 32 * 1024

Matches = Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class TagFilter:
    """`codes` is None when every message is wanted. `matches` is what the store asks per queue unit."""

    tags: frozenset[str]
    codes: frozenset[int] | None

    @property
    def matches(self) -> Matches | None:
        return None if self.codes is None else self.codes.__contains__


EVERYTHING = TagFilter(frozenset(), None)


@lru_cache(maxsize=4096)
def tag_filter(expression: str) -> TagFilter:
    if len(expression) > MAX_EXPRESSION_LENGTH:
        raise _unparsable(f"the expression is longer than {MAX_EXPRESSION_LENGTH} characters")
    if expression.strip() in ("", ALL_TAGS):
        return EVERYTHING
    tags = frozenset(tag for part in expression.split("||") if (tag := part.strip()))
    if not tags:
        raise _unparsable(f"no tag between the bars of {expression!r:.200}")
    return TagFilter(tags, frozenset(map(tags_code, tags)))


def is_tag_type(expression_type: str | None) -> bool:
    return not expression_type or expression_type == TAG_EXPRESSION


def subscription_filter(expression: str | None, expression_type: str | None) -> TagFilter:
    """The filter of a subscription, or the refusal that RocketMQ gives with enablePropertyFilter=false."""
    if is_tag_type(expression_type):
        return tag_filter(expression or ALL_TAGS)
    raise Refused(
        f"The broker does not support consumer to filter message by {expression_type:.40}",
        code=ResponseCode.SYSTEM_ERROR,
    )


def normal_subscription(data: SubscriptionData) -> SubscriptionData:
    """A heartbeat's subscription with tags and codes made from its text; an unknown type stays as it came."""
    if not is_tag_type(data.expression_type):
        return data
    parsed = tag_filter(data.sub_string or ALL_TAGS)
    return SubscriptionData(
        topic=data.topic,
        sub_string=data.sub_string or ALL_TAGS,
        tags_set=parsed.tags,
        code_set=parsed.codes or frozenset(),
        sub_version=data.sub_version,
        expression_type=TAG_EXPRESSION,
        class_filter_mode=data.class_filter_mode,
    )


def is_sql(expression_type: str | None) -> bool:
    return expression_type == SQL92_EXPRESSION


def _unparsable(why: str) -> Refused:
    return Refused(
        f"parse the consumer's subscription failed: {why}", code=ResponseCode.SUBSCRIPTION_PARSE_FAILED
    )
