"""Address patterns of ACL 1.0."""

from __future__ import annotations

import pytest

from engine.access.plain_acl import address_pattern
from engine.errors import BadInput


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("", [], ["127.0.0.1", ""]),
        ("*", ["127.0.0.1", "::1"], []),
        ("*.*.*.*", ["10.1.2.3"], []),
        ("192.168.0.7", ["192.168.0.7"], ["192.168.0.70", "192.168.0.8"]),
        ("192.168.0.*", ["192.168.0.1", "192.168.0.255"], ["192.168.1.1", "::1", "x"]),
        ("192.168.*.*", ["192.168.9.9"], ["192.169.0.1"]),
        (
            "192.168.1.10-20",
            ["192.168.1.10", "192.168.1.20"],
            ["192.168.1.9", "192.168.1.21", "192.168.1.100"],
        ),
        ("192.168.1-2.*", ["192.168.2.200"], ["192.168.3.1"]),
        ("192.168.0.{1,2}", ["192.168.0.1", "192.168.0.2"], ["192.168.0.3", "192.168.0.12"]),
        ("10.0.0.1,10.0.0.2", ["10.0.0.2"], ["10.0.0.3"]),
        ("2001:db8::1", ["2001:db8:0:0:0:0:0:1"], ["2001:db8::2"]),
        ("2001:db8::7:*", ["2001:db8::7:1", "2001:db8::7:ffff"], ["2001:db8::8:1", "192.168.0.1"]),
        ("2::ac5:78:1-200:*", ["2::ac5:78:1ff:5"], ["2::ac5:78:201:5"]),
        ("2001:db8::{1,a}", ["2001:db8::a"], ["2001:db8::b"]),
    ],
)
def test_patterns(pattern: str, inside: list[str], outside: list[str]) -> None:
    matches = address_pattern(pattern)
    assert [ip for ip in inside if not matches(ip)] == []
    assert [ip for ip in outside if matches(ip)] == []


@pytest.mark.parametrize(
    "pattern",
    ["x", "192.168.0", "192.168.*", "192.168.0.300", "192.168.0.20-10", "192.168.0.-5", "10.0.0.1,x",
     "10.{1,2}", "{1,2}", "2001:*:db8::1", "10.0.0.1-x", "a.b.c.*"],
)  # fmt: skip
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(BadInput, match="no address pattern"):
        address_pattern(pattern)
