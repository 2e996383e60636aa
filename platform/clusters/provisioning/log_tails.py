"""The last lines of what an engine process wrote: bounded in lines and bytes, links not followed."""

from __future__ import annotations

import os
import stat
from typing import Any

from clusters.provisioning.driver import Kind, ProcessSpec

MOST_BYTES = 512 * 1024
_LINE = 4000


def tail(spec: ProcessSpec, kind: str, lines: int) -> dict[str, Any]:
    """`kind`: `out` is what it printed, `log` its own log."""
    name = "broker.log" if spec.kind is Kind.BROKER else "namesrv.log"
    path = spec.folder.out if kind == "out" else spec.folder.logs / name
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return {"lines": [], "is_cut": False, "size_bytes": 0}
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            return {"lines": [], "is_cut": False, "size_bytes": 0}
        start = max(0, about.st_size - MOST_BYTES)
        file.seek(start)
        found = file.read(MOST_BYTES).decode(errors="replace").splitlines()
    whole = found[1:] if start else found
    kept = [line[:_LINE] for line in whole[-lines:]]
    return {"lines": kept, "is_cut": bool(start) or len(whole) > len(kept), "size_bytes": about.st_size}
