"""The epoch file of a replica: which master's term wrote which part of the log. Text.

    2                 how many entries follow
    1583465423        CRC32 of the lines below without the top bit, each with its line feed
    1-0               epoch-startOffset
    2-4096

A replica without a believable epoch file must not guess where it agrees with its master, so everything here
is checked and any doubt is CorruptRecord.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.errors import CorruptRecord
from engine.protocol.hashes import body_crc

_ENTRY = re.compile(r"([0-9]{1,10})-([0-9]{1,19})")


@dataclass(frozen=True, slots=True)
class EpochEntry:
    epoch: int
    start_offset: int


def encode_epochs(entries: Sequence[EpochEntry]) -> str:
    payload = "".join(f"{entry.epoch}-{entry.start_offset}\n" for entry in entries)
    return f"{len(entries)}\n{body_crc(payload.encode())}\n{payload}"


def decode_epochs(text: str) -> list[EpochEntry]:
    """The entries, in ascending order of both numbers."""
    count, _, rest = text.partition("\n")
    crc, _, payload = rest.partition("\n")
    if crc != str(body_crc(payload.encode("utf-8", "replace"))):
        raise CorruptRecord("epoch file: CRC")
    entries = [_decode_entry(line) for line in payload.splitlines()]
    if count != str(len(entries)):
        raise CorruptRecord("epoch file: count of entries")
    for earlier, later in pairwise(entries):
        if earlier.epoch >= later.epoch or earlier.start_offset > later.start_offset:
            raise CorruptRecord("epoch file: order of entries")
    return entries


def _decode_entry(line: str) -> EpochEntry:
    match = _ENTRY.fullmatch(line)
    if match is None:
        raise CorruptRecord(f"epoch file: entry {line[:40]!r}")
    return EpochEntry(int(match[1]), int(match[2]))
