"""Compiles a shim once per session; says in words what is missing when that fails."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

from tests.requirements_probe import need_package

_SOURCES = Path(__file__).parent


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="signalbox-shims-")


@functools.cache
def shim(name: str) -> Path:
    """The built library of shims/<name>.c."""
    need_package("gcc")
    need_package("libc6-dev")
    target = Path(_folder().name) / f"{name}.so"
    command = [
        "cc",
        "-O1",
        "-Wall",
        "-shared",
        "-fPIC",
        "-o",
        str(target),
        str(_SOURCES / f"{name}.c"),
        "-ldl",
    ]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode != 0:
        raise AssertionError(f"shim {name} does not compile:\n{built.stderr}")
    return target
