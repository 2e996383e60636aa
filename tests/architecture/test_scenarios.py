"""The pages of ``tests/interop/scenarios`` say where each of Apache's scenarios is played, and stay true."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from dataclasses import dataclass

import pytest

from tests.architecture.sources import ROOT

PAGES = ROOT / "tests" / "interop" / "scenarios"
TEST_NAME = re.compile(r"`([\w/.]+\.py)::(\w+)`")


@dataclass(frozen=True, slots=True)
class Row:
    page: str
    scenario: str
    ours: str


def rows() -> list[Row]:
    return [
        Row(page.name, f"{cells[0]} {cells[1]}", cells[2])
        for page in sorted(PAGES.glob("*.md"))
        for cells in _cells(page.read_text(encoding="utf-8"))
    ]


def _cells(page: str) -> list[list[str]]:
    """The table's rows of three, without its head."""
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert all(len(row) == 3 for row in cells), cells
    return [row for row in cells if row[0] != "class"]


@functools.cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return frozenset(node.name for node in found if node.name.startswith("test_"))


def test_every_scenario_of_apache_has_one_row() -> None:
    told = Counter(row.scenario for row in rows())
    names = (PAGES / "apache.txt").read_text(encoding="utf-8").splitlines()
    assert sorted(told) == sorted(names)
    assert not [scenario for scenario, count in told.items() if count > 1]


@pytest.mark.parametrize("page", sorted({row.page for row in rows()}))
def test_a_row_names_tests_that_exist_or_a_reason(page: str) -> None:
    problems = [problem for row in rows() if row.page == page for problem in problems_of(row)]
    assert not problems, "\n".join(problems)


def problems_of(row: Row) -> list[str]:
    named = TEST_NAME.findall(row.ours)
    if not named:
        told = re.match(r"open$|open: \w+|not: \w+", row.ours)
        return [] if told else [f"{row.scenario}: neither a test nor a reason in {row.ours!r}"]
    paths = [(file if "/" in file else f"tests/interop/{file}", name) for file, name in named]
    return [f"{row.scenario}: no {name} in {path}" for path, name in paths if name not in names_in(path)]
