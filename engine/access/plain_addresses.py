"""Address patterns of ACL 1.0: one address, `192.168.0.*`, `10.1.10-20.*`, `192.168.0.{1,2}`, `a,b`, `*`.

IPv6 likewise, with the pattern at the end: `2001:db8::7:1-ff:*`. What is no pattern is BadInput: an address
list that is silently empty, or silently everybody, is worse than a start that fails. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from engine.errors import BadInput

Matches = Callable[[str], bool]
_EVERYBODY = ("*", "*.*.*.*", "*:*:*:*:*:*:*:*")
_Range = tuple[int, int]


@lru_cache(maxsize=4096)
def address_pattern(text: str) -> Matches:
    """Whether an address is meant; an empty pattern means none."""
    text = text.strip()
    if not text:
        return lambda ip: False
    if text in _EVERYBODY:
        return lambda ip: True
    if text.endswith("}"):
        return _one_of(_braced(text), text)
    if "," in text:
        return _one_of(text.split(","), text)
    if "*" in text or "-" in text:
        return _ranges(text)
    return _one_of([text], text)


def _one_of(addresses: list[str], text: str) -> Matches:
    try:
        wanted = {ip_address(address.strip()) for address in addresses}
    except ValueError:
        raise _bad(text) from None

    def matches(ip: str) -> bool:
        try:
            return ip_address(ip) in wanted
        except ValueError:
            return False

    return matches


def _braced(text: str) -> list[str]:
    head, opened, last = text[:-1].partition("{")
    if not opened or head[-1:] not in (".", ":"):
        raise _bad(text)
    return [head + part.strip() for part in last.split(",")]


def _ranges(text: str) -> Matches:
    is_v6 = ":" in text
    ranges = _v6_ranges(text) if is_v6 else [_range(part, text, 10, 255) for part in text.split(".")]
    if not is_v6 and len(ranges) != 4:
        raise _bad(text)

    def matches(ip: str) -> bool:
        parts = _parts(ip, is_v6)
        return parts is not None and all(
            low <= part <= high for part, (low, high) in zip(parts, ranges, strict=True)
        )

    return matches


def _v6_ranges(text: str) -> list[_Range]:
    parts = text.split(":")
    tail: list[str] = []
    while parts and ("*" in parts[-1] or "-" in parts[-1]):
        tail.insert(0, parts.pop())
    if any("*" in part or "-" in part for part in parts) or len(tail) > 8:
        raise _bad(text)
    head = ":".join(parts)
    missing = ":".join("0" for _ in tail)
    try:
        # The head is expanded to what the pattern leaves of eight parts.
        whole = IPv6Address(f"{head}:{missing}" if head else missing)
    except ValueError:
        raise _bad(text) from None
    known = _parts(str(whole), True) or []
    fixed = [(part, part) for part in known[: 8 - len(tail)]]
    return fixed + [_range(part, text, 16, 0xFFFF) for part in tail]


def _range(part: str, text: str, base: int, highest: int) -> _Range:
    part = part.strip()
    if part == "*":
        return 0, highest
    low, dash, high = part.partition("-")
    try:
        first = int(low, base)
        last = int(high, base) if dash else first
    except ValueError:
        raise _bad(text) from None
    if not 0 <= first <= last <= highest:
        raise _bad(text)
    return first, last


def _parts(ip: str, is_v6: bool) -> list[int] | None:
    try:
        address = ip_address(ip)
    except ValueError:
        return None
    if (address.version == 6) is not is_v6:
        return None
    packed = address.packed
    return [int.from_bytes(packed[at : at + 2]) for at in range(0, 16, 2)] if is_v6 else list(packed)


def _bad(text: str) -> BadInput:
    return BadInput(f"{text!r:.120} is no address pattern")
