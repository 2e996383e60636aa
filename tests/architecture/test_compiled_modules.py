"""The compiled modules: one list on disk and in setup.py, and no old build in front of new source."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.sources import ROOT

ROOTS = (ROOT / "engine", ROOT / "spark")


def _listed_in_setup() -> set[str]:
    tree = ast.parse((ROOT / "setup.py").read_text())
    values = [node.value for node in tree.body if isinstance(node, ast.Assign) and _is_the_list(node)]
    assert len(values) == 1
    return set(ast.literal_eval(values[0]))


def _is_the_list(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "COMPILED_MODULES" for target in node.targets)


def _on_disk() -> list[Path]:
    return sorted(source for root in ROOTS for source in root.rglob("*_cy.py"))


def test_setup_lists_exactly_the_cy_modules_on_disk() -> None:
    names = {source.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".") for source in _on_disk()}
    assert names == _listed_in_setup()


def test_no_build_is_older_than_its_source() -> None:
    # Python prefers a stale .so to an edited .py without a word; `make setup` builds it again.
    stale = [
        build.name
        for source in _on_disk()
        for build in source.parent.glob(f"{source.stem}.*.so")
        if build.stat().st_mtime < source.stat().st_mtime
    ]
    assert not stale


def test_no_build_is_left_of_a_module_that_is_gone() -> None:
    orphans = [
        build.name
        for root in ROOTS
        for build in root.rglob("*.so")
        if not (build.parent / f"{build.name.split('.')[0]}.py").exists()
    ]
    assert not orphans
