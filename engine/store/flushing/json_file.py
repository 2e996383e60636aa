"""Small JSON files of the store (`config/*.json`): whole old or whole new content, whatever happens.

The steps (temporary file, sync, the old one kept as .bak, rename, sync of the folder) are `durable_file`'s;
here they have the store's names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from engine.durable_file import read_durable, write_durable

_T = TypeVar("_T")


def write_json(path: Path, data: bytes) -> None:
    write_durable(path, data)


def read_json(path: Path, parse: Callable[[bytes], _T]) -> tuple[_T | None, str | None]:
    """The parsed content and what was wrong with the file that could not be used. `parse` raises ValueError
    for a torn file, and then the .bak is read; (None, None) when there is neither."""
    return read_durable(path, parse)
