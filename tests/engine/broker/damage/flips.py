"""Bytes that change behind a broker's back."""

from __future__ import annotations

from pathlib import Path

from engine.broker.damage.repair_task import RepairTask

BODY_AT = 88
"""Where a record's body begins, behind IPv4 hosts."""


def flip(store: Path, commit_log_offset: int, segment_bytes: int = 8 << 20) -> None:
    """One bit of the commit log; twice puts it right again."""
    base = commit_log_offset // segment_bytes * segment_bytes
    with open(store / "commitlog" / f"{base:020d}", "r+b") as file:
        file.seek(commit_log_offset - base)
        byte = file.read(1)[0]
        file.seek(commit_log_offset - base)
        file.write(bytes([byte ^ 0x10]))


def log_bytes(store: Path, commit_log_offset: int, size: int, segment_bytes: int = 8 << 20) -> bytes:
    base = commit_log_offset // segment_bytes * segment_bytes
    with open(store / "commitlog" / f"{base:020d}", "rb") as file:
        file.seek(commit_log_offset - base)
        return file.read(size)


async def retry(repairs: RepairTask) -> None:
    """What the broker does once a minute."""
    await repairs.repair_again()
    await repairs.redeliver()
