"""What a command is: a name and options as in mqadmin, and a function from its arguments to a result.

A module of commands registers each with `@command(...)`; nothing here talks to a server or prints.
"""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.admin.results import Result
from engine.client import Admin

Arguments = argparse.Namespace
Run = Callable[[Admin, Arguments], Awaitable[Result]] | Callable[[Admin, Arguments], AsyncIterator[Result]]


@dataclass(frozen=True, slots=True)
class Option:
    """One option; without a `metavar` it is a switch."""

    short: str
    name: str
    help: str
    metavar: str | None = None
    type: Callable[[str], Any] = str
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
            type=self.type,
            default=self.default,
            required=self.required,
            choices=self.choices,
            help=self.help,
        )


@dataclass(frozen=True, slots=True)
class Command:
    """`one_of`: at least one of these options must be given. `together`: all of these or none."""

    name: str
    help: str
    options: Sequence[Option]
    run: Run
    example: str
    one_of: tuple[str, ...] = ()
    together: tuple[str, ...] = ()

    def wrong_use(self, given: Arguments) -> str | None:
        """What is wrong with the options as a whole."""
        if self.one_of and not any(_is_given(given, name) for name in self.one_of):
            return f"one of {', '.join(map(_flag, self.one_of))} is required"
        if len({_is_given(given, name) for name in self.together}) > 1:
            return f"{' and '.join(map(_flag, self.together))} go together"
        return None


def _is_given(given: Arguments, name: str) -> bool:
    value = getattr(given, name)
    return value is not None and value is not False


def _flag(name: str) -> str:
    return f"--{name}"


_REGISTRY: dict[str, Command] = {}
_SAMPLES = {
    "TOPIC": "orders",
    "GROUP": "billing",
    "CLUSTER": "DefaultCluster",
    "HOST:PORT": "127.0.0.1:10911",
    "BROKER_NAME": "broker-a",
    "QID": "0",
    "OFFSET": "0",
    "NAMESPACE": "app",
    "KEY": "colour",
    "VALUE": "blue",
    "USER": "alice",
    "SUBJECT": "User:alice",
    "PERM": "4",
    "MODE": "POP",
    "IDS": "10.0.0.1,10.0.0.2",
    "MESSAGE_ID": "7F00000100002A9F0000000000000000",
}
"""Values of required options in examples, by metavar."""


def command(
    name: str,
    help: str,
    *options: Option,
    example: str = "",
    one_of: tuple[str, ...] = (),
    together: tuple[str, ...] = (),
) -> Callable[[Run], Run]:
    """Registers a function as a command; without an `example`, the required options make one."""

    def register(run: Run) -> Run:
        assert name not in _REGISTRY, name
        shown = example or _example(name, [one for one in options if one.required or one.name in one_of[:1]])
        _REGISTRY[name] = Command(name, help, options, run, shown, one_of, together)
        return run

    return register


def _example(name: str, options: Sequence[Option]) -> str:
    words = [f"-{option.short} {_SAMPLES[option.metavar or '']}" for option in options]
    return " ".join((name, *(words or ["-n 127.0.0.1:9876"])))


def registered() -> dict[str, Command]:
    return dict(sorted(_REGISTRY.items()))


def topic_option(required: bool = True) -> Option:
    return Option("t", "topic", "topic name", "TOPIC", required=required)


def group_option(name: str = "groupName", required: bool = True) -> Option:
    return Option("g", name, "consumer group name", "GROUP", required=required)


def address_option(
    short: str, name: str, help: str = "address of the broker", required: bool = True
) -> Option:
    return Option(short, name, help, "HOST:PORT", required=required)
