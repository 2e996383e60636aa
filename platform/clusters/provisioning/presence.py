"""Is a process there? What a host itself can say: locks that the kernel releases, the pid file, a request.

Who decides: for a broker the lock of its store, for a name server its port, then an answer to a real request.
`run.lock` is held by the process from before it exists until it is gone, so two are never started. The pid
file only says whom to signal, and is believed when the boot, the environment's token and the process agree:
zombies, processes of an earlier boot and reused pids are nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command, encode_command

TOKEN_VARIABLE = "SIGNALBOX_INSTANCE"
_FLOCK = "hhqqi4x"
_MOST_ANSWER = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PidFile:
    pid: int
    token: str
    boot: str
    fence: int
    digest: str
    """Of the settings that it was started with."""


def read_pid_file(path: Path) -> PidFile | None:
    try:
        about = json.loads(path.read_bytes())
        texts = (str(about[name]) for name in ("token", "boot"))
        return PidFile(int(about["pid"]), *texts, int(about["fence"]), str(about.get("digest", "")))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def living(pid_file: PidFile | None) -> psutil.Process | None:
    """The process that wrote the file, if it still runs."""
    if pid_file is None or pid_file.boot != boot_id():
        return None
    try:
        process = psutil.Process(pid_file.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return process if process.environ().get(TOKEN_VARIABLE) == pid_file.token else None
    except (psutil.NoSuchProcess, psutil.AccessDenied, OSError):
        return None


def is_run_lock_held(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def is_store_locked(path: Path) -> bool:
    """Asks, and takes nothing: the store's first byte (engine/store/recovery/store_folder.py)."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
        answer = fcntl.fcntl(handle, fcntl.F_OFD_GETLK, asked)
    finally:
        os.close(handle)
    return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)


def listens(address: str, port: int, timeout_s: float = 1.0) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((address, port), timeout_s):
        return True
    return False


def answers(address: str, port: int, code: RequestCode, timeout_s: float = 2.0) -> bool:
    """Whether a well-formed answer comes back. A refusal is one: who refuses is there."""
    request = encode_command(Command(code, opaque=1))
    with contextlib.suppress(OSError), socket.create_connection((address, port), timeout_s) as connection:
        connection.settimeout(timeout_s)
        connection.sendall(request)
        size = int.from_bytes(_exactly(connection, 4), "big")
        return 0 < size <= _MOST_ANSWER and len(_exactly(connection, min(size, 8))) > 0
    return False


def _exactly(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        piece = connection.recv(count - len(found))
        if not piece:
            raise ConnectionError("the connection was closed")
        found += piece
    return found
