"""One table and its file below config/: how the table is copied, encoded and written.

Changes of a large table go beside its file, so that one new topic among 100,000 does not rewrite all of them.

    config/topics.json            the whole table, as RocketMQ writes it: the image
    config/topics.json.changes    {"image":[size,crc32]}        which image the changes belong to
                                  {"dataVersion":{…},"topicConfigTable":{"new":{…},"gone":null}}
                                  …

Each line is preceded by its CRC in eight hex digits and a space, and is on disk before a caller is answered.
Lines change the image in their order; null deletes. A crash may tear the last line, which has not been
answered. Changes of another image are old, and ignored: a new image is complete by itself. It is written when
the changes have grown to half of it, some time after the last change, and at a clean stop, so that other
readers of the image (RocketMQ, Spark) lag behind by about `REWRITE_S`, and by nothing once the broker has
stopped. Small tables have no such file.

Writing blocks; one thread at a time.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from engine.broker.state.tables import Image
from engine.durable_file import named, sync_directory, write_durable

SMALL_IMAGE_BYTES = 64 << 10
"""An image up to this size is simply written anew."""
LEAST_BYTES = 256 << 10
REWRITE_S = 30.0
_SEPARATOR = b" "


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What changed in a table since its last copy, whole or of changes: None when nothing did."""

    take: Callable[[], Any | None]
    encode: Callable[[Any], bytes]


def image_of(data: bytes) -> Image:
    return len(data), zlib.crc32(data)


def changes_path(image_path: Path) -> Path:
    return image_path.with_name(f"{image_path.name}.changes")


class ChangeFile:
    """`image` is what the image's file is known to hold; None: it must be written before changes can be."""

    def __init__(self, image_path: Path, image: Image | None, *, has_changes: bool) -> None:
        self._image_path = image_path
        self._path = changes_path(image_path)
        self._image = image
        self._size = 0
        self.has_changes = has_changes
        """Whether the image alone is not the whole table."""
        self._is_ours = False
        """Changes found at the start are never appended to: their last line may be torn."""

    @property
    def takes_changes(self) -> bool:
        if self._image is None or (self.has_changes and not self._is_ours):
            return False
        return self._image[0] > SMALL_IMAGE_BYTES and self._size < max(LEAST_BYTES, self._image[0] // 2)

    @property
    def is_image_known(self) -> bool:
        return self._image is not None

    def append(self, change: bytes) -> None:
        """On return it is on disk. After an OSError the next write must be an image."""
        assert self._image is not None
        image, self._image = self._image, None
        line = _line(change)
        if self.has_changes:
            _write_synced(self._path, os.O_APPEND, line)
            self._size += len(line)
        else:
            first = _line(orjson.dumps({"image": image}))
            _create_synced(self._path, first + line)
            self._size = len(first) + len(line)
        self.has_changes = self._is_ours = True
        self._image = image

    def write_image(self, data: bytes) -> None:
        self._image = None
        write_durable(self._image_path, data)
        # From here on the changes are those of another image.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        self.has_changes = self._is_ours = False
        self._image, self._size = image_of(data), 0


def _ignore(snapshot: object) -> None:
    """Only the request that changed the table waits for its file."""


def _stay_changed() -> None:
    """The next change writes the table again."""


@dataclass(frozen=True, slots=True)
class StateFile:
    """`take` copies the table (loop), `encode` makes its bytes (thread); `saved` or `failed` follows."""

    path: Path
    take: Callable[[], Any]
    encode: Callable[[Any], bytes]
    saved: Callable[[Any], None] = _ignore
    failed: Callable[[], None] = _stay_changed
    without_log: Callable[[Any], Any] | None = None
    changes: TableChanges | None = None
    change_file: ChangeFile | None = None
    """With `changes`: `saved` is called with what was taken, the whole table or its changes."""

    def write(self, snapshot: Any) -> None:
        """The whole table. Blocks; called in a thread."""
        data = self.encode(snapshot)
        if self.change_file is not None:
            self.change_file.write_image(data)
        else:
            write_durable(self.path, data)

    def append(self, snapshot: Any) -> None:
        """What changed since the last write. Blocks; called in a thread."""
        assert self.changes is not None and self.change_file is not None
        self.change_file.append(self.changes.encode(snapshot))


def read_changes(image_path: Path, image: Image) -> tuple[list[dict[str, Any]], str | None]:
    """The changes of this image, and why some of them had to be left out."""
    try:
        data = changes_path(image_path).read_bytes()
    except FileNotFoundError:
        return [], None
    lines = data.split(b"\n")
    torn = lines.pop()
    changes: list[dict[str, Any]] = []
    for number, line in enumerate(lines):
        change = _parse(line)
        if change is None:
            left = len(lines) - number
            return changes, f"{changes_path(image_path).name}: line {number + 1} is damaged, {left} left out"
        if number == 0 and change.get("image") != list(image):
            return [], None
        if number > 0:
            changes.append(change)
    return changes, f"{changes_path(image_path).name}: its last line is torn" if torn else None


def apply_change(content: dict[str, Any], change: dict[str, Any]) -> None:
    """Bring the JSON of an image up to date."""
    for key, value in change.items():
        if key == "dataVersion" or not isinstance(value, dict):
            content[key] = value
            continue
        table = content.setdefault(key, {})
        for name, entry in value.items():
            if entry is None:
                table.pop(name, None)
            else:
                table[name] = entry


def _line(content: bytes) -> bytes:
    return b"%08x%b%b\n" % (zlib.crc32(content), _SEPARATOR, content)


def _parse(line: bytes) -> dict[str, Any] | None:
    crc, _, content = line.partition(_SEPARATOR)
    try:
        if int(crc, 16) != zlib.crc32(content):
            return None
        change = orjson.loads(content)
    except ValueError:
        return None
    return change if isinstance(change, dict) else None


def _create_synced(path: Path, data: bytes) -> None:
    """Renamed into place once complete: a torn first line would hide the changes behind it."""
    temporary = path.with_name(f"{path.name}.tmp")
    _write_synced(temporary, os.O_CREAT | os.O_TRUNC, data)
    os.replace(temporary, path)
    sync_directory(path.parent)


def _write_synced(path: Path, flags: int, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fdatasync(descriptor)
    except OSError as error:
        raise named(error, descriptor) from None
    finally:
        os.close(descriptor)
