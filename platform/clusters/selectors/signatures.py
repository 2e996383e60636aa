"""Dead letters by what they have in common, so that a thousand of them are a handful of causes. Pure.

A signature is the topic they came from, their tag, how their last traced try ended (where a client traced),
and the stem of their first key (`order-17` and `order-18` are both `order-`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

_STEM = re.compile(r"^[^0-9]*")
_MOST_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Letter:
    """What of a dead letter its signature is made from. None: not known."""

    offset_id: str
    topic: str
    tag: str | None
    key: str | None
    reason: str | None
    stored_ms: int


@dataclass(frozen=True, slots=True)
class Signature:
    topic: str
    tag: str | None
    reason: str | None
    key_stem: str | None


@dataclass(frozen=True, slots=True)
class Bundle:
    signature: Signature
    count: int
    first_ms: int
    last_ms: int
    samples: tuple[str, ...]
    """Offset ids of the newest."""


def signature_of(letter: Letter) -> Signature:
    stem = None if letter.key is None else _STEM.match(letter.key)[0]  # type: ignore[index]
    return Signature(letter.topic, letter.tag, letter.reason, stem or None)


def bundles(letters: Iterable[Letter]) -> list[Bundle]:
    """The largest first."""
    kept: dict[Signature, list[Letter]] = defaultdict(list)
    for letter in letters:
        kept[signature_of(letter)].append(letter)
    return sorted(
        (_bundle(*item) for item in kept.items()), key=lambda bundle: (-bundle.count, bundle.first_ms)
    )


def _bundle(signature: Signature, letters: list[Letter]) -> Bundle:
    newest = sorted(letters, key=lambda letter: letter.stored_ms, reverse=True)
    return Bundle(
        signature,
        len(letters),
        newest[-1].stored_ms,
        newest[0].stored_ms,
        tuple(letter.offset_id for letter in newest[:_MOST_SAMPLES]),
    )
