"""Modules are split by noun at 500 lines, functions by step at 60."""

from __future__ import annotations

from tests.architecture.sources import PYTHON_TREES, assert_only_excused, functions, modules

MODULE_LINES = 500
FUNCTION_LINES = 60


def test_no_module_is_longer_than_500_lines() -> None:
    long = {
        module.path: f"{module.line_count} lines"
        for module in modules(*PYTHON_TREES)
        if module.line_count > MODULE_LINES
    }
    assert_only_excused("long-module", long)


def test_no_function_is_longer_than_60_lines() -> None:
    lengths = {
        f"{module.path}:{name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules(*PYTHON_TREES)
        for name, node in functions(module)
    }
    long = {place: f"{lines} lines" for place, lines in lengths.items() if lines > FUNCTION_LINES}
    assert_only_excused("long-function", long)


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty_names = {"util", "utils", "common", "helper", "helpers", "manager", "base", "misc"}
    named_so = [
        module.path
        for module in modules("engine")
        if empty_names & {part.removesuffix(".py") for part in module.path.split("/")}
    ]
    assert not named_so
