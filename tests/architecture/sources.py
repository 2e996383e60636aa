"""The sources as the house rules see them: parsed modules, their functions, and the exceptions file."""

from __future__ import annotations

import ast
import functools
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON_TREES = ("engine", "spark", "tests", "tools", "bench")
EXCEPTIONS = Path(__file__).with_name("exceptions.txt")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    path: str
    line_count: int
    tree: ast.Module


@functools.cache
def modules(*trees: str) -> tuple[Module, ...]:
    return tuple(_parse(path) for tree in trees for path in sorted((ROOT / tree).rglob("*.py")))


def _parse(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    return Module(path.relative_to(ROOT).as_posix(), text.count("\n"), ast.parse(text))


def functions(module: Module) -> Iterator[tuple[str, FunctionNode]]:
    """Every function with its qualified name, nested ones included."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, FunctionNode]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, FunctionNode | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if isinstance(child, FunctionNode):
                    yield name, child
                yield from walk(child, f"{name}.")
            else:
                yield from walk(child, prefix)

    return walk(module.tree, "")


def enclosing_function(module: Module, line: int) -> str:
    """The innermost function around a line, or the module itself."""
    around = [name for name, node in functions(module) if node.lineno <= line <= (node.end_lineno or 0)]
    return around[-1] if around else "<module>"


def excused(kind: str) -> set[str]:
    """The places that exceptions.txt lets off one rule."""
    lines = [line.split(None, 2) for line in EXCEPTIONS.read_text().splitlines() if line.strip()]
    entries = [words for words in lines if not words[0].startswith("#")]
    unreasoned = [words for words in entries if len(words) < 3]
    assert not unreasoned, f"an exception needs a kind, a place and a reason: {unreasoned}"
    return {place for entry_kind, place, _ in entries if entry_kind == kind}


def assert_only_excused(kind: str, found: dict[str, str]) -> None:
    """`found` maps a place to what is wrong there."""
    places = excused(kind)
    broken = [f"{place}: {found[place]}" for place in sorted(found.keys() - places)]
    assert not broken, f"{kind}:\n" + "\n".join(broken)
    stale = sorted(places - found.keys())
    assert not stale, f"{kind}: strike these from exceptions.txt, they are not needed any more: {stale}"


@functools.cache
def committed_files() -> tuple[str, ...]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    return tuple(name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())
