"""The row of segments that make up the commit log: equal sizes, no holes, named by their start offset.

    commitlog/00000000000000000000   [0, size)
    commitlog/00000000001073741824   [size, 2*size) …

A crash may leave `*.tmp` (a segment that was being prepared) and, from other engines, an empty last file;
both are removed at load. A hole or a strange length in the middle is damage and is refused.
"""

from __future__ import annotations

import os
from collections import deque
from mmap import mmap
from pathlib import Path

from engine.durable_file import named
from engine.errors import StoreError
from engine.protocol.layouts.store_files import parse_segment_name, segment_name
from engine.store.log.mapped_file import MappedFile

PREPARED_SUFFIX = ".tmp"


class MappedFiles:
    def __init__(self, directory: Path, file_size: int, max_mapped: int) -> None:
        self.directory = directory
        self.file_size = file_size
        self.files: list[MappedFile] = []
        self.is_directory_dirty = False
        self.directory_fd = -1
        self._max_mapped = max(max_mapped, 2)
        self._mapped: deque[MappedFile] = deque()

    def load(self) -> None:
        """List the folder. Nothing is mapped yet; a short last file is made whole again (with zeros)."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory_fd = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for entry in sorted(self.directory.iterdir()):
            if entry.name.endswith(PREPARED_SUFFIX):
                entry.unlink()
                continue
            base_offset = parse_segment_name(entry.name)
            if base_offset is None:
                raise StoreError(f"{entry} is not a segment of a commit log", path=str(entry))
            self.files.append(MappedFile(entry, base_offset, self.file_size))
        self._drop_empty_last()
        self._check_row()

    def _drop_empty_last(self) -> None:
        while self.files and self.files[-1].path.stat().st_size == 0:
            self.files.pop().path.unlink()

    def _check_row(self) -> None:
        for number, file in enumerate(self.files):
            expected = self.files[0].base_offset + number * self.file_size
            if file.base_offset != expected or file.base_offset % self.file_size:
                raise StoreError(
                    f"commit log has a hole or another mappedFileSizeCommitLog: {file.path.name} found, "
                    f"{segment_name(expected)} expected",
                    path=str(file.path),
                )
            length = file.path.stat().st_size
            is_last = number == len(self.files) - 1
            if length > self.file_size or (length < self.file_size and not is_last):
                raise StoreError(
                    f"{file.path} has {length} bytes instead of {self.file_size} (mappedFileSizeCommitLog)",
                    path=str(file.path),
                )
            if length < self.file_size:
                self._make_whole(file)

    def _make_whole(self, file: MappedFile) -> None:
        fd = os.open(file.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.posix_fallocate(fd, 0, self.file_size)
        except OSError as error:
            raise named(error, fd) from None
        finally:
            os.close(fd)

    @property
    def min_offset(self) -> int:
        return self.files[0].base_offset if self.files else 0

    @property
    def last(self) -> MappedFile | None:
        return self.files[-1] if self.files else None

    def at(self, commit_log_offset: int) -> MappedFile | None:
        """The segment that holds the offset."""
        files = self.files
        if not files or commit_log_offset < files[0].base_offset:
            return None
        number = (commit_log_offset - files[0].base_offset) // self.file_size
        return files[number] if number < len(files) else None

    def add(self, file: MappedFile, base_offset: int) -> MappedFile:
        """Give a freshly allocated segment its name and place."""
        file.move_to(self.directory / segment_name(base_offset), base_offset)
        self.files.append(file)
        self.is_directory_dirty = True
        self._note_map(file)
        return file

    def mapped(self, file: MappedFile) -> mmap:
        """The segment's map; the one that was mapped longest ago goes when there are too many."""
        if file.map is None:
            file.map_only()
            self._note_map(file)
        assert file.map is not None
        return file.map

    def _note_map(self, file: MappedFile) -> None:
        self._mapped.append(file)
        while len(self._mapped) > self._max_mapped:
            oldest = self._mapped.popleft()
            if oldest is self.last:  # the one being written stays
                self._mapped.append(oldest)
            else:
                oldest.unmap()

    def drop_oldest(self, count: int) -> list[Path]:
        """Delete segments from the front; the last one always stays."""
        count = min(count, len(self.files) - 1)
        dropped = self.files[:count]
        del self.files[:count]
        for file in dropped:
            self._delete(file)
        self.is_directory_dirty = self.is_directory_dirty or bool(dropped)
        return [file.path for file in dropped]

    def drop_from(self, commit_log_offset: int) -> None:
        """Delete the segments that start at the offset or later."""
        while self.files and self.files[-1].base_offset >= commit_log_offset:
            self._delete(self.files.pop())
            self.is_directory_dirty = True

    def _delete(self, file: MappedFile) -> None:
        if file in self._mapped:
            self._mapped.remove(file)
        file.delete()

    def close(self) -> None:
        for file in self.files:
            file.close()
        if self.directory_fd >= 0:
            os.close(self.directory_fd)
            self.directory_fd = -1
