"""Which host's agent this process is. Said once, when it starts; workers of no host have none."""

from __future__ import annotations

import os
import socket
import time

from clusters.models import Host

_state: dict[str, object] = {"name": "", "looked": 0.0}


def become(name: str) -> None:
    _state["name"] = name


def current() -> Host | None:
    """Its row as it is now; None when this is no agent, or the host was removed."""
    name = _state["name"]
    return Host.objects.filter(name=name, removed_at=None).first() if name else None


def worker_name(role: str) -> str:
    """An agent is named by its host, of which there is one: who it was before can be told from others."""
    return f"{role}@{_state['name'] or socket.gethostname()}:{os.getpid()}"


def note_look() -> None:
    _state["looked"] = time.monotonic()


def seconds_since_look() -> float:
    return time.monotonic() - float(str(_state["looked"]))
