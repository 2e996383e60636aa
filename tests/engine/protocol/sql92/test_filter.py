"""What RocketMQ's own filter answers, expression by expression (taken down from Apache's 5.3.3)."""

from __future__ import annotations

import pytest

from engine.errors import Refused
from engine.protocol.codes import ResponseCode
from engine.protocol.properties import encode_properties
from engine.protocol.sql92 import sql_filter
from engine.protocol.sql92.filter import MAX_EXPRESSION_LENGTH
from engine.protocol.sql92.parser import MAX_DEPTH, MAX_TERMS, parse

ERROR = "error"

ANSWERS: list[tuple[str, dict[str, str], object]] = [
    ("a IS NULL", {}, True),
    ("a IS NOT NULL", {}, False),
    ("a IS NULL", {"a": "1"}, False),
    ("a IS NULL IS NULL", {}, False),
    ("NULL IS NULL", {}, True),
    ("a = b", {}, True),
    ("a = b", {"a": "1"}, False),
    ("a = b", {"b": "1"}, None),
    ("a <> b", {"a": "1"}, True),
    ("a = 'x'", {}, None),
    ("a <> 'x'", {}, None),
    ("NOT (a = 'x')", {}, None),
    ("5 = a", {}, False),
    ("a = 5", {"a": "5"}, True),
    ("a = 5", {"a": "+5"}, True),
    ("a = 5", {"a": "5.0"}, ERROR),
    ("a = 5", {"a": " 5"}, ERROR),
    ("a = 5", {"a": "3000000000"}, ERROR),
    ("a = 3000000000", {"a": "3000000000"}, True),
    ("a = 5.0", {"a": "5"}, True),
    ("a = 5.0", {"a": " 5 "}, True),
    ("a = 5.0", {"a": "5f"}, True),
    ("a > 5.0", {"a": "NaN"}, True),
    ("a = 5.0", {"a": "Infinity"}, False),
    ("a > 5", {"a": "x"}, ERROR),
    ("a > 5 OR b = 'y'", {"a": "x", "b": "y"}, ERROR),
    ("b = 'y' OR a > 5", {"a": "x", "b": "y"}, True),
    ("b = 'y' AND a > 5", {"a": "x", "b": "n"}, False),
    ("a > 5 OR b = 'y'", {"b": "y"}, True),
    ("a > b", {"a": "10", "b": "9"}, True),
    ("a > b", {"a": "x", "b": "9"}, ERROR),
    ("a > b", {"a": "10"}, None),
    ("a = TRUE", {"a": "True"}, True),
    ("a = TRUE", {"a": "yes"}, False),
    ("TRUE = a", {"a": "true"}, ERROR),
    ("(b > 5) = a", {"a": "true", "b": "7"}, ERROR),
    ("a = (b > 5)", {"a": "true", "b": "7"}, True),
    ("5 = TRUE", {}, False),
    ("5 = 5.0", {}, True),
    ("'a' = 5", {}, ERROR),
    ("a > -5", {"a": "0"}, True),
    ("a = --5", {"a": "5"}, True),
    ("-a = 5", {"a": "-5"}, None),
    ("a > - b", {"a": "5", "b": "3"}, None),
    ("a BETWEEN 1 AND 5", {"a": "3"}, True),
    ("a BETWEEN 1 AND b", {"a": "3"}, None),
    ("a NOT BETWEEN 1 AND 5", {"a": "7"}, True),
    ("a NOT BETWEEN 1 AND b", {"a": "0"}, True),
    ("a NOT BETWEEN 5 AND 1", {"a": "3"}, True),
    ("a BETWEEN -1 AND -6", {"a": "-3"}, False),
    ("5 BETWEEN a AND 9", {"a": "3"}, True),
    ("a IN ('x','y')", {"a": "x"}, True),
    ("a NOT IN ('x')", {}, None),
    ("a NOT IN ('x','y')", {"a": "z"}, True),
    ("a NOT CONTAINS 'b'", {"a": "xyz"}, True),
    ("a NOT CONTAINS 'b'", {}, False),
    ("a CONTAINS ''", {"a": "xyz"}, False),
    ("a NOT CONTAINS ''", {"a": "xyz"}, False),
    ("a STARTSWITH 'a'", {"a": "abc"}, True),
    ("a NOT ENDSWITH 'c'", {"a": "abc"}, False),
    ("5 CONTAINS 'b'", {}, False),
    ("a = 'it''s'", {"a": "it's"}, True),
    ("a = 5 b", {"a": "5"}, True),
    ("a = 05", {"a": "5"}, False),
    ("a = 5 -- to the end\n AND b = 6", {"a": "5", "b": "7"}, False),
    ("a=5/*x*/AND/**/b=6", {"a": "5", "b": "6"}, True),
    ("$a = .5E1", {"$a": "5"}, True),
    ("a not in ('x') and b between 1 and 3", {"a": "y", "b": "2"}, True),
    ("NOT a = TRUE", {"a": "false"}, True),
    ("a = 1 = TRUE", {"a": "1"}, True),
    ("NULL AND FALSE", {}, False),
    ("NULL OR TRUE", {}, True),
    ("FALSE OR NULL", {}, None),
    ("NOT NULL", {}, None),
    ("tags = 'x'", {"TAGS": "x"}, None),
]


