"""Where things are below a host's data root. Only names that were checked become part of a path.

agent.key  agent.json  agent.lock          the host's private key, who it is, one agent at a time
releases/<release>/bin/python              installed engines besides the built-in one
clusters/<cluster>-<id>/secrets/           cluster.secret, access.key, administrator.yml
clusters/<cluster>-<id>/<process>/         broker.conf or namesrv.conf, pid.json, run.lock, fence,
                                           out.log, logs/, store/
trash/                                     data of removed processes that was to be kept
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")


class UnsafeName(ValueError):
    """Something that must not become part of a path."""


@dataclass(frozen=True, slots=True)
class ProcessFolder:
    path: Path
    secrets: Path

    @property
    def run_lock(self) -> Path:
        return self.path / "run.lock"

    @property
    def fence(self) -> Path:
        return self.path / "fence"

    @property
    def pid(self) -> Path:
        return self.path / "pid.json"

    @property
    def out(self) -> Path:
        return self.path / "out.log"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def store_lock(self) -> Path:
        return self.path / "store" / "lock"

    @property
    def group_file(self) -> Path:
        return self.path / "store" / "config" / "signalboxGroup.json"

    def make(self) -> None:
        for folder in (self.path.parent.parent, self.path.parent, self.path, self.secrets):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)


def folder_of(data_root: Path, cluster: str, cluster_id: int, process: str) -> ProcessFolder:
    below = data_root / "clusters" / f"{part(cluster)}-{int(cluster_id)}"
    return ProcessFolder(below / part(process), below / "secrets")


def python_of(data_root: Path, release: str) -> Path:
    return data_root / "releases" / part(release) / "bin" / "python"


def part(name: str) -> str:
    if _NAME.fullmatch(name) is None or ".." in name:
        raise UnsafeName(f"{name!r} cannot be part of a path")
    return name


def write_private(path: Path, text: str) -> None:
    """Whole or not at all, for its owner alone."""
    # A name of its own: two processes of a cluster are made at once, and share its secrets.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
    except OSError as error:
        temporary.unlink()
        error.filename = str(path)
        raise
    temporary.replace(path)


def write_if_changed(path: Path, text: str) -> None:
    """What is there already needs no room on a full disk."""
    if not path.exists() or path.read_text() != text:
        write_private(path, text)


def remove(folder: ProcessFolder, *, keeps_data: bool, stamp: str) -> Path | None:
    """Gone, or moved to trash/ (where to is returned). One that is not there is gone already."""
    if not folder.path.exists():
        return None
    if not keeps_data:
        shutil.rmtree(folder.path)
        return None
    trash = folder.path.parents[2] / "trash"
    trash.mkdir(exist_ok=True, mode=0o700)
    target = trash / f"{folder.path.parent.name}-{folder.path.name}-{stamp}"
    folder.path.rename(target)
    return target


def remove_secrets(folder: ProcessFolder) -> None:
    """The cluster's folder on this host too, when nothing else is in it."""
    shutil.rmtree(folder.secrets, ignore_errors=True)
    if folder.path.parent.exists() and not any(folder.path.parent.iterdir()):
        folder.path.parent.rmdir()
