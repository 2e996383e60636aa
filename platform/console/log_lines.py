"""Log lines that nobody can forge: whatever stands in a path, a name or an error's text, it begins no line.

Control characters of messages are written as escapes (`\\n`, `\\x1b`), so that they neither end a line nor
colour a terminal. Tracebacks keep their lines, each behind a mark that no line of ours begins with.
"""

from __future__ import annotations

import logging
import re
from types import TracebackType

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_CONTROL_BUT_LINES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_MARK = "  | "

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class LineFormatter(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = _CONTROL.sub(_escaped, record.message)
        return super().formatMessage(record)

    def formatException(self, ei: _ExcInfo) -> str:
        return _marked(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _marked(super().formatStack(stack_info))


def _marked(text: str) -> str:
    return "\n".join(_MARK + _CONTROL_BUT_LINES.sub(_escaped, line) for line in text.split("\n"))


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
