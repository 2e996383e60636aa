"""Errors become replies at one border: nothing but engine/net/serving.py catches Exception."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

import pytest

from tests.architecture.sources import assert_only_excused, enclosing_function, modules

BORDER = "engine/net/serving.py"
BROAD = {"Exception", "BaseException"}


def broad_catches(tree: ast.Module) -> Iterator[int]:
    """Lines that catch everything: bare excepts, Exception in a clause or in contextlib.suppress."""
    return (node.lineno for node in ast.walk(tree) if _is_clause(node) or _is_suppress(node))


def _is_clause(node: ast.AST) -> TypeGuard[ast.ExceptHandler]:
    return isinstance(node, ast.ExceptHandler) and (node.type is None or _names_broad(node.type))


def _is_suppress(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and _called(node) == "suppress" and any(map(_names_broad, node.args))


def _names_broad(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Name) and part.id in BROAD for part in ast.walk(node))


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def test_only_the_border_catches_exception() -> None:
    found = {
        f"{module.path}:{enclosing_function(module, line)}": f"line {line} catches everything"
        for module in modules("engine")
        if module.path != BORDER
        for line in broad_catches(module.tree)
    }
    assert_only_excused("broad-except", found)


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    pass\nexcept:\n    pass",
        "try:\n    pass\nexcept Exception:\n    pass",
        "try:\n    pass\nexcept (OSError, BaseException) as error:\n    pass",
        "with contextlib.suppress(Exception):\n    pass",
    ],
)
def test_each_broad_catch_is_seen(source: str) -> None:
    assert list(broad_catches(ast.parse(source)))


def test_a_narrow_catch_is_let_through() -> None:
    assert not list(broad_catches(ast.parse("try:\n    pass\nexcept OSError:\n    pass")))
