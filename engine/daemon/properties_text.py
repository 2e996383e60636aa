"""Java properties text (`key=value` lines): the form of broker.conf, namesrv.conf and config requests.

Parsing is lenient like Java's (comments with # or !, `=` or `:` or blanks as separator, backslash escapes and
continued lines); writing is one sorted `key=value` per line. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        if key:
            properties[_unescape(key)] = _unescape(value).strip()
    return properties


def format_properties(properties: Mapping[str, object]) -> str:
    return "".join(f"{key}={_shown(properties[key])}\n" for key in sorted(properties))


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    pending = ""
    for raw in text.splitlines():
        line = pending + raw.lstrip()
        pending = ""
        if not line or line[0] in "#!":
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending = line[:-1]
            continue
        lines.append(line)
    return [*lines, pending] if pending else lines


def _split(line: str) -> tuple[str, str]:
    skip = False
    for position, character in enumerate(line):
        if skip:
            skip = False
        elif character == "\\":
            skip = True
        elif character in "=:":
            return line[:position].rstrip(), line[position + 1 :].lstrip()
        elif character in " \t\f":
            rest = line[position:].lstrip()
            return line[:position], rest[1:].lstrip() if rest[:1] in ("=", ":") else rest
    return line, ""


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    characters = iter(text)
    for character in characters:
        if character != "\\":
            out.append(character)
            continue
        escaped = next(characters, "")
        if escaped == "u":
            digits = "".join(next(characters, "") for _ in range(4))
            out.append(chr(int(digits, 16)) if _is_hex(digits) else digits)
        else:
            out.append(_ESCAPES.get(escaped, escaped))
    return "".join(out)


def _is_hex(digits: str) -> bool:
    return len(digits) == 4 and all(digit in "0123456789abcdefABCDEF" for digit in digits)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
