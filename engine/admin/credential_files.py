"""Credential files that the command line finds by itself, for clusters of this machine's console.

A console's agent writes `administrator.yml` into the secrets folder of each cluster that takes changes from
administrators only; to work from another machine, copy it there into ~/.signalbox/credentials/. A file is
used only if its `nameServers` lists a name server that is about to be asked: signatures can be recorded and
replayed, so none is sent to a cluster that it does not belong to. Like ssh keys, a file that other users can
read is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import engine
from engine.errors import BadInput

DATA_VARIABLE = "SIGNALBOX_DATA"
_IN_DATA_ROOT = (
    "hosts/*/clusters/*/secrets/administrator.yml",
    # The data root of one host's agent.
    "clusters/*/secrets/administrator.yml",
)
_MAX_BYTES = 65_536


def find_credential_file(name_servers: str, environment: Mapping[str, str]) -> Path | None:
    """The newest file, in the first place that has one, for these name servers (`host:port;…`)."""
    wanted = _addresses(name_servers)
    for files in _places(environment):
        for path in sorted(files, key=_changed_at, reverse=True):
            if wanted & _addresses(str(_content(path).get("nameServers", ""))):
                _check_private(path)
                return path
    return None


def _places(environment: Mapping[str, str]) -> Iterator[list[Path]]:
    data = environment.get(DATA_VARIABLE)
    # Without the variable `make up` keeps its data beside the engine.
    root = Path(data) if data else Path(engine.__file__).resolve().parents[1] / "data"
    yield [path for pattern in _IN_DATA_ROOT for path in root.glob(pattern)]
    if home := environment.get("HOME"):
        yield list(Path(home, ".signalbox", "credentials").glob("*.yml"))


def _content(path: Path) -> dict[Any, Any]:
    """Empty for a file that cannot be read or parsed: it is skipped."""
    from yaml import YAMLError, safe_load

    try:
        with path.open("rb") as file:
            content = safe_load(file.read(_MAX_BYTES))
    except (OSError, YAMLError, UnicodeDecodeError):
        return {}
    return content if isinstance(content, dict) else {}


def _addresses(text: str) -> set[str]:
    parts = (part.strip().lower() for part in text.replace(",", ";").split(";"))
    return {part.replace("localhost:", "127.0.0.1:") for part in parts if part}


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _check_private(path: Path) -> None:
    status = path.stat()
    if status.st_uid not in (os.getuid(), 0) or stat.S_IMODE(status.st_mode) & 0o077:
        raise BadInput(f"other users can read or change {path}: chown it to yourself and chmod 600 it")
