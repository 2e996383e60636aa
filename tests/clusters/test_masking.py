"""Masks: which rules hold for whom, and what is left of a message. Pure."""

from __future__ import annotations

import json

import pytest

from clusters.models import MaskRule
from clusters.selectors.masking import HIDDEN, OPEN, Mask, is_path, mask_for, masked_body, masked_properties
from console.core.models.people import Role
from console.core.rights import Grant, Grants

VIEWER = Grants((Grant(Role.VIEWER, "*", "*"),))
ADMIN = Grants((Grant(Role.ADMIN, "*", "*"),))
TEAM = Grants((Grant(Role.VIEWER, "*", "*"), Grant(Role.OPERATOR, "*", "team-*")))


def rule(topics: str = "*", **values: object) -> MaskRule:
    return MaskRule(cluster_pattern="*", topic_pattern=topics, **values)


def mask(rules: list[MaskRule], grants: Grants, *topics: str) -> Mask:
    return mask_for(rules, grants, "c", topics)


def test_a_rule_holds_up_to_its_role_on_that_topic() -> None:
    rules = [rule(hides_body=True, up_to_role=Role.VIEWER)]
    assert mask(rules, VIEWER, "orders").hides_body
    assert mask(rules, ADMIN, "orders") == OPEN
    assert mask(rules, TEAM, "team-orders") == OPEN
    assert mask(rules, TEAM, "orders").hides_body


def test_a_dead_letter_is_masked_as_its_group_and_as_its_topic() -> None:
    rules = [rule("cards", json_paths=["number"]), rule("%DLQ%billing", properties=["user"])]
    found = mask(rules, VIEWER, "%DLQ%billing", "cards")
    assert (found.json_paths, found.properties) == (("number",), frozenset({"user"}))


def test_a_default_rule_gives_way_to_one_that_names_the_topic() -> None:
    rules = [rule(hides_body=True, is_default=True), rule("open-*")]
    assert mask(rules, VIEWER, "orders").hides_body
    assert mask(rules, VIEWER, "open-orders") == OPEN


def test_rules_that_hold_together_hide_together_and_the_stricter_reveals() -> None:
    rules = [
        rule("orders", json_paths=["a"], reveal_role=Role.OPERATOR),
        rule("ord*", properties=["p"], reveal_role=Role.ADMIN),
    ]
    assert mask(rules, VIEWER, "orders") == Mask(False, ("a",), frozenset({"p"}), Role.ADMIN)


@pytest.mark.parametrize(
    ("path", "body", "left"),
    [
        ("card.number", {"card": {"number": "4111", "to": 1}}, {"card": {"number": HIDDEN, "to": 1}}),
        ("items[*].iban", {"items": [{"iban": 1}, {"b": 2}]}, {"items": [{"iban": HIDDEN}, {"b": 2}]}),
        ("items.iban", {"items": [{"iban": 1}]}, {"items": [{"iban": HIDDEN}]}),
        ("names[*]", {"names": ["a", "b"]}, {"names": [HIDDEN, HIDDEN]}),
        ("*.secret", {"a": {"secret": {"deep": 1}}, "b": 3}, {"a": {"secret": HIDDEN}, "b": 3}),
        ("iban", [{"iban": 1}], [{"iban": HIDDEN}]),
        ("card", {"card": {"number": 1}}, {"card": HIDDEN}),
        ("absent.x", {"a": 1}, {"a": 1}),
    ],
)
def test_a_path_hides_what_it_names(path: str, body: object, left: object) -> None:
    found = masked_body(json.dumps(body).encode(), Mask(json_paths=(path,)))
    assert found is not None and json.loads(found) == left


@pytest.mark.parametrize(
    "body",
    [b"plain", b"\xff\xfe", b'"4111"', b"4111", b'{"card": ', b"[" * 100_000, b'{"a": "\\ud800"}'],
    ids=["text", "binary", "string", "number", "cut", "deep", "surrogate"],
)
def test_what_cannot_be_masked_in_part_is_hidden_whole(body: bytes) -> None:
    assert masked_body(body, Mask(json_paths=("card.number",))) is None


def test_a_second_key_of_the_same_name_does_not_pass() -> None:
    found = masked_body(b'{"pin": 1234, "pin": 5678}', Mask(json_paths=("pin",)))
    assert found is not None and b"1234" not in found and b"5678" not in found


def test_properties_are_hidden_by_name() -> None:
    hidden = masked_properties({"user": "bob", "KEYS": "k"}, Mask(properties=frozenset({"KEYS"})))
    assert hidden == {"user": "bob", "KEYS": HIDDEN}


@pytest.mark.parametrize("path", ["a", "a.b", "a[*].b", "*.x", "a[*][*]", "ümlaut.x"])
def test_paths(path: str) -> None:
    assert is_path(path)


@pytest.mark.parametrize("path", ["", ".", "a..b", "a[0]", "$.a b", "[*]", "a.", "x" * 300])
def test_what_is_no_path(path: str) -> None:
    assert not is_path(path)
