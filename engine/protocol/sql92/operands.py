"""What an expression is made of: a kind that is known when compiling, and a closure that gives the value.

A property is a text or missing (None); nothing else depends on the message. So the kinds of both sides of a
comparison are known beforehand, and the closures never look at types.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

Properties = Mapping[str, str]
Evaluate = Callable[[Properties], Any]


class ValueKind(Enum):
    PROPERTY = "property"
    TEXT = "text"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    TRUTH = "truth"
    """True, False or unknown (None)."""
    NOTHING = "nothing"
    """Always None: the negative of what is no number."""


TEXTS = frozenset((ValueKind.PROPERTY, ValueKind.TEXT))
NUMBERS = frozenset((ValueKind.INT, ValueKind.LONG, ValueKind.DOUBLE))

_INT_LIMIT, _LONG_LIMIT = 1 << 31, 1 << 63
_DOUBLE = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?\s*")
_ODD_DOUBLES = {"Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.inf}
"""Java sorts NaN above every number, and no constant is infinite."""


@dataclass(frozen=True, slots=True)
class Operand:
    """`constant` is the value of a literal, else None; `name` that of a property; `depth` and `terms` are
    what evaluating it costs at most."""

    kind: ValueKind
    evaluate: Evaluate
    position: int
    is_constant: bool = False
    constant: Any = None
    name: str | None = None
    depth: int = 1
    terms: int = 1


def property_named(name: str, position: int) -> Operand:
    return Operand(ValueKind.PROPERTY, lambda properties: properties.get(name), position, name=name)


def constant(kind: ValueKind, value: Any, position: int) -> Operand:
    return Operand(kind, lambda properties: value, position, is_constant=True, constant=value)


def whole_number(text: str, position: int) -> Operand:
    """ValueError when it does not fit into 64 bits."""
    value = int(text.rstrip("lL"))
    if value >= _LONG_LIMIT:
        raise ValueError(text)
    return constant(ValueKind.INT if value < _INT_LIMIT else ValueKind.LONG, value, position)


def negative(operand: Operand, position: int) -> Operand:
    """Like RocketMQ's, never a constant for the rules about constants; of a text it is nothing."""
    if operand.kind not in NUMBERS:
        evaluate = operand.evaluate
        return Operand(
            ValueKind.NOTHING,
            lambda properties: (evaluate(properties), None)[1],
            position,
            depth=operand.depth + 1,
            terms=operand.terms,
        )
    # Numbers are literals, so the sign is settled here and now.
    value = -operand.evaluate({})
    return Operand(operand.kind, lambda properties: value, position, depth=operand.depth + 1)


def read_int(text: str) -> int:
    """As Java reads an int: an optional sign and digits, nothing around them; else ValueError."""
    return _whole(text, _INT_LIMIT)


def read_long(text: str) -> int:
    return _whole(text, _LONG_LIMIT)


def _whole(text: str, limit: int) -> int:
    if not text.isdigit() and not (text[:1] in "+-" and text[1:].isdigit()):
        raise ValueError(text)
    value = int(text)
    if not -limit <= value < limit:
        raise ValueError(text)
    return value


def read_double(text: str) -> float:
    if text.isdigit():
        return float(text)
    found = _DOUBLE.fullmatch(text)
    if found is not None:
        return float(found[1])
    odd = _ODD_DOUBLES.get(text.strip())
    if odd is None:
        raise ValueError(text)
    return odd


READERS: dict[ValueKind, Callable[[str], Any]] = {
    ValueKind.INT: read_int,
    ValueKind.LONG: read_long,
    ValueKind.DOUBLE: read_double,
}
