"""Every promised Python: the locked packages install, the modules compile, the engine's tests pass.

Debian 12 has 3.11.2, which lacks what later 3.11 have; the newer ones come from pyenv, where it is there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from setup import COMPILED_MODULES
from tests.packaging.distribution import ROOT, UV
from tests.packaging.interpreters import promised
from tests.requirements_probe import need_package, need_python

WITHOUT_CONSOLE = (
    "-p",
    "no:django",
    "-p",
    "no:schemathesis",
    "-o",
    "addopts=-ra --strict-markers -p pytester",
)
SHORT = "not interop and not interop_smoke and not crash_long and not nightly and not bench and not alone"


def test_the_oldest_promised_python_is_the_required_one() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert required == f">={min(promised(), key=lambda text: int(text.split('.')[1]))}"
    assert promised() == ("3.11", "3.12", "3.13")


@pytest.fixture(scope="module", params=promised())
def environment(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with a .venv of its own, as `make setup` would make it with that Python."""
    python = need_python(request.param)
    need_package("gcc")
    home = tmp_path_factory.mktemp("python")
    left_out = shutil.ignore_patterns("*.so", "*.c", "__pycache__", "node_modules", "node", "go", "java")
    for folder in ("engine", "platform", "spark", "tests", "tools", "bench"):
        shutil.copytree(ROOT / folder, home / folder, ignore=left_out)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "manage.py", "Makefile"):
        shutil.copy(ROOT / name, home / name)
    _run(home, str(UV), "venv", "--quiet", "--python", str(python), ".venv")
    lock = str(ROOT / "requirements" / "dev.lock")
    _run(home, str(UV), "pip", "sync", "--quiet", "--require-hashes", lock)
    _run(home, ".venv/bin/python", "setup.py", "-q", "build_ext", "--inplace")
    return home


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_everything_compiles_and_the_console_checks_itself(environment: Path) -> None:
    built = [path.name for path in environment.glob("engine/**/*.so")]
    assert len(built) == len(COMPILED_MODULES), built
    folders = ["engine", "platform", "spark", "tests"]
    _run(environment, ".venv/bin/python", "-W", "error", "-m", "compileall", "-q", *folders)
    _run(environment, ".venv/bin/python", "manage.py", "check")


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_the_engines_tests_pass(environment: Path) -> None:
    command = [".venv/bin/python", "-m", "pytest", "-q", "-n", "2", *WITHOUT_CONSOLE, "-m", SHORT]
    command += ["-W", "ignore::pytest.PytestConfigWarning", "tests/engine"]
    print(_run(environment, *command)[-500:])


def _run(home: Path, *command: str) -> str:
    environ = {name: os.environ[name] for name in os.environ if name[:6] != "PYTHON"}
    environ |= {"VIRTUAL_ENV": str(home / ".venv"), "SIGNALBOX_CONSOLE_KEY": "only-to-check-" + "0" * 40}
    done = subprocess.run(command, cwd=home, env=environ, capture_output=True, text=True, timeout=7000)
    assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    return done.stdout
