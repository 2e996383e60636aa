"""Starts one engine process that outlives whoever asked: a script, nothing but the standard library.

    python launcher.py <spec.json on stdin>

It takes `run.lock` of the process's folder, forks twice, and the grandchild becomes the engine with that lock
still open: as long as the process lives, and from before it exists, a second start finds the lock taken. The
grandchild writes its own pid file (pid, instance token, boot id) before it becomes the engine; the token is
in its environment too, so that a reused pid is never taken for it. Exit code 75: it runs already; 71: it
could not become the engine, and why is on stderr (the grandchild's own output is a file by then, perhaps on a
disk that is full).
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time

ALREADY_RUNNING = 75
FAILED = 71


def main() -> int:
    spec = json.load(sys.stdin)
    os.umask(0o077)
    lock = os.open(spec["lock"], os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return ALREADY_RUNNING
    os.set_inheritable(lock, True)
    trouble, tells = os.pipe()
    if os.fork():
        os.close(tells)
        return report(trouble)
    os.setsid()
    if os.fork():
        os._exit(0)
    try:
        become(spec, lock, tells)
    except OSError as error:
        os.write(tells, f"{error.filename or 'start'}: {error.strerror}".encode())
    os._exit(FAILED)


def report(trouble: int) -> int:
    """Waits until the grandchild is the engine, which closes its end, or has said why it is not."""
    with os.fdopen(trouble, "rb") as file:
        text = file.read()
    os.write(2, text)
    return FAILED if text else 0


def become(spec: dict, lock: int, tells: int) -> None:
    os.chdir(spec["folder"])
    redirect(spec["out"])
    write_pid(spec)
    # Nothing of the agent's may stay open in a process that outlives it; `tells` closes by itself.
    low, high = sorted((lock, tells))
    os.closerange(3, low)
    os.closerange(low + 1, high)
    os.closerange(high + 1, 4096)
    os.execve(spec["command"][0], spec["command"], spec["environment"])


def redirect(out: str) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    if os.path.exists(out) and os.path.getsize(out) > 4 * 1024 * 1024:
        os.replace(out, out + ".1")
    log = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)


def write_pid(spec: dict) -> None:
    path = spec["pid_file"]
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    about = {"pid": os.getpid(), "boot": boot, "started": time.time()}
    about |= {name: spec[name] for name in ("token", "fence", "digest")}
    temporary = path + ".new"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, json.dumps(about).encode())
        os.fsync(handle)
    except OSError as error:
        error.filename = temporary
        raise
    os.close(handle)
    os.replace(temporary, path)


if __name__ == "__main__":
    sys.exit(main())
