"""Compiled filters agree with the slow reference on any tree and any properties."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.protocol.properties import encode_properties
from engine.protocol.sql92 import sql_filter
from engine.protocol.sql92.parser import parse
from tests.engine.protocol.sql92.reference import Tree, Unreadable, evaluate, render, truth

NAMES = st.sampled_from(["a", "b", "_c", "TAGS"])
TEXTS = st.sampled_from(["", "x", "xy", "it's", "5", "true", "FALSE", "-3", "2.5", "3000000000", "a b"])
NUMBERS = st.sampled_from([0, 5, 17, 3_000_000_000, 2.5, 0.5, -3, -2.5]).map(lambda value: ("number", value))
PROPERTY = NAMES.map(lambda name: ("property", name))
TRUTHS = st.sampled_from([("truth", True), ("truth", False)])
SIGNS = st.sampled_from(["<", "<=", ">", ">="])
EQUAL = st.sampled_from(["=", "<>"])
FLAGS = st.booleans()


def bounds(pair: tuple[Tree, Tree]) -> bool:
    """Constant bounds must be in order; a negative number is no constant to the rules."""
    (_, low), (_, high) = pair
    return bool(low <= high)


LEAVES = st.one_of(
    PROPERTY,
    TRUTHS,
    st.just(("truth", None)),
    st.tuples(EQUAL, PROPERTY, st.one_of(PROPERTY, NUMBERS, TEXTS.map(lambda text: ("text", text)), TRUTHS)),
    st.tuples(EQUAL, st.one_of(NUMBERS, TEXTS.map(lambda text: ("text", text))), PROPERTY),
    st.tuples(SIGNS, PROPERTY, st.one_of(PROPERTY, NUMBERS)),
    st.tuples(SIGNS, NUMBERS, PROPERTY),
    st.tuples(st.just("null"), PROPERTY, FLAGS),
    st.tuples(st.just("in"), NAMES, st.lists(TEXTS, min_size=1, max_size=3), FLAGS),
    st.tuples(
        st.just("search"), st.sampled_from(["CONTAINS", "STARTSWITH", "ENDSWITH"]), NAMES, TEXTS, FLAGS
    ),
    st.tuples(NUMBERS, NUMBERS)
    .filter(bounds)
    .flatmap(lambda pair: st.tuples(st.just("between"), NAMES, st.just(pair[0]), st.just(pair[1]), FLAGS)),
)


def grown(trees: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    conditions = trees.filter(lambda tree: tree[0] not in ("property", "truth"))
    return st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), trees, trees),
        st.tuples(st.just("not"), trees),
        st.tuples(st.just("null"), conditions, FLAGS),
        st.tuples(EQUAL, conditions, st.one_of(conditions, TRUTHS)),
    )


TREES: st.SearchStrategy[Tree] = st.recursive(LEAVES, grown, max_leaves=8)
PROPERTIES = st.dictionaries(NAMES, TEXTS.filter(bool))


@settings(max_examples=400, deadline=None)
@given(TREES, PROPERTIES)
def test_a_compiled_filter_agrees_with_the_reference(tree: Tree, properties: dict[str, str]) -> None:
    try:
        expected = truth(tree, properties)
    except Unreadable:
        expected = None
    text = render(tree)
    assert sql_filter(text).matches(encode_properties(properties).encode()) is (expected is True)


@settings(max_examples=200, deadline=None)
@given(TREES, PROPERTIES)
def test_unknown_is_told_from_false(tree: Tree, properties: dict[str, str]) -> None:
    compiled = parse(render(tree))
    try:
        expected = truth(tree, properties)
    except Unreadable:
        return
    assert compiled.evaluate(properties) is expected


def test_the_reference_knows_three_values() -> None:
    assert evaluate(("and", ("truth", None), ("truth", False)), {}) is False
    assert evaluate(("or", ("truth", None), ("truth", False)), {}) is None
