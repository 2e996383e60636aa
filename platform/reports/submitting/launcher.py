"""Becomes spark-submit, tied to whoever started it: a script, nothing but the standard library.

    python launcher.py <parent> <pid file> <token> <fence> <niceness> -- command…

The kernel kills it, and what it has become, when the agent's thread that started it is gone: a `kill -9` of
the agent leaves no Spark behind. It writes its own pid file first, so that whatever did stay is found by its
token. It is nice to the brokers of its host.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(words: list[str]) -> None:
    parent, pid_file, token, fence, niceness = words[:5]
    command = words[6:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        # It was killed between the fork and here.
        os._exit(71)
    os.nice(int(niceness))
    os.umask(0o077)
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    about = {"pid": os.getpid(), "boot": boot, "token": token, "fence": int(fence)}
    with open(pid_file + ".new", "w") as file:
        json.dump(about, file)
    os.replace(pid_file + ".new", pid_file)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
