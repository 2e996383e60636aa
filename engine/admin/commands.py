"""What a command is: a name and options as in mqadmin, and a function from them to a result to be shown.

A command's module registers it with `@command(...)`; nothing here talks to a server or prints. Results are
tables, or lines for a person with the same facts as data for `--json`.
"""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.client.admin import Admin

Arguments = argparse.Namespace


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of equal length under column titles; `notes` are lines behind the table."""

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """One thing's properties, or the outcome of a change: a line to read, and data for scripts."""

    data: dict[str, Any]
    line: str | None = None


Result = Table | Facts
Run = Callable[[Admin, Arguments], Awaitable[Result]] | Callable[[Admin, Arguments], AsyncIterator[Result]]


@dataclass(frozen=True, slots=True)
class Option:
    """One option; without a `metavar` it is a switch."""

    short: str
    name: str
    help: str
    metavar: str | None = None
    kind: Callable[[str], Any] = str
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] | None = None

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        flags = (f"-{self.short}", f"--{self.name}")
        if self.metavar is None:
            parser.add_argument(*flags, dest=self.name, action="store_true", help=self.help)
            return
        parser.add_argument(
            *flags,
            dest=self.name,
            metavar=self.metavar,
            type=self.kind,
            default=self.default,
            required=self.required,
            choices=self.choices,
            help=self.help,
        )


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    help: str
    options: Sequence[Option]
    run: Run
    example: str
    one_of: tuple[str, ...] = field(default=())
    """At least one of these options must be given."""


_REGISTRY: dict[str, Command] = {}


def command(
    name: str, help: str, *options: Option, example: str = "", one_of: tuple[str, ...] = ()
) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        assert name not in _REGISTRY, name
        _REGISTRY[name] = Command(name, help, options, run, example or f"{name} -n 127.0.0.1:9876", one_of)
        return run

    return register


def registered() -> dict[str, Command]:
    return dict(sorted(_REGISTRY.items()))


# -- kinds of values ----------------------------------------------------------------------------------------


def truth(text: str) -> bool:
    """mqadmin's booleans are words."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r}: true or false expected")
    return text.lower() == "true"


def whole_number(text: str) -> int:
    if not text.lstrip("-").isdigit():
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number expected")
    return int(text)


# -- options that many commands share -----------------------------------------------------------------------


def topic_option(required: bool = True) -> Option:
    return Option("t", "topic", "topic name", "TOPIC", required=required)


def group_option(name: str = "groupName", required: bool = True) -> Option:
    return Option("g", name, "consumer group name", "GROUP", required=required)


BROKER = Option("b", "brokerAddr", "one broker, HOST:PORT", "ADDRESS")
CLUSTER = Option("c", "clusterName", "every master of this cluster", "CLUSTER")


async def chosen_brokers(admin: Admin, arguments: Arguments) -> list[str]:
    """The broker of -b, or the masters of the cluster of -c."""
    if arguments.brokerAddr:
        return [arguments.brokerAddr]
    return await admin.cluster.masters(arguments.clusterName)
