"""Starts, stops and looks at engine processes of this host. Knows values and files, not rows.

A process outlives the agent and the console: it is started by `launcher.py`, and found again by its locks,
its port and its answers (`presence.py`). Every act is done under `fences.hold`.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from clusters.provisioning import presence
from clusters.provisioning.confs import STATE_KEY, digest
from clusters.provisioning.disk_room import little_room
from clusters.provisioning.folders import ProcessFolder, write_if_changed
from clusters.provisioning.launcher import ALREADY_RUNNING
from clusters.provisioning.releases import (
    BUILTIN,
    DriverError,
    engine_of,
    refuse_without_administration,
    version_of,
)
from clusters.provisioning.settings_rules import is_live
from engine.protocol.codes import RequestCode

LAUNCHER = Path(__file__).with_name("launcher.py")
READY_S = 60.0
STOP_S = 30.0
_LOOK_S = 0.05
_TAIL = 400


class Kind(Enum):
    BROKER = "broker"
    NAME_SERVER = "namesrv"


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """All that the driver needs to know about one process."""

    kind: Kind
    label: str
    address: str
    port: int
    folder: ProcessFolder
    release: str
    settings: Mapping[str, str]
    """Of its configuration, without secrets."""

    @property
    def digest(self) -> str:
        """Of what is read at start. Live settings are compared with what the broker itself says."""
        return digest({k: v for k, v in self.settings.items() if not is_live(k)}, self.release)

    @property
    def conf(self) -> Path:
        return self.folder.path / ("broker.conf" if self.kind is Kind.BROKER else "namesrv.conf")

    @property
    def question(self) -> RequestCode:
        if self.kind is Kind.BROKER:
            return RequestCode.GET_BROKER_RUNTIME_INFO
        return RequestCode.GET_BROKER_CLUSTER_INFO


class Presence(Enum):
    ABSENT = "absent"
    STARTING = "starting"
    ANSWERS = "answers"
    SILENT = "silent"
    """It has been there for longer than a start takes, and does not answer."""
    FOREIGN = "foreign"
    """Its store or port is used by a process that is not ours."""


@dataclass(frozen=True, slots=True)
class Seen:
    presence: Presence
    pid: int | None = None
    token: str = ""
    digest: str = ""
    """Of the settings that it was started with."""
    was_rebooted: bool = False
    """It is not there, and the machine was started again since it was."""


def look(spec: ProcessSpec) -> Seen:
    pid_file = presence.read_pid_file(spec.folder.pid)
    process = presence.living(pid_file)
    is_held = presence.is_run_lock_held(spec.folder.run_lock)
    if process is None and not is_held:
        was_rebooted = pid_file is not None and pid_file.boot != presence.boot_id()
        is_foreign = _is_used_by_others(spec)
        return Seen(Presence.FOREIGN if is_foreign else Presence.ABSENT, was_rebooted=was_rebooted)
    if process is None or pid_file is None:
        return Seen(Presence.STARTING)
    about = (pid_file.pid, pid_file.token, pid_file.digest)
    if _is_taken(spec) and presence.answers(spec.address, spec.port, spec.question):
        return Seen(Presence.ANSWERS, *about)
    is_late = time.time() - process.create_time() > READY_S
    return Seen(Presence.SILENT if is_late else Presence.STARTING, *about)


def _is_taken(spec: ProcessSpec) -> bool:
    if spec.kind is Kind.BROKER:
        return presence.is_store_locked(spec.folder.store_lock)
    return presence.listens(spec.address, spec.port)


def _is_used_by_others(spec: ProcessSpec) -> bool:
    if spec.kind is Kind.BROKER and presence.is_store_locked(spec.folder.store_lock):
        return True
    return presence.listens(spec.address, spec.port)


def write_conf(spec: ProcessSpec, text: str, secrets: Mapping[str, str]) -> None:
    """`secrets`: names of files in the secrets folder (or the process's own, for users.yml) to their text."""
    spec.folder.make()
    for name, content in secrets.items():
        where = spec.folder.path if name == "users.yml" else spec.folder.secrets
        write_if_changed(where / name, content)
    write_if_changed(spec.conf, text)


def start(
    spec: ProcessSpec, data_root: Path, token: str, fence: int, check: Callable[[], None] = lambda: None
) -> Seen:
    """Runs and answers when this returns; one that runs already is waited for. Raises DriverError."""
    seen = look(spec)
    if seen.presence is Presence.FOREIGN:
        raise DriverError(
            f"{spec.address}:{spec.port} or the store of {spec.label} is used by a process that is not ours"
        )
    printed = _printed(spec)
    if seen.presence is Presence.ABSENT:
        _launch(spec, data_root, token, fence)
    return _wait_until_ready(spec, check, printed)


def _launch(spec: ProcessSpec, data_root: Path, token: str, fence: int) -> None:
    engine = engine_of(data_root, spec.release)
    if STATE_KEY in spec.settings and spec.release != BUILTIN:
        refuse_without_administration(spec.release, version_of(data_root, spec.release))
    module = "engine.broker" if spec.kind is Kind.BROKER else "engine.namesrv"
    # The pid file of the one before must not be taken for the new one's while that has not written it yet.
    spec.folder.pid.unlink(missing_ok=True)
    about = {
        "lock": str(spec.folder.run_lock),
        "folder": str(spec.folder.path),
        "out": str(spec.folder.out),
        "pid_file": str(spec.folder.pid),
        "token": token,
        "fence": fence,
        "digest": spec.digest,
        # -P: the process's own folder is not a place that modules come from.
        "command": [engine.python, "-P", "-m", module, "-c", str(spec.conf)],
        "environment": engine.environment | {presence.TOKEN_VARIABLE: token},
    }
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(LAUNCHER)],
        input=json.dumps(about),
        text=True,
        capture_output=True,
        timeout=30,
    )
    if done.returncode not in (0, ALREADY_RUNNING):
        why = done.stderr[-_TAIL:].strip() + little_room(spec.folder.path)
        raise DriverError(f"{spec.label} was not started: {why}")


