"""fastjson's dialect: golden texts both ways, and junk that must end as BadRequest."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput, BadRequest
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.fastjson import MAX_DEPTH, ObjectKey, dumps, dumps_pretty, loads

QUEUE = MessageQueue("t", "b", 0)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{0:"10.0.0.1:10911",1:"x"}', {"0": "10.0.0.1:10911", "1": "x"}),
        (b"{-1:2}", {"-1": 2}),
        (b"{'a':'b'}", {"a": "b"}),
        (rb"""{'it\'s "so"':'\\\u0041\n'}""", {'it\'s "so"': "\\A\n"}),
        (b'{ "a" : [ 1 , 2.5e1 , true , false , null , -0 ] , 7 : { } , "e" : [ ] }',
         {"a": [1, 25.0, True, False, None, 0], "7": {}, "e": []}),
        ('{1:"ключ","\\u00e9\\ud83d\\ude00":\'é\'}'.encode(), {"1": "ключ", "é😀": "é"}),
        (b"[]", []),
        (b'"text"', "text"),
    ],
)  # fmt: skip
def test_dialect_is_read(text: bytes, value: object) -> None:
    assert loads(text) == value
    assert loads(memoryview(text)) == value


def test_object_keys_are_read_as_hashable_keys() -> None:
    table = loads(b'{{"brokerName":"b","queueId":0,"topic":"t"}:{"o":1},{"topic":"u"}:2}')
    assert table[ObjectKey((("brokerName", "b"), ("queueId", 0), ("topic", "t")))] == {"o": 1}
    assert table[ObjectKey((("topic", "u"),))] == 2


@pytest.mark.parametrize(
    "text",
    [
        b"", b" ", b"{", b"}", b"{1", b"{1:", b"{1:2", b"{1:2,}", b"{1:2}x", b"{1.5:2}", b"{a:1}",
        b"[1,]", b"[1 2]",
        b"{:1}", b"{true:1}", b"'a", b'"a', b"'\n'", b"{'a':nul}", b"{1:NaN}", b"{1:01}", b"{1:-}",
        b"\xff", b"{1:'\xff'}",
        b"{1:'\\x'}", b"{1:\"\\ud800\"}", b"{{[]:1}:2}", b'{{"a":[]}:2}',
        b"{1:" + b"9" * 5000 + b"}", b"{" + b"9" * 21 + b":1}",
        b"nul", b"{1:2}}", b"\x00",
    ],
)  # fmt: skip
def test_malformed_text_is_a_bad_request(text: bytes) -> None:
    with pytest.raises(BadRequest):
        loads(text)


@pytest.mark.parametrize("shape", [b"[%s]", b'{"a":%s}', b"{1:%s}", b"{'a':[%s]}"])
def test_depth_is_bounded_on_both_paths(shape: bytes) -> None:
    deep = b"1"
    for _ in range(MAX_DEPTH + 1):
        deep = shape.replace(b"%s", deep)
    with pytest.raises(BadRequest, match="nested deeper"):
        loads(deep)


@pytest.mark.parametrize("opening", [b"[", b"{1:", b"{{", b'{"a":', b"[{1:"])
def test_a_hundred_thousand_brackets_do_not_exhaust_the_stack(opening: bytes) -> None:
    with pytest.raises(BadRequest):
        loads(opening * 100_000)


@pytest.mark.parametrize(
    "text", [b'{1:"' + b'\\"' * 400_000, b"{1:'" + b"\\'" * 400_000, b'{1:"' + b'"{1:' * 200_000]
)
def test_unclosed_strings_are_refused_in_linear_time(text: bytes) -> None:
    with pytest.raises(BadRequest):
        loads(text)


@pytest.mark.parametrize("inside", ["{1:2}", ",3:", '\\"{4:', "'5':"])
def test_what_looks_like_a_key_inside_a_string_stays_text(inside: str) -> None:
    text = b'{1:"%b"}' % inside.encode()
    assert loads(text) == {"1": json.loads(f'"{inside}"')}


def test_the_deepest_allowed_nesting_passes() -> None:
    assert loads(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is not None
    assert loads(b"{1:" * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH)["1"] is not None


def test_wide_bodies_are_not_taken_for_deep_ones() -> None:
    assert len(loads(b"[" + b"[]," * 100 + b"[]]")) == 101


def test_a_dialect_text_above_the_limit_is_refused() -> None:
    text = b"{1:2}"
    assert loads(text, dialect_limit_bytes=5) == {"1": 2}
    with pytest.raises(BadRequest, match="too large"):
        loads(text, dialect_limit_bytes=4)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": None, "c": [None, {}]}, b'{"b":1,"c":[null,{}]}'),
        ({10: "b", 9: "a"}, b'{9:"a",10:"b"}'),
        ({QUEUE: {"o": 1}}, b'{{"brokerName":"b","queueId":0,"topic":"t"}:{"o":1}}'),
        ({"t": {QUEUE: 5, MessageQueue("t", "b", 1): 6}},
         b'{"t":{{"brokerName":"b","queueId":0,"topic":"t"}:5,{"brokerName":"b","queueId":1,"topic":"t"}:6}}'),
        ({"a": 0.0, "b": True, "c": (1, 2), "d": 2**70}, b'{"a":0.0,"b":true,"c":[1,2],"d":%d}' % 2**70),
        ({0: float("nan"), 1: None, 2: "x"}, b'{2:"x"}'),
        ({"a": float("nan"), "b": 1}, b'{"b":1}'),
        ({"only": None}, b"{}"),
        ({"q": QUEUE, "s": {3, 1}}, b'{"q":{"brokerName":"b","queueId":0,"topic":"t"},"s":[1,3]}'),
        ({1: 'a"\\\n\u2028é'}, '{1:"a\\"\\\\\\n\u2028é"}'.encode()),
        ({"null": ":null"}, b'{"null":":null"}'),
        (None, b"null"),
    ],
)  # fmt: skip
def test_golden_writing(value: object, text: bytes) -> None:
    assert dumps(value) == text


def test_standard_style_quotes_numbers_and_escapes() -> None:
    assert dumps({0: "é", 1: {"x": 2}}, quote_numeric_keys=True, ascii=True) == b'{"0":"\\u00e9","1":{"x":2}}'
    assert dumps({0: "e"}, quote_numeric_keys=True, ascii=True) == b'{"0":"e"}'
    assert dumps({0: None, QUEUE: 1}, quote_numeric_keys=True, ascii=True).startswith(b"{{")


def test_pretty_files_hold_the_same_value() -> None:
    table = {"offsetTable": {"t@g": {0: 123, 1: 456}}}
    text = dumps_pretty(table)
    assert text.count(b"\n") > 3
    assert json.loads(text) == {"offsetTable": {"t@g": {"0": 123, "1": 456}}}


def test_a_cyclic_value_is_our_own_fault() -> None:
    cycle: dict[str, object] = {}
    cycle["self"] = cycle
    with pytest.raises(BadInput):
        dumps(cycle)


def test_a_value_without_json_form_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        dumps({"a": object()})


def test_lone_surrogates_never_reach_the_wire_as_bad_utf8() -> None:
    dumps({"a": "\ud800"}).decode("utf-8")


@given(PLAIN)
def test_plain_values_survive_the_slow_writer_and_reader(value: object) -> None:
    wrapped = {1: [value]}
    text = dumps(wrapped)
    assert text.startswith(b"{1:")
    assert loads(text) == {"1": [_without_null_members(value)]}


@given(
    st.dictionaries(
        st.tuples(TEXTS, TEXTS, st.integers(0, 2**31 - 1)), st.integers(-(2**63), 2**63 - 1), max_size=5
    )
)
def test_tables_by_queue_survive(table: dict[tuple[str, str, int], int]) -> None:
    queues = {MessageQueue(*key): offset for key, offset in table.items()}
    read = loads(dumps(queues))
    assert {MessageQueue.from_json(key.to_json()): offset for key, offset in read.items()} == queues


@given(
    st.binary(max_size=60) | st.text("{}[]:,'\"\\0123456789.eE+-tfn ul\u00e9", max_size=40).map(str.encode)
)
def test_junk_is_read_or_refused_but_nothing_else(data: bytes) -> None:
    try:
        loads(data)
    except BadRequest:
        return


@given(PLAIN, st.data())
def test_any_cut_of_a_dialect_text_is_refused(value: object, data: st.DataObject) -> None:
    text = dumps({1: value, "x": 1})
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(BadRequest):
        loads(text[:cut])


def _without_null_members(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_null_members(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_null_members(item) for item in value]
    return value
