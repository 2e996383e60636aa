"""What the index files held when they were last on disk: counts and checksums, in a file beside the index.

RocketMQ's index files carry no checksum, and a flipped bit in one loses a key without a trace. So with every
checkpoint a seal of each file is written to `indexSeals.json` in the folder above:

    count, entries    the entries below this number, and a CRC-32 of their bytes. Entries are only ever
                      appended, so this stays true while the file grows.
    header, slots     CRC-32 of these, for a file that nothing is added to any more: a full one, and the last
                      one of a store that was closed. Slots can be made anew from the entries.
    begin, end        the log offsets of the first and the last entry: a file that is missing is missed only
                      while the log has its messages.

A crash leaves the whole old or the whole new file. Without it nothing is known and nothing is checked, as
after another engine; a seal that is too old checks less. Blocking.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from engine.durable_file import read_durable, write_durable

SEALS_FILE = "indexSeals.json"


@dataclass(frozen=True, slots=True)
class IndexSeal:
    name: str
    count: int
    entries: int
    begin: int
    end: int
    header: int | None = None
    slots: int | None = None


def read_seals(path: Path) -> dict[str, IndexSeal]:
    seals, _ = read_durable(path, _parse)
    return seals or {}


def write_seals(path: Path, seals: tuple[IndexSeal, ...]) -> None:
    write_durable(path, orjson.dumps([asdict(seal) for seal in seals]))


def _parse(data: bytes) -> dict[str, IndexSeal]:
    try:
        return {row["name"]: IndexSeal(**row) for row in orjson.loads(data)}
    except (TypeError, KeyError) as error:
        raise ValueError(f"not a list of seals: {error}") from None
