"""Replica equality: up to the confirmed offset the commit logs of all in-sync members are the same bytes.

Reads segment files (named by their first offset) of members that stand still, or at least do not write below
`end`; a member whose old segments are gone is compared over what both have.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from tests.crash.checker.violations import Violation

_CHUNK = 1 << 20


def log_start(commit_log: Path) -> int:
    return min((int(path.name) for path in _segments(commit_log)), default=0)


def log_digest(commit_log: Path, start: int, end: int) -> str:
    """sha256 of [start, end); bytes that no file has are said in words, so that they equal nothing."""
    digest = hashlib.sha256()
    position = start
    for segment in _segments(commit_log):
        base = int(segment.name)
        if base + segment.stat().st_size <= position or position >= end:
            continue
        if base > position:
            return f"nothing at {position}"
        with segment.open("rb") as file:
            file.seek(position - base)
            while position < end and (data := file.read(min(_CHUNK, end - position))):
                digest.update(data)
                position += len(data)
    return digest.hexdigest() if position >= end else f"ends at {position}"


def check_replica_equality(logs: Mapping[str, Path], end: int) -> list[Violation]:
    """`logs`: the commitlog folder of each member."""
    start = max(map(log_start, logs.values()))
    digests = {node: log_digest(folder, start, end) for node, folder in logs.items()}
    if len(set(digests.values())) <= 1:
        return []
    return [Violation("replica-equality", f"[{start}, {end}) differs between members: {digests}")]


def _segments(commit_log: Path) -> list[Path]:
    return sorted(path for path in commit_log.iterdir() if path.name.isdigit())
