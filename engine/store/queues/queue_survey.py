"""What the files of the consume queues hold, found with as few calls as possible: a store may have 100,000.

For each queue: where it begins and ends, and its last units, which recovery compares with the log. Several
threads look at the folders, because on a cold disk each look waits for the device. Nothing is changed here.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from engine.protocol.layouts.store_files import CQ_UNIT, CQ_UNIT_SIZE, parse_segment_name, segment_name
from engine.protocol.names import is_valid_topic

LOOK_UNITS = 200
"""Most queues are short: their units are found in one read."""
TAIL_UNITS = 32
_THREADS = 8
_TOPICS_AT_ONCE = 256
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class QueueSurvey(NamedTuple):
    first: int = 0
    end: int = 0
    """`first == end`: there is no file."""
    tail: bytes = b""
    """The units before `end`, as many as were at hand."""


Found = tuple[str, int, QueueSurvey | None]
"""Topic, queue id, and None when the queue's files contradict each other."""


def survey_queues(directory: str, file_units: int) -> Iterator[Found]:
    """All queues below the directory, by topic and id."""
    topics = [topic for topic in _subfolders(directory) if is_valid_topic(topic)]
    parts = [topics[at : at + _TOPICS_AT_ONCE] for at in range(0, len(topics), _TOPICS_AT_ONCE)]

    def survey(part: list[str]) -> list[Found]:
        return [found for topic in part for found in _survey_topic(directory, topic, file_units)]

    if len(parts) <= 1:
        yield from (found for part in parts for found in survey(part))
        return
    with ThreadPoolExecutor(_THREADS, "queue-survey") as threads:
        for founds in threads.map(survey, parts):
            yield from founds


def _survey_topic(directory: str, topic: str, file_units: int) -> list[Found]:
    folder = f"{directory}/{topic}"
    names = _subfolders(folder)
    queue_ids = sorted(int(name) for name in names if name.isascii() and name.isdigit())
    return [
        (topic, queue_id, survey_queue(f"{folder}/{queue_id}", file_units))
        for queue_id in queue_ids
        if str(queue_id) in names
    ]


def survey_queue(folder: str, file_units: int) -> QueueSurvey | None:
    """None when the files contradict each other: a hole, another size, a link."""
    file_size = file_units * CQ_UNIT_SIZE
    bases = sorted(base for base in map(parse_segment_name, os.listdir(folder)) if base is not None)
    if not bases:
        return QueueSurvey()
    if list(range(bases[0], bases[-1] + 1, file_size)) != bases or bases[0] % file_size:
        return None
    for base in bases[:-1]:
        found = os.lstat(f"{folder}/{segment_name(base)}")
        if stat.S_ISLNK(found.st_mode) or found.st_size != file_size:
            return None
    try:
        fd = os.open(f"{folder}/{segment_name(bases[-1])}", _READ)
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link
            return None
        raise
    try:
        if os.fstat(fd).st_size != file_size:
            return None
        count, tail = _find_end(fd, file_units)
    finally:
        os.close(fd)
    return QueueSurvey(bases[0] // CQ_UNIT_SIZE, bases[-1] // CQ_UNIT_SIZE + count, tail)


def _find_end(fd: int, file_units: int) -> tuple[int, bytes]:
    """How many units the last file of a queue has, and the last of them. The files before it are full, and in
    it there are zeros behind the end only."""
    look = os.pread(fd, min(LOOK_UNITS, file_units) * CQ_UNIT_SIZE, 0)
    written = -(-len(look.rstrip(b"\0")) // CQ_UNIT_SIZE)
    for number in range(written):
        if _size_of(look, number) <= 0:
            written = number
            break
    else:
        if written * CQ_UNIT_SIZE == len(look) and written < file_units:
            return _search_end(fd, written, file_units), b""
    return written, look[max(0, written - TAIL_UNITS) * CQ_UNIT_SIZE : written * CQ_UNIT_SIZE]


def _search_end(fd: int, low: int, high: int) -> int:
    while low < high:
        middle = (low + high) // 2
        if _size_of(os.pread(fd, CQ_UNIT_SIZE, middle * CQ_UNIT_SIZE), 0) <= 0:
            high = middle
        else:
            low = middle + 1
    return low


def _size_of(units: bytes, number: int) -> int:
    size: int = CQ_UNIT.unpack_from(units, number * CQ_UNIT_SIZE)[1]
    return size


def _subfolders(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
