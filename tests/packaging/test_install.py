"""`pip install .` in an empty environment: the engine and the client, whole, and no Django."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.distribution import Environment, copy_sources, install

LIST_DISTRIBUTIONS = "import importlib.metadata as m; print(*(d.name.lower() for d in m.distributions()))"
LIST_MODULES = """
import engine, pathlib
root = pathlib.Path(engine.__file__).parent
print(*(path.relative_to(root).as_posix() for path in root.rglob("*.py")))
"""
RECORD_ROUND_TRIP = """
from engine.protocol import _records_cy
from engine.protocol.hashes import java_hash
print(_records_cy.__file__.rsplit(".", 1)[1], java_hash("TagA"))
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def installed(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return install(sources, tmp_path_factory.mktemp("installed") / "venv")


def test_a_plain_install_has_no_django(installed: Environment) -> None:
    names = installed.run(LIST_DISTRIBUTIONS).split()
    assert "signalbox" in names
    assert not {"django", "djangorestframework", "channels", "celery", "pyspark", "cython"} & set(names)


def test_every_module_of_the_engine_is_installed(sources: Path, installed: Environment) -> None:
    engine = sources / "engine"
    modules = {path.relative_to(engine).as_posix() for path in engine.rglob("*.py")}
    assert set(installed.run(LIST_MODULES).split()) == modules


def test_type_hints_are_installed(installed: Environment) -> None:
    assert list(installed.folder.glob("lib/python*/site-packages/engine/py.typed"))


def test_it_installs_and_works_without_a_compiler(tmp_path: Path) -> None:
    sources = copy_sources(tmp_path / "sources")
    plain = install(sources, tmp_path / "venv", CC=str(tmp_path / "no-such-compiler"))
    assert plain.run(RECORD_ROUND_TRIP).split() == ["py", "2598919"]
