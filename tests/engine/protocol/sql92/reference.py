"""A second, slow and plain evaluator of filters: walks a tree of tuples and looks at the types of values.

It shares nothing with the engine. `render` gives the text of a tree, with parentheses everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Tree = tuple[Any, ...]


class Unreadable(Exception):
    """A text is not the number that it was compared with, or the kinds cannot meet."""


def render(tree: Tree) -> str:
    match tree:
        case ("property", name):
            return str(name)
        case ("text", value):
            return "'" + value.replace("'", "''") + "'"
        case ("number", value):
            return repr(value) if value >= 0 else f"- {-value!r}"
        case ("truth", value):
            return {True: "TRUE", False: "FALSE", None: "NULL"}[value]
        case ("not", inner):
            return f"NOT ({render(inner)})"
        case ("null", inner, negated):
            return f"({render(inner)}) IS {'NOT ' if negated else ''}NULL"
        case ("in", name, wanted, negated):
            texts = ", ".join(render(("text", value)) for value in wanted)
            return f"{name} {'NOT ' if negated else ''}IN ({texts})"
        case ("search", keyword, name, search, negated):
            return f"{name} {'NOT ' if negated else ''}{keyword} {render(('text', search))}"
        case ("between", name, low, high, negated):
            return f"{name} {'NOT ' if negated else ''}BETWEEN {render(low)} AND {render(high)}"
        case (sign, left, right):
            return f"({render(left)}) {sign.upper()} ({render(right)})"
    raise AssertionError(tree)


def evaluate(tree: Tree, properties: Mapping[str, str]) -> Any:
    match tree:
        case ("property", name):
            return properties.get(name)
        case ("text", value) | ("number", value) | ("truth", value):
            return value
        case ("not", inner):
            value = truth(inner, properties)
            return None if value is None else not value
        case ("null", inner, negated):
            return (evaluate(inner, properties) is None) != negated
        case ("in", name, wanted, negated):
            value = properties.get(name)
            return None if value is None else (value in wanted) != negated
        case ("search", keyword, name, search, negated):
            return searched(keyword, properties.get(name), search, negated)
        case ("between", name, low, high, negated):
            inside = ("and", (">=", ("property", name), low), ("<=", ("property", name), high))
            outside = ("or", ("<", ("property", name), low), (">", ("property", name), high))
            return evaluate(outside if negated else inside, properties)
        case ("and" | "or" as word, left, right):
            return joined(word == "or", left, right, properties)
        case (sign, left, right):
            return compared(sign, evaluate(left, properties), evaluate(right, properties))
    raise AssertionError(tree)


def truth(tree: Tree, properties: Mapping[str, str]) -> bool | None:
    value = evaluate(tree, properties)
    return value.lower() == "true" if isinstance(value, str) else value


def joined(deciding: bool, left: Tree, right: Tree, properties: Mapping[str, str]) -> bool | None:
    one = truth(left, properties)
    if one is deciding:
        return deciding
    other = truth(right, properties)
    if other is deciding:
        return deciding
    return None if one is None or other is None else not deciding


def searched(keyword: str, value: str | None, search: str, negated: bool) -> bool:
    if value is None or search == "":
        return False
    place = {"CONTAINS": search in value, "STARTSWITH": value.startswith(search)}
    return place.get(keyword, value.endswith(search)) != negated


def compared(sign: str, one: Any, other: Any) -> bool | None:
    if sign in ("=", "<>"):
        same = equal(one, other)
        return None if same is None else same != (sign == "<>")
    if one is None or other is None:
        return None
    if isinstance(one, str) and isinstance(other, str):
        one, other = number(one, 0.0), number(other, 0.0)
    one, other = alike(one, other)
    return bool({"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[sign])


def equal(one: Any, other: Any) -> bool | None:
    if one is None:
        return True if other is None else None
    if other is None:
        return False
    if isinstance(one, bool) and isinstance(other, str):
        raise Unreadable
    if isinstance(one, str) and isinstance(other, bool):
        return (one.lower() == "true") == other
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    one, other = alike(one, other)
    return bool(one == other)


def alike(one: Any, other: Any) -> tuple[Any, Any]:
    if isinstance(one, str) and not isinstance(other, str):
        return number(one, other), other
    if isinstance(other, str) and not isinstance(one, str):
        return one, number(other, one)
    return one, other


def number(text: str, like: float) -> float:
    if isinstance(like, float):
        if not re.fullmatch(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*", text):
            raise Unreadable
        return float(text)
    bits = 31 if -(2**31) <= like < 2**31 else 63
    if not re.fullmatch(r"[+-]?\d+", text) or not -(2**bits) <= int(text) < 2**bits:
        raise Unreadable
    return int(text)
