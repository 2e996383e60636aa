"""Tag expressions become sets of hash codes."""

from __future__ import annotations

import pytest

from engine.broker.pulling.filters import (
    MAX_EXPRESSION_LENGTH,
    announced_filter,
    normal_subscription,
    subscription_filter,
    tag_filter,
)
from engine.errors import Refused
from engine.protocol.bodies.clients import SubscriptionData
from engine.protocol.codes import ResponseCode
from engine.protocol.hashes import tags_code


@pytest.mark.parametrize("expression", ["*", "", "  ", " * "])
def test_everything_needs_no_filter(expression: str) -> None:
    assert tag_filter(expression).matches is None


def test_tags_between_bars_are_trimmed() -> None:
    found = tag_filter(" a||b || ")
    assert found.tags == {"a", "b"}
    assert found.matches is not None
    assert found.matches(tags_code("b"))
    assert not found.matches(tags_code("c"))
    assert not found.matches(0)


@pytest.mark.parametrize("expression", ["||", " || || ", "a" * (MAX_EXPRESSION_LENGTH + 1)])
def test_an_expression_without_sense_is_refused(expression: str) -> None:
    with pytest.raises(Refused) as refused:
        tag_filter(expression)
    assert refused.value.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED


@pytest.mark.parametrize(
    ("expression", "kind", "weight"),
    [
        ("*", "TAG", 0),
        ("red || green || blue", None, 0),
        ("a" * 64 + "||" + "b" * 14, "TAG", 1),
        ("||".join(f"tag-{number}" for number in range(1_000)), "TAG", 551),
        ("age > 17 AND region = 'north'", "SQL92", 3),
    ],
)
def test_a_poll_with_a_large_filter_counts_as_several(expression: str, kind: str | None, weight: int) -> None:
    assert subscription_filter(expression, kind, allows_sql=True).weight == weight


@pytest.mark.parametrize(("expression", "kind"), [("red || blue", "TAG"), ("age > 17", "SQL92")])
def test_the_same_expression_is_the_same_filter(expression: str, kind: str) -> None:
    first = subscription_filter(expression, kind, allows_sql=True)
    assert subscription_filter(expression, kind, allows_sql=True) is first


def test_sql_is_refused_as_rocketmq_does_without_property_filter() -> None:
    with pytest.raises(Refused) as refused:
        subscription_filter("a > 1", "SQL92", allows_sql=False)
    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    assert "does not support consumer to filter message by SQL92" in refused.value.text


def test_a_type_that_nobody_knows_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        subscription_filter("a > 1", "XPATH", allows_sql=True)
    assert refused.value.code == ResponseCode.SYSTEM_ERROR


def test_of_an_announced_expression_that_is_wrong_there_is_no_filter() -> None:
    data = SubscriptionData(topic="t", sub_string="a >", expression_type="SQL92")
    with pytest.raises(Refused) as refused:
        announced_filter(data, allows_sql=True)
    assert refused.value.code == ResponseCode.FILTER_DATA_NOT_EXIST
    assert "at position 4" in refused.value.text


def test_codes_come_from_the_text_and_never_from_the_client() -> None:
    sent = SubscriptionData(topic="t", sub_string="a", code_set=frozenset({12345}), expression_type="")
    assert normal_subscription(sent).code_set == {tags_code("a")}
    assert normal_subscription(SubscriptionData(topic="t", sub_string="*")).code_set == frozenset()
