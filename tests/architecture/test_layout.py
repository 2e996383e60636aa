"""The shape of the tree: what shadows nothing, what mirrors, what the documents promise."""

from __future__ import annotations

import platform
import re
import sysconfig
from pathlib import Path

from tests.architecture.sources import ROOT


def _folders_with_python(tree: Path) -> set[Path]:
    found: set[Path] = set()
    for file in tree.rglob("*.py"):
        inside = [parent for parent in file.parents if parent.is_relative_to(tree)]
        found.update(inside)
    return found


def test_platform_has_no_init_so_it_cannot_shadow_the_standard_library() -> None:
    assert not (ROOT / "platform" / "__init__.py").exists()


def test_import_platform_is_the_standard_library() -> None:
    assert Path(platform.__file__).is_relative_to(sysconfig.get_path("stdlib"))


def test_every_level_of_tests_is_a_package() -> None:
    # A tests/engine/ that is not inside the package `tests` would shadow `engine` itself.
    bare = [
        folder for folder in _folders_with_python(ROOT / "tests") if not (folder / "__init__.py").exists()
    ]
    assert not bare


def test_every_level_of_engine_is_a_package_so_that_the_wheel_has_it() -> None:
    folders = _folders_with_python(ROOT / "engine")
    assert not [folder for folder in folders if not (folder / "__init__.py").exists()]


def test_the_architecture_page_names_every_room_of_the_engine() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    rooms = [init.parent.name for init in (ROOT / "engine").glob("*/__init__.py")]
    assert rooms
    assert not [room for room in rooms if f"\n  {room}/ " not in page]


def test_the_pages_name_modules_that_exist() -> None:
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guides").glob("*.md"), ROOT / "README.md"]
    named = {
        path: page.name
        for page in pages
        for path in re.findall(
            r"`((?:engine|platform|spark|tests|bench|tools)/[\w/.]+\.py)`", page.read_text()
        )
    }
    assert len(named) > 50
    # security.md names tests below tests/.
    places = (ROOT, ROOT / "tests")
    assert not {path: page for path, page in named.items() if not any((p / path).exists() for p in places)}


def test_make_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    declared = re.search(r"^\.PHONY: (.*)$", makefile.replace("\\\n", ""), re.MULTILINE)
    assert declared is not None
    explained = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    assert set(declared[1].split()) == explained


def test_decisions_are_numbered_without_gaps() -> None:
    pages = sorted(page.name for page in (ROOT / "docs" / "adr").glob("*.md"))
    assert [page[:5] for page in pages] == [f"{number:04d}-" for number in range(1, len(pages) + 1)]
