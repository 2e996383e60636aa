"""Which messages a subscription wants: tag expressions as sets of hash codes, SQL92 over the properties.

    *  or nothing     everything
    A || B            messages whose tag is A or B
    SQL92             see `sql92`; only with enablePropertyFilter=true, as in RocketMQ

Of tags the broker compares hash codes only (that is all a queue unit holds); the client compares the texts
again. Codes are always made from the expression, never taken from a client: the C++ client sends garbage.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.errors import Refused
from engine.protocol.bodies.clients import ALL_TAGS, SQL92_EXPRESSION, TAG_EXPRESSION, SubscriptionData
from engine.protocol.codes import ResponseCode
from engine.protocol.hashes import tags_code
from engine.protocol.sql92 import sql_filter
from engine.protocol.text_cache import TextCache
from engine.store.queues.message_queues import MessageQueues
from engine.store.reading.cold_reads import select_records
from engine.store.results import ColdRanges, Damage, RecordFilter

MAX_EXPRESSION_LENGTH = 32 * 1024
_MOST_CHARS = 256 * 1024
"""Of cached expressions; a parsed one takes about 50 bytes per character."""

# A long poll takes up to 600 bytes. A filter takes 20 bytes per character of tags and 65 per character of
# SQL92; the first characters of tags are free, so that ordinary subscriptions have no weight.
_LIGHT_TAGS_CHARS, _TAGS_CHARS_PER_WEIGHT, _SQL_CHARS_PER_WEIGHT = 64, 16, 8

Matches = Callable[[int], bool]


def is_tag_type(expression_type: str | None) -> bool:
    return not expression_type or expression_type == TAG_EXPRESSION


@dataclass(frozen=True, slots=True, eq=False)
class MessageFilter:
    """What a read asks: `tags` about each queue unit's code, `wanted` about each record's properties."""

    tags: Matches | None = None
    wanted: RecordFilter | None = None
    weight: int = 0
    """How many long polls take as much memory as this filter."""


NO_FILTER = MessageFilter()


@dataclass(eq=False, slots=True)
class FilteredRead:
    """A cold read whose records are filtered where they are read: in the thread."""

    queues: MessageQueues
    cold: ColdRanges
    wanted: RecordFilter | None
    damage: Damage | None = None
    count: int | None = None
    """Of the records that passed the filter; None without one."""

    def read(self) -> bytes:
        body, self.damage = self.queues.read_cold(self.cold)
        if self.wanted is None:
            return body
        selected = list(select_records(body, self.wanted.matches))
        self.count = len(selected)
        return b"".join(selected)


@dataclass(frozen=True, slots=True)
class TagFilter:
    """`codes` is None when every message is wanted. `matches` is what the store asks per queue unit."""

    tags: frozenset[str]
    codes: frozenset[int] | None
    filter: MessageFilter

    @property
    def matches(self) -> Matches | None:
        return self.filter.tags


EVERYTHING = TagFilter(frozenset(), None, NO_FILTER)


def _parse_tags(expression: str) -> TagFilter:
    if len(expression) > MAX_EXPRESSION_LENGTH:
        raise _unparsable(f"the expression is longer than {MAX_EXPRESSION_LENGTH} characters")
    if expression.strip() in ("", ALL_TAGS):
        return EVERYTHING
    tags = frozenset(tag for part in expression.split("||") if (tag := part.strip()))
    if not tags:
        raise _unparsable(f"no tag between the bars of {expression!r:.200}")
    codes = frozenset(map(tags_code, tags))
    weight = max(0, len(expression) - _LIGHT_TAGS_CHARS) // _TAGS_CHARS_PER_WEIGHT
    return TagFilter(tags, codes, MessageFilter(tags=codes.__contains__, weight=weight))


def _parse_sql(expression: str) -> MessageFilter:
    compiled = sql_filter(expression)
    wanted = RecordFilter(compiled.matches, compiled.max_scan)
    return MessageFilter(wanted=wanted, weight=len(expression) // _SQL_CHARS_PER_WEIGHT)


# Cached, so that all long polls with the same expression share one filter.
tag_filter = TextCache(_parse_tags, _MOST_CHARS)
_sql = TextCache(_parse_sql, _MOST_CHARS)


def subscription_filter(
    expression: str | None, expression_type: str | None, *, allows_sql: bool
) -> MessageFilter:
    """The filter of a subscription: Refused with 23 when it cannot be parsed, with 1 when its type is not
    allowed here."""
    if is_tag_type(expression_type):
        return tag_filter(expression or ALL_TAGS).filter
    if expression_type == SQL92_EXPRESSION and allows_sql:
        return _sql(expression or "")
    raise Refused(
        f"The broker does not support consumer to filter message by {expression_type:.40}",
        code=ResponseCode.SYSTEM_ERROR,
    )


def announced_filter(data: SubscriptionData, *, allows_sql: bool) -> MessageFilter:
    """The filter of a subscription that a heartbeat announced. A heartbeat is never refused for one wrong
    expression among others, so the pull is refused: there is no filter."""
    if is_tag_type(data.expression_type) and not data.code_set:
        return NO_FILTER
    try:
        return subscription_filter(data.sub_string, data.expression_type, allows_sql=allows_sql)
    except Refused as error:
        if error.code != ResponseCode.SUBSCRIPTION_PARSE_FAILED:
            raise
        raise Refused(error.text, code=ResponseCode.FILTER_DATA_NOT_EXIST) from None


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


def _unparsable(why: str) -> Refused:
    return Refused(
        f"parse the consumer's subscription failed: {why}", code=ResponseCode.SUBSCRIPTION_PARSE_FAILED
    )
