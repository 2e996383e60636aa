from __future__ import annotations

import pytest

from engine.protocol.bodies.config_text import format_config, parse_config


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb = 2\n", {"a": "1", "b": "2"}),
        ("# c\n! d\n\n  a=1", {"a": "1"}),
        ("a:1\nb 2\nc\t=\t3", {"a": "1", "b": "2", "c": "3"}),
        ("a=one\\\n   two", {"a": "onetwo"}),
        ("path=C\\:\\\\x\nu=\\u0041", {"path": "C:\\x", "u": "A"}),
        ("brokerIP1=127.0.0.1\r\nlistenPort=10911\r\n", {"brokerIP1": "127.0.0.1", "listenPort": "10911"}),
        ("a=b=c", {"a": "b=c"}),
        ("alone", {"alone": ""}),
        ("a=1\\", {"a": "1"}),
        ("", {}),
    ],
)
def test_java_properties_are_read(text, expected):
    assert parse_config(text) == expected


def test_formatting_is_sorted_and_reads_back():
    text = format_config({"b": True, "a": 5, "c": "x"})
    assert text == "a=5\nb=true\nc=x\n"
    assert parse_config(text) == {"a": "5", "b": "true", "c": "x"}
