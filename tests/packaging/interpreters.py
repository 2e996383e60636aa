"""The Pythons of this machine that `requires-python` promises to work with."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PLACES = (
    "/usr/bin/python{minor}",
    "/usr/local/bin/python{minor}",
    "{home}/.pyenv/versions/{minor}.*/bin/python3",
)
_VERSION = "import platform; print(platform.python_version())"


def promised() -> tuple[str, ...]:
    """The minor versions that pyproject.toml lists: 3.11, 3.12 …"""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = (
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each) for each in project["classifiers"]
    )
    return tuple(match[1] for match in found if match)


def oldest(minor: str) -> Path | None:
    """Of 3.11 the one of Debian, say, which lacks what later patch releases have."""
    found = {file: version for file in _candidates(minor) if (version := _version_of(file))}
    fitting = {file: version for file, version in found.items() if version.rpartition(".")[0] == minor}
    return min(fitting, key=lambda file: int(fitting[file].rpartition(".")[2]), default=None)


def _candidates(minor: str) -> list[Path]:
    return [
        file
        for place in _PLACES
        for file in Path("/").glob(place.format(home=Path.home(), minor=minor).lstrip("/"))
    ]


def _version_of(file: Path) -> str:
    try:
        asked = subprocess.run([file, "-c", _VERSION], capture_output=True, text=True, timeout=60)
    except OSError:
        return ""
    return asked.stdout.strip()
