"""Files of stores wherever they lie: folders of this machine, or whatever a URI of `pyarrow.fs` names.

A place is a text: an absolute path, or a URI (`s3://bucket/archive/broker-a`). Texts travel to workers, file
systems do not: each process opens its own, once. Files are read by position and never mapped, because one
that is cut short under a map kills the process that looks at it. Knows nothing of what is in the files.
"""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

from pyarrow import fs

from engine.errors import BadInput, NotFound

__all__ = ["Entry", "File", "expand", "inside", "is_local", "listed", "open_file", "place_of", "read_whole"]

_WILD = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Entry:
    size: int
    is_folder: bool


def is_local(place: str) -> bool:
    return "://" not in place


def place_of(text: str) -> str:
    """The one way to write a place, whatever way it was given."""
    text = text.strip()
    if text.startswith("file://"):
        text = text.removeprefix("file://")
    if is_local(text):
        return os.path.abspath(os.path.expanduser(text))
    return text.rstrip("/")


def inside(place: str, *names: str) -> str:
    bare, mark, query = place.partition("?") if not is_local(place) else (place, "", "")
    return "/".join([bare.rstrip("/"), *names]) + mark + query


@lru_cache(maxsize=64)
def _system(scheme: str, authority: str, query: str) -> tuple[Any, str]:
    """The file system behind a URI, and what stands before every path there: stores of objects count the
    bucket, which is the URI's authority, as the first folder."""
    root = f"{scheme}://{authority}/{query}"
    try:
        system, path = fs.FileSystem.from_uri(root)
    except (ValueError, OSError) as error:
        raise BadInput(f"cannot open {root}: {_first_line(error)}") from None
    bucket = authority.rpartition("@")[2]
    return system, f"{bucket}/" if path.strip("/") == bucket else "/"


def _open_place(place: str) -> tuple[Any, str]:
    if is_local(place):
        return _local(), place
    bare, mark, query = place.partition("?")
    scheme, _, rest = bare.partition("://")
    authority, _, path = rest.partition("/")
    system, above = _system(scheme, authority, mark + query)
    return system, above + path


@lru_cache(maxsize=1)
def _local() -> Any:
    return fs.LocalFileSystem()


def listed(place: str) -> dict[str, Entry] | None:
    """What is in a folder, by name; None when there is no such folder."""
    system, path = _open_place(place)
    with _reported(place):
        found = system.get_file_info(path)
        if found.type != fs.FileType.Directory:
            return None
        infos = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return {
        info.base_name: Entry(info.size or 0, info.type == fs.FileType.Directory)
        for info in infos
        if info.type != fs.FileType.NotFound
    }


def expand(text: str) -> list[str]:
    """The places that a text with wildcards names, sorted; the place itself when it has none."""
    place = place_of(text)
    if is_local(place):
        return sorted(glob.glob(place)) if _WILD & set(place) else [place]
    bare, mark, query = place.partition("?")
    scheme, _, rest = bare.partition("://")
    authority, *parts = rest.split("/")
    places = [f"{scheme}://{authority}{mark}{query}"]
    for part in parts:
        places = [inside(above, name) for above in places for name in _matching(above, part)]
    return sorted(places)


def _matching(place: str, part: str) -> list[str]:
    if not _WILD & set(part):
        return [part]
    return [name for name in listed(place) or () if fnmatch.fnmatchcase(name, part)]


class File:
    """A file that is read by position. Not for several threads at once."""

    def __init__(self, place: str) -> None:
        self.place = place
        system, path = _open_place(place)
        with _reported(place):
            self._file = system.open_input_file(path)
            self.size: int = self._file.size()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, at: int, size: int) -> bytes:
        """Fewer bytes than asked for only at the end of the file."""
        with _reported(self.place):
            return bytes(self._file.read_at(size, at)) if size > 0 else b""

    def read_into(self, target: memoryview, at: int) -> int:
        """How many bytes there were, up to all that the target holds."""
        with _reported(self.place):
            self._file.seek(at)
            done = 0
            while done < len(target):
                got = self._file.readinto(target[done:])
                if not got:
                    break
                done += got
        return done


def open_file(place: str) -> File:
    return File(place)


def read_whole(place: str) -> bytes | None:
    """A small file; None when there is none."""
    try:
        with File(place) as file:
            return file.read(0, file.size)
    except NotFound:
        return None


@contextmanager
def _reported(place: str) -> Iterator[None]:
    """What the disk or a distant storage refuses, in one line that names the place."""
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"no such file or folder: {place}") from None
    except OSError as error:
        raise BadInput(f"cannot read {place}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return str(text).strip().splitlines()[0] if str(text).strip() else type(error).__name__