@pytest.mark.parametrize(("expression", "properties", "answer"), ANSWERS)
def test_an_expression_answers_as_rocketmq_does(
    expression: str, properties: dict[str, str], answer: object
) -> None:
    evaluate = parse(expression).evaluate
    if answer is ERROR:
        with pytest.raises(ValueError):
            evaluate(properties)
    else:
        assert evaluate(properties) is answer
    matches = sql_filter(expression).matches(encode_properties(properties).encode())
    assert matches is (answer is True)


@pytest.mark.parametrize(("value", "answer"), [("true", True), ("TRUE", True), ("x", False), (None, None)])
def test_a_bare_property_is_true_when_it_says_so(value: str | None, answer: bool | None) -> None:
    properties = {} if value is None else {"a": value}
    assert parse("a").evaluate(properties) is answer
    assert parse("a OR NULL").evaluate(properties) is (answer or None)


REFUSALS = [
    ("a = NULL", 5),
    ("TRUE = 5", 8),
    ("5 > 'a'", 5),
    ("a > TRUE", 5),
    ("(a > 5) > 3", 2),
    ("-a", 1),
    ("5", 1),
    ("a = 'x' OR 'y'", 12),
    ("a BETWEEN 5 AND 1", 11),
    ("a BETWEEN NULL AND 5", 11),
    ("a IN (1,2)", 7),
    ("a IN ()", 7),
    ("5 IN ('x')", 1),
    ("a CONTAINS b", 12),
    ('a = "x"', 5),
    ("a = 5 ; drop", 7),
    ("a = ", 5),
    ("", 1),
    ("(a = 5", 7),
    ("a != 5", 3),
    ("a = 99999999999999999999", 5),
    ("a > 5e400", 5),
    ("a = 'x", 5),
    ("a /* b", 3),
    ("a NOT 5", 3),
    ("a IS TRUE", 6),
    ("é = 5", 1),
]


@pytest.mark.parametrize(("expression", "position"), REFUSALS)
def test_a_wrong_expression_is_refused_with_the_place(expression: str, position: int) -> None:
    with pytest.raises(Refused) as refused:
        sql_filter(expression)
    assert refused.value.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert f"at position {position}: " in refused.value.text
    assert f">>>{expression[position - 1 :]}" in refused.value.text


def test_of_a_long_expression_only_the_part_around_the_place_is_shown() -> None:
    with pytest.raises(Refused) as refused:
        sql_filter("a = 'x' OR " * 40 + "b ! 5" + " OR c = 'y'" * 40)
    assert "…a = 'x' OR a = 'x' OR b >>>! 5 OR c = 'y' OR c = 'y…" in refused.value.text


@pytest.mark.parametrize(
    ("bomb", "why"),
    [
        ("a = 1 OR " * 100_000 + "a = 1", "characters"),
        ("a OR " * MAX_TERMS + "a", f"{MAX_TERMS} terms"),
        ("(" * 10_000 + "a" + ")" * 10_000, f"{MAX_DEPTH} levels"),
        ("NOT " * 8_000 + "a", f"{MAX_DEPTH} levels"),
        ("a" + " IS NULL" * 3_000, f"{MAX_DEPTH} levels"),
        ("a = 5" + " = TRUE" * 200, f"{MAX_DEPTH} levels"),
        ("-" * 30_000 + "5 = a", f"{MAX_DEPTH} levels"),
        ("a" * (MAX_EXPRESSION_LENGTH + 1), "characters"),
    ],
)
def test_a_filter_bomb_is_refused(bomb: str, why: str) -> None:
    with pytest.raises(Refused) as refused:
        sql_filter(bomb)
    assert why in refused.value.text
    assert len(refused.value.text) < 300


def test_a_refusal_is_remembered_and_told_again() -> None:
    texts = []
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            sql_filter("age > 17 AND")
        texts.append(refused.value.text)
        assert refused.value.data["position"] == 12
    assert texts[0] == texts[1]


def test_the_more_terms_the_fewer_records_one_pull_may_scan() -> None:
    short, long = sql_filter("a = 1"), sql_filter(" OR ".join(["a = 1"] * 200))
    assert short.max_scan * short.terms <= 4_096
    assert long.max_scan < short.max_scan
    assert long.max_scan >= 10


def test_properties_are_read_as_leniently_as_everywhere() -> None:
    wanted = sql_filter("a = 'x' AND b IS NULL")
    assert wanted.matches(b"a\x01x\x02b\x01\x02junk\x02")
    assert wanted.matches(b"a\x01y\x02a\x01x")
    assert not wanted.matches(b"")
    assert not wanted.matches(b"a\x01x\x02b\x01\xff\x02")


def test_a_filter_names_the_properties_that_it_asks_for() -> None:
    wanted = sql_filter("age > 17 AND (shop IN ('a', 'b') OR TAGS IS NOT NULL)")
    assert wanted.names == {"age", "shop", "TAGS"}
    assert wanted.wants({"age": "18", "shop": "a"})
    assert not wanted.wants({"age": "old", "shop": "a"})
