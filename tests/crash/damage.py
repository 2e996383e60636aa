"""Ways to damage a file of a stopped broker, after jepsen's file nemesis: each takes the file and a source of
chance.

A range limits where the damage falls, because most of a preallocated file holds nothing. Each returns the
first byte that it touched.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

Range = tuple[int, int]
Damage = Callable[[Path, Range, random.Random], int]

_PAGE = 4096
MIN_RANGE = 2 * _PAGE


def flip_bit(path: Path, within: Range, chance: random.Random) -> int:
    at = chance.randrange(*within)
    data = _read(path, at, 1)
    _write(path, at, bytes([data[0] ^ (1 << chance.randrange(8))]))
    return at


def zero_page(path: Path, within: Range, chance: random.Random) -> int:
    at = chance.randrange(*within) // _PAGE * _PAGE
    size = min(_PAGE, path.stat().st_size - at)
    _write(path, at, bytes(size))
    return at


def copy_chunk(path: Path, within: Range, chance: random.Random) -> int:
    """A piece of the file lies over another piece, as after a misdirected write."""
    size = min(_PAGE, (within[1] - within[0]) // 2)
    at = chance.randrange(within[0], within[1] - size)
    source = chance.randrange(within[0], within[1] - size)
    _write(path, at, _read(path, source, size))
    return at


def scribble(path: Path, within: Range, chance: random.Random) -> int:
    """From some byte on nothing is right any more: a torn tail with garbage behind."""
    at = chance.randrange(*within)
    _write(path, at, chance.randbytes(within[1] - at))
    return at


def tear_tail(path: Path, within: Range, chance: random.Random) -> int:
    """From some byte on there are only zeros: the rest never reached the disk."""
    at = chance.randrange(*within)
    _write(path, at, bytes(within[1] - at))
    return at


def cut_short(path: Path, within: Range, chance: random.Random) -> int:
    at = chance.randrange(*within)
    with path.open("rb+") as file:
        file.truncate(at)
    return at


def remove(path: Path, within: Range, chance: random.Random) -> int:
    path.unlink()
    return 0


ANY = (flip_bit, zero_page, copy_chunk, cut_short)
TAIL = (tear_tail, scribble)


def empty_text(text: bytes, chance: random.Random) -> bytes:
    return b""


def half_text(text: bytes, chance: random.Random) -> bytes:
    return text[: chance.randrange(1, max(2, len(text) - 1))]


def nul_text(text: bytes, chance: random.Random) -> bytes:
    """The length reached the disk, the content did not."""
    return bytes(len(text))


def old_tail(text: bytes, chance: random.Random) -> bytes:
    """Written in place over a longer text: the end of the old one is left."""
    return text + text[-chance.randrange(5, 60) :]


def garbage_text(text: bytes, chance: random.Random) -> bytes:
    return chance.randbytes(len(text) or 100)


TEXT_DAMAGES = (empty_text, half_text, nul_text, old_tail, garbage_text)


def _read(path: Path, at: int, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(at)
        return file.read(size)


def _write(path: Path, at: int, data: bytes) -> None:
    with path.open("rb+") as file:
        file.seek(at)
        file.write(data)
