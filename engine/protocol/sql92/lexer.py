"""Tokens of an SQL92 filter, made one at a time: RocketMQ never looks beyond the end of an expression.

words     [A-Za-z_$][A-Za-z0-9_$]*; twelve of them, in any case, are keywords
numbers   0, 17, 17L; 1.5, .5, 5., 5E10
texts     'it''s'
comments  /* … */, and -- to the end of a line (two minus signs when no line end follows)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from engine.protocol.sql92.places import refused_at


class Kind(Enum):
    WORD = "a property name"
    KEYWORD = "a keyword"
    DECIMAL = "a whole number"
    FLOAT = "a number"
    STRING = "a text in quotes"
    SIGN = "a sign"
    END = "the end"


class Token(NamedTuple):
    """`text` of a keyword is in capitals, that of a string is without quotes."""

    kind: Kind
    text: str
    position: int


KEYWORDS = frozenset(
    ("NOT", "AND", "OR", "BETWEEN", "IN", "TRUE", "FALSE", "NULL", "IS", "CONTAINS", "STARTSWITH", "ENDSWITH")
)

_TOKEN = re.compile(
    r"(?P<skip>[ \t\r\n\f]+|--[^\r\n]*[\r\n]|/\*.*?\*/)"
    r"|(?P<FLOAT>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<DECIMAL>0|[1-9][0-9]*[lL]?)"
    r"|(?P<STRING>'(?:[^']|'')*')"
    r"|(?P<WORD>[A-Za-z_$][A-Za-z0-9_$]*)"
    r"|(?P<SIGN><>|<=|>=|[=<>(),+-])",
    re.DOTALL,
)


def tokens(text: str) -> Iterator[Token]:
    """The tokens in order, at last an END; refused at the first character that begins none."""
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise refused_at(text, position, _complaint(text, position))
        if found.lastgroup != "skip":
            yield _token(found, position)
        position = found.end()
    yield Token(Kind.END, "", len(text))


def _token(found: re.Match[str], position: int) -> Token:
    kind, text = Kind[found.lastgroup or ""], found.group()
    if kind is Kind.WORD and text.upper() in KEYWORDS:
        return Token(Kind.KEYWORD, text.upper(), position)
    if kind is Kind.STRING:
        text = text[1:-1].replace("''", "'")
    return Token(kind, text, position)


def _complaint(text: str, position: int) -> str:
    if text[position] == "'":
        return "a text without its closing quote"
    if text.startswith("/*", position):
        return "a comment without its end"
    return f"unexpected character {text[position]!r}"
