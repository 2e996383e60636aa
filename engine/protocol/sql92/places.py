"""A refusal of an expression says what is wrong and where: a position from 1 and the text around it."""

from __future__ import annotations

from engine.errors import Refused
from engine.protocol.codes import ResponseCode

_BEFORE, _AFTER = 24, 24
_MARK = ">>>"


def refused_at(text: str, position: int, why: str) -> Refused:
    """`position` counts from 0; people count from 1."""
    return Refused(
        f"parse the consumer's subscription failed: {why} at position {position + 1}: "
        f"{excerpt(text, position)}",
        code=ResponseCode.SUBSCRIPTION_PARSE_FAILED,
        position=position,
    )


def excerpt(text: str, position: int) -> str:
    """Some of the text around a place, with a mark in front of it."""
    start, end = max(0, position - _BEFORE), position + _AFTER
    head = ("…" if start else "") + text[start:position]
    tail = text[position:end] + ("…" if end < len(text) else "")
    return f"{head}{_MARK}{tail}".replace("\n", " ").replace("\r", " ")
