"""Options of a daemon: what each may hold, how it is read and written, and those that both daemons have.

A daemon's options are a frozen dataclass whose fields are made with `option`, `flag` and `whole`. Such a
field knows its kind, so one table reads the .conf file, checks changes at run time and prints the
configuration. `ConnectionOptions` is what broker and name server have in common. Pure: no file is read here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from engine.daemon.access_settings import AccessSettings
from engine.daemon.tls_settings import TlsSettings
from engine.errors import BadInput
from engine.net.arrivals import parse_networks
from engine.net.shares import MemoryLimits
from engine.protocol.wire import camel_case

_INT32_MAX = 0x7FFFFFFF


class Kind(Protocol):
    """What an option may hold."""

    @property
    def allowed(self) -> str: ...

    def read(self, text: str) -> Any:
        """The value of `text`; ValueError when it is not allowed."""


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


@dataclass(frozen=True, slots=True)
class Flag:
    allowed: str = "true or false"

    def read(self, text: str) -> bool:
        # Java takes anything else for false; a typing error in a security or durability flag must not pass.
        if text.lower() not in ("true", "false"):
            raise ValueError(text)
        return text.lower() == "true"


@dataclass(frozen=True, slots=True)
class Choice:
    names: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return "one of " + ", ".join(self.names)

    def read(self, text: str) -> str:
        if text.upper() not in self.names:
            raise ValueError(text)
        return text.upper()


@dataclass(frozen=True, slots=True)
class Text:
    pattern: str = r"[^\x00-\x1f]{0,4096}"
    allowed: str = "up to 4096 printable characters"

    def read(self, text: str) -> str:
        if not re.fullmatch(self.pattern, text):
            raise ValueError(text)
        return text


@dataclass(frozen=True, slots=True)
class NetworkList:
    allowed: str = "addresses and networks (10.0.0.0/8), separated by commas"

    def read(self, text: str) -> str:
        try:
            parse_networks(text)
        except BadInput as error:
            raise ValueError(error.text) from None
        return text


NAME = Text(r"[%|a-zA-Z0-9_.-]{1,127}", "1 to 127 of the characters % | a-z A-Z 0-9 _ . -")
HOST = Text(r"[0-9a-zA-Z.:_-]{0,255}", "an address or host name")
HOURS = Text(r"([01]?[0-9]|2[0-3])(;([01]?[0-9]|2[0-3]))*", "hours of the day, 00 to 23, separated by ;")
ADDRESSES = Text(r"([0-9a-zA-Z.\[\]:_-]+:[0-9]{1,5}(;|$))*", "HOST:PORT, several separated by ;")
PATH = Text(r"[^\x00-\x1f,;]{0,1024}", "one path (several, separated by comma, are not supported)")
LOG_LEVEL = Choice(("DEBUG", "INFO", "WARNING", "ERROR"))


def option(default: Any, kind: Kind, name: str | None = None) -> Any:
    """A field of an options dataclass; its name in the .conf file is the field's in camel case, or `name`."""
    return field(default=default, metadata={"kind": kind, "name": name})


def flag(default: bool) -> Any:
    return option(default, Flag())


def whole(default: int, low: int, high: int) -> Any:
    return option(default, Whole(low, high))


@dataclass(frozen=True, slots=True)
class OptionKey:
    """One option: its name in the .conf file, its attribute, what it may hold."""

    name: str
    attribute: str
    kind: Kind
    is_live: bool

    def read(self, text: str) -> Any:
        try:
            return self.kind.read(text)
        except ValueError:
            raise BadInput(
                f"{self.name}={text:.200} is not allowed: it must be {self.kind.allowed}"
            ) from None


def option_keys(cls: type, *, is_live: bool = False) -> dict[str, OptionKey]:
    """The options of a dataclass by their names in the .conf file."""
    return {
        name: OptionKey(name, item.name, item.metadata["kind"], is_live)
        for item in fields(cls)
        if "kind" in item.metadata
        for name in (item.metadata["name"] or camel_case(item.name),)
    }


def option_text(value: object) -> str:
    """A value as the .conf file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """What connections may use, how they are encrypted, and who may use them."""

    signalbox_max_connections_per_ip: int = whole(65_536, 1, _INT32_MAX)
    signalbox_max_receiving_bytes: int = whole(64 << 20, 1 << 20, 1 << 40)
    signalbox_max_receiving_bytes_per_ip: int = whole(0, 0, 1 << 40)
    signalbox_max_sending_bytes: int = whole(64 << 20, 1 << 20, 1 << 40)
    signalbox_max_sending_bytes_per_ip: int = whole(0, 0, 1 << 40)
    signalbox_trusted_proxies: str = option("", NetworkList())
    tls: TlsSettings = field(default_factory=TlsSettings)
    access: AccessSettings = field(default_factory=AccessSettings)

    @property
    def memory(self) -> MemoryLimits:
        return MemoryLimits(
            self.signalbox_max_receiving_bytes,
            self.signalbox_max_receiving_bytes_per_ip,
            self.signalbox_max_sending_bytes,
            self.signalbox_max_sending_bytes_per_ip,
            clients_sign=self.access.is_on and not self.access.guards_changes_only,
        )
