"""Configuration as text, `key=value` per line: bodies of 25, 26, 318, 319 and of the .conf files behind them.

The format is Java's Properties: `#` and `!` start comments, `=` or `:` or blanks part key from value, a
backslash escapes or, at the end of a line, continues it. Written sorted, one pair per line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.errors import BadRequest

MAX_TEXT_BYTES = 1024 * 1024

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.)", re.DOTALL)
_PAIR = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


def decode_config(data: bytes) -> dict[str, str]:
    """Pairs in the order of the text; of two with one key the later counts."""
    if len(data) > MAX_TEXT_BYTES:
        raise BadRequest(f"the configuration text has {len(data)} bytes, {MAX_TEXT_BYTES} are allowed")
    try:
        return parse_config(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadRequest("the configuration text is not UTF-8") from None


def parse_config(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for line in _logical_lines(text):
        match = _PAIR.fullmatch(line)
        if match is not None and match[1]:
            pairs[_unescape(match[1])] = _unescape(match[2])
    return pairs


def encode_config(pairs: Mapping[str, str]) -> bytes:
    """A value that would start a new line is refused: it could forge another key."""
    for key, value in pairs.items():
        if "\n" in key + value or "\r" in key + value:
            raise BadRequest(f"the configuration value of {key!r:.80} has a line break")
    return format_config(pairs).encode("utf-8")


def format_config(pairs: Mapping[str, object]) -> str:
    return "".join(f"{key}={_shown(pairs[key])}\n" for key in sorted(pairs))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    begun: list[str] = []
    for natural in re.split(r"\r\n|\n|\r", text):
        line = natural.lstrip(" \t\f")
        if not begun and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            begun.append(line[:-1])
            continue
        lines.append("".join((*begun, line)))
        begun = []
    return [*lines, "".join(begun)] if begun else lines


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    try:
        # Escapes are UTF-16 units: this joins the pairs and refuses a half of one.
        return _ESCAPE.sub(_escaped, text).encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise BadRequest("the configuration text has half of a surrogate pair") from None


def _escaped(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    if escape == "u":
        raise BadRequest("the configuration text has a malformed \\u escape")
    return _ESCAPES.get(escape, escape)
