"""Log files of a daemon: one line per event, rotated by size, level changeable while it runs.

Console output stays for a person who started the daemon by hand (warnings and worse); the file has the rest.
CR and LF that came over the wire cannot forge a line: they are shown escaped. A line that cannot be written
(the disk is full) is lost; it never disturbs the daemon.
"""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

from engine.errors import BadInput

_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_MAX_BYTES = 32 * 1024 * 1024
_BACKUPS = 10


class OneLineFormatter(logging.Formatter):
    """Keeps a message on its line; tracebacks stay readable below it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message.replace("\r", "\\r").replace("\n", "\\n")
        return super().formatMessage(record)


def start_logging(directory: Path | None, name: str, level: str = "INFO") -> None:
    """Log to `<directory>/<name>.log` (when given) and warnings to stderr."""
    logging.raiseExceptions = False
    root = logging.getLogger("engine")
    root.setLevel(level)
    root.propagate = False
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    console = logging.StreamHandler(sys.stderr)
    console.setLevel(logging.WARNING)
    handlers: list[logging.Handler] = [console]
    if directory is not None:
        handlers.append(_file_handler(directory, f"{name}.log"))
    for handler in handlers:
        handler.setFormatter(OneLineFormatter(_FORMAT))
        root.addHandler(handler)


def _file_handler(directory: Path, name: str) -> logging.Handler:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return RotatingFileHandler(
            directory / name, maxBytes=_MAX_BYTES, backupCount=_BACKUPS, encoding="utf-8"
        )
    except OSError as error:
        raise BadInput(f"no log can be written in {directory}: {error.strerror or error}") from None


def set_level(level: str) -> None:
    logging.getLogger("engine").setLevel(level)
