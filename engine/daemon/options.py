"""What a setting may hold: each kind reads and writes text and says in words what it allows. Pure values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Protocol

from engine.errors import BadInput
from engine.net.networks import parse_networks


class Kind(Protocol):
    @property
    def allowed(self) -> str: ...

    def read(self, text: str) -> Any:
        """The value of `text`; ValueError when it is not allowed."""

    def write(self, value: Any) -> str: ...


@dataclass(frozen=True, slots=True)
class Whole:
    low: int
    high: int

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.low} to {self.high}"

    def read(self, text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,19}", text) or not self.low <= int(text) <= self.high:
            raise ValueError(text)
        return int(text)

    def write(self, value: int) -> str:
        return str(value)


@dataclass(frozen=True, slots=True)
class Flag:
    @property
    def allowed(self) -> str:
        return "true or false"

    def read(self, text: str) -> bool:
        # Java takes anything else for false; a typing error in a security or durability flag must not pass.
        return (
            {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else _bad(text)
        )

    def write(self, value: bool) -> str:
        return "true" if value else "false"


@dataclass(frozen=True, slots=True)
class Choice:
    names: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return "one of " + ", ".join(self.names)

    def read(self, text: str) -> str:
        return text.upper() if text.upper() in self.names else _bad(text)

    def write(self, value: str) -> str:
        return value


@dataclass(frozen=True, slots=True)
class Text:
    pattern: str = r"[^\x00-\x1f]{0,4096}"
    words: str = "up to 4096 printable characters"

    @property
    def allowed(self) -> str:
        return self.words

    def read(self, text: str) -> str:
        return text if re.fullmatch(self.pattern, text) else _bad(text)

    def write(self, value: str) -> str:
        return value


@dataclass(frozen=True, slots=True)
class NetworkList:
    @property
    def allowed(self) -> str:
        return "addresses and networks (10.0.0.0/8), separated by commas"

    def read(self, text: str) -> str:
        try:
            parse_networks(text)
        except BadInput:
            _bad(text)
        return text

    def write(self, value: str) -> str:
        return value


def _bad(text: str) -> Any:
    raise ValueError(text)


NAME = Text(r"[%|a-zA-Z0-9_.-]{1,127}", "1 to 127 of the characters % | a-z A-Z 0-9 _ . -")
HOST = Text(r"[0-9a-zA-Z.:_-]{0,255}", "an address or host name")
HOURS = Text(r"([01]?[0-9]|2[0-3])(;([01]?[0-9]|2[0-3]))*", "hours of the day, 00 to 23, separated by ;")
ADDRESSES = Text(r"([0-9a-zA-Z.\[\]:_-]+:[0-9]{1,5}(;|$))*", "HOST:PORT, several separated by ;")
PATH = Text(r"[^\x00-\x1f,;]{0,1024}", "one path (several, separated by comma, are not supported)")
NETWORKS = NetworkList()
