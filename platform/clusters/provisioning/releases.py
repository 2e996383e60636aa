"""Installed engines of a host: the one that the agent itself runs with, and virtual environments of others.

Only a checked name becomes part of a path (`folders.py`); what is run is that environment's own interpreter,
with nothing of the agent's environment but what a process needs to live.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from clusters.provisioning.folders import python_of

BUILTIN = "builtin"
WITHOUT_ADMINISTRATION = ("0.1.0",)
SOURCE_ROOT = Path(__file__).resolve().parents[3]
_PROBE_S = 30.0
_TAIL = 400
_PROBE = """
import importlib.metadata, engine.broker.main, engine.namesrv.main
try:
    print(importlib.metadata.version("signalbox"))
except importlib.metadata.PackageNotFoundError:
    print("of the sources")
"""


class DriverError(Exception):
    """Why a process could not be started or stopped, in a line that a person can act on."""


@dataclass(frozen=True, slots=True)
class Engine:
    python: str
    environment: dict[str, str]


def engine_of(data_root: Path, release: str) -> Engine:
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}
    if home := os.environ.get("HOME"):
        environment["HOME"] = home
    if release == BUILTIN:
        if (SOURCE_ROOT / "engine" / "__init__.py").exists():
            environment["PYTHONPATH"] = str(SOURCE_ROOT)
        return Engine(sys.executable, environment)
    python = python_of(data_root, release)
    if not python.exists():
        raise DriverError(f"the release {release} is not installed on this host: there is no {python}")
    return Engine(str(python), environment)


def version_of(data_root: Path, release: str) -> str:
    """What is installed under that name, asked of itself: it must be able to import what it is to run."""
    engine = engine_of(data_root, release)
    command = [engine.python, "-P", "-c", _PROBE]
    try:
        done = subprocess.run(
            command, env=engine.environment, cwd="/", capture_output=True, text=True, timeout=_PROBE_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DriverError(f"the release {release} cannot be run: {error}") from None
    if done.returncode != 0:
        raise DriverError(f"the release {release} is broken: {done.stderr.strip()[-_TAIL:]}")
    return done.stdout.strip()


def refuse_without_administration(release: str, version: str) -> None:
    """An engine that does not know the state of access control ignores its key, and lets everybody in."""
    if version in WITHOUT_ADMINISTRATION:
        raise DriverError(
            f"the release {release} is signalbox {version}, which does not know access control "
            "`administration` and would run without any: choose another release or another state"
        )
