"""The distribution as a stranger gets it: clean sources, installed into an empty environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
BUILD_INPUTS = ("pyproject.toml", "setup.py", "README.md", "LICENSE")


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment outside the repository."""

    folder: Path

    def command(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    def run(self, code: str, *arguments: str) -> str:
        """Runs Python code away from the repository, so that only what was installed can be imported."""
        command = [self.command("python"), "-c", code, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=_clean_environ(), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def copy_sources(target: Path) -> Path:
    """What a fresh clone has: no builds, no caches."""
    left_out = shutil.ignore_patterns("__pycache__", "*.so", "*.c", "*.html")
    shutil.copytree(ROOT / "engine", target / "engine", ignore=left_out)
    for name in BUILD_INPUTS:
        shutil.copy(ROOT / name, target / name)
    return target


def install(sources: Path, folder: Path, **environ: str) -> Environment:
    _uv("venv", "--quiet", "--python", sys.executable, str(folder))
    # uv keeps what it built from a path; each install here must be a build of its own.
    fresh = ("--refresh-package", "signalbox", "--reinstall-package", "signalbox")
    _uv("pip", "install", "--quiet", *fresh, "--python", str(folder / "bin/python"), str(sources), **environ)
    return Environment(folder)


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[str]:
    """A daemon from its ready line, which says where, to a clean stop."""
    environ = _clean_environ() | {"HOME": str(folder)}
    with subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().rpartition("ready on ")[2].strip()
        finally:
            process.terminate()
    assert process.returncode == 0


def _uv(*arguments: str, **environ: str) -> None:
    done = subprocess.run(
        [str(UV), *arguments], env=_clean_environ() | environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def _clean_environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
