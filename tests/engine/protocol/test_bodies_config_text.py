"""Configuration text: Java's Properties as admins and .conf files write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadRequest
from engine.protocol.bodies.config_text import MAX_TEXT_BYTES, decode_config, encode_config


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1\nb=2\n", {"a": "1", "b": "2"}),
        ("  a = 1 \r\nb:2\rc 3", {"a": "1 ", "b": "2", "c": "3"}),
        ("# note\n! note\n\n  # more\na=#1", {"a": "#1"}),
        ("a=x\\\n   y\nb=2", {"a": "xy", "b": "2"}),
        ("path=C:\\\\store\nt=\\t\\u0041", {"path": "C:\\store", "t": "\tA"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b=c", {"a": "b=c"}),
        ("lonely", {"lonely": ""}),
        ("a=x\\", {"a": "x"}),
        ("\\\na=1\n#b=2", {"a": "1"}),
        ("a=1\\\n#b=2", {"a": "1#b=2"}),
        ("smile=\\ud83d\\ude00", {"smile": "😀"}),
        ("", {}),
    ],
)
def test_reading(text: str, pairs: dict[str, str]) -> None:
    assert decode_config(text.encode()) == pairs


def test_many_continued_lines_are_joined_in_linear_time() -> None:
    assert decode_config(b"k=" + b"a\\\n" * 300_000) == {"k": "a" * 300_000}


def test_writing_is_sorted() -> None:
    assert encode_config({"b": "2", "a": "x y"}) == b"a=x y\nb=2\n"


@pytest.mark.parametrize("pairs", [{"a": "1\nb=2"}, {"a\r": "1"}])
def test_a_line_break_cannot_forge_another_key(pairs: dict[str, str]) -> None:
    with pytest.raises(BadRequest, match="line break"):
        encode_config(pairs)


@pytest.mark.parametrize("data", [b"\xff=1", b"a=\\u12", b"a=\\ud800", b"a=" + b"x" * MAX_TEXT_BYTES])
def test_bad_text_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequest):
        decode_config(data)


@given(
    st.dictionaries(
        st.from_regex(r"[a-zA-Z][a-zA-Z0-9.]{0,20}", fullmatch=True),
        st.from_regex(r"[!-\[\]-~]*", fullmatch=True),
    )
)
def test_ordinary_pairs_survive(pairs: dict[str, str]) -> None:
    pairs = {key: value for key, value in pairs.items() if not value.startswith(("=", ":"))}
    assert decode_config(encode_config(pairs)) == pairs


@given(st.binary(max_size=60) | st.text("ab=:\\u1#! \t\r\n", max_size=30).map(str.encode))
def test_junk_is_read_or_refused(data: bytes) -> None:
    try:
        encoded = decode_config(data)
    except BadRequest:
        return
    assert all(isinstance(value, str) for value in encoded.values())