def _wait_until_ready(spec: ProcessSpec, check: Callable[[], None], printed: int) -> Seen:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        check()
        seen = look(spec)
        if seen.presence is Presence.ANSWERS and seen.pid is not None:
            return seen
        if seen.presence in (Presence.ABSENT, Presence.FOREIGN):
            # Its lock is free again: it has ended.
            words = last_words(spec, printed) + little_room(spec.folder.path)
            raise DriverError(f"{spec.label} ended while it started: {words}")
        time.sleep(_LOOK_S)
    raise DriverError(f"{spec.label} did not answer within {READY_S:g} s: {last_words(spec, printed)}")


def stop(spec: ProcessSpec, check: Callable[[], None] = lambda: None) -> bool:
    """Whether it had to be killed. One that is not there is stopped already."""
    process = presence.living(presence.read_pid_file(spec.folder.pid))
    if process is None:
        if presence.is_run_lock_held(spec.folder.run_lock):
            _wait_for_pid(spec)
            return stop(spec, check)
        return False
    process.send_signal(signal.SIGTERM)
    if _wait_until_gone(spec, STOP_S, check):
        return False
    process.kill()
    if not _wait_until_gone(spec, STOP_S, check):
        raise DriverError(f"{spec.label} (pid {process.pid}) does not end, not even killed")
    return True


def _wait_for_pid(spec: ProcessSpec) -> None:
    """Between taking its lock and writing its pid file a process is some milliseconds."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if presence.read_pid_file(spec.folder.pid) or not presence.is_run_lock_held(spec.folder.run_lock):
            return
        time.sleep(_LOOK_S)
    raise DriverError(f"the lock of {spec.label} is held by a process that does not say who it is")


def _wait_until_gone(spec: ProcessSpec, timeout_s: float, check: Callable[[], None]) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        check()
        if not presence.is_run_lock_held(spec.folder.run_lock):
            return True
        time.sleep(_LOOK_S)
    return False


def _printed(spec: ProcessSpec) -> int:
    """How much processes before this one have printed."""
    return spec.folder.out.stat().st_size if spec.folder.out.exists() else 0


def last_words(spec: ProcessSpec, printed: int = 0) -> str:
    """The end of what it printed behind `printed`: why it ended, as a rule."""
    try:
        with spec.folder.out.open("rb") as file:
            size = spec.folder.out.stat().st_size
            # A file that has become shorter was begun anew (launcher.py).
            file.seek(max(printed if printed <= size else 0, size - 4096))
            lines = file.read().decode(errors="replace").strip().splitlines()
    except FileNotFoundError:
        return "it printed nothing"
    return lines[-1][-_TAIL:] if lines else "it printed nothing"
