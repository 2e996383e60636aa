"""Tag expressions."""

from __future__ import annotations

import pytest

from engine.client.consuming.subscriptions import accepts, subscription
from engine.errors import BadInput
from engine.protocol.hashes import java_hash


@pytest.mark.parametrize("expression", ["*", "", None, "  "])
def test_everything_is_wanted(expression: str | None) -> None:
    data = subscription("t", expression, 1)
    assert data.sub_string == "*" and not data.tags_set
    assert accepts(data, None) and accepts(data, "any")


def test_tags_are_split_and_hashed() -> None:
    data = subscription("t", " a ||b || c ", 1)
    assert data.tags_set == {"a", "b", "c"}
    assert data.code_set == {java_hash("a"), java_hash("b"), java_hash("c")}


def test_a_tag_with_the_same_hash_is_not_accepted() -> None:
    assert java_hash("Aa") == java_hash("BB")
    data = subscription("t", "Aa", 1)
    assert accepts(data, "Aa") and not accepts(data, "BB") and not accepts(data, None)


def test_sql_is_passed_on_as_it_is() -> None:
    data = subscription("t", "a > 5", 1, "SQL92")
    assert (data.sub_string, data.expression_type, data.tags_set) == ("a > 5", "SQL92", frozenset())
    assert accepts(data, "whatever")


@pytest.mark.parametrize(("expression", "kind"), [("||", "TAG"), ("a", "REGEX")])
def test_nonsense_is_refused(expression: str, kind: str) -> None:
    with pytest.raises(BadInput):
        subscription("t", expression, 1, kind)
