"""One line of the tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Effect:
    """A command, and a part of its JSON that is there only after (or, for deletions, only before)."""

    line: str
    part: Any


@dataclass(frozen=True, slots=True)
class Good:
    """`columns` are the titles of the table, `row` cells that one row must have, `count` how many rows there
    are. `says` is the one line of a change, where * stands for anything. `facts` are lines `name : value`.
    `document` is a part of the JSON, where that differs from the table, or is all that is printed.

    `before` are commands that prepare. `ready` is waited for, before the command and after the `cleanup`.
    `shows` and `hides` are what the command changes."""

    arguments: str
    columns: str = ""
    row: dict[str, str] = field(default_factory=dict)
    count: int | None = None
    says: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    document: Any = None
    before: tuple[str, ...] = ()
    ready: tuple[Effect, ...] = ()
    shows: Effect | None = None
    hides: Effect | None = None
    cleanup: tuple[str, ...] = ()
    is_open: bool = False
    """It changes something that applications may change without credentials."""


@dataclass(frozen=True, slots=True)
class Bad:
    arguments: str
    status: int
    error: str
