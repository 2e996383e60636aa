"""One compiled filter: asked per message with the stored properties, as they lie in the record.

Caps make its cost bounded: the length of the text here, nesting and terms in the parser. How many records one
pull may scan follows from the number of terms, so that a clever expression cannot hold up the loop. Compiled
filters are cached by their text; refusals are not, because they come early.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from engine.broker.sql92.operands import Evaluate
from engine.broker.sql92.parser import parse
from engine.broker.sql92.places import refused_at
from engine.protocol.properties import NAME_END, PAIR_END, decode_properties

MAX_EXPRESSION_LENGTH = 32 * 1024
_SCAN_TERMS, _MIN_SCAN, _MAX_SCAN = 4_096, 16, 400


@dataclass(frozen=True, slots=True)
class SqlFilter:
    """`max_scan` is how many records one pull may ask it about."""

    expression: str
    evaluate: Evaluate
    terms: int

    @property
    def max_scan(self) -> int:
        return max(_MIN_SCAN, min(_MAX_SCAN, _SCAN_TERMS // self.terms))

    def matches(self, properties: bytes) -> bool:
        """Whether a message with this property text is wanted; unknown and errors are not."""
        try:
            return self.evaluate(_read(properties.decode("utf-8", "replace"))) is True
        except ValueError:
            return False


def _read(text: str) -> dict[str, str]:
    """`decode_properties` at half its price, for texts in which every pair is whole: nearly all."""
    if f"{NAME_END}{PAIR_END}" not in text:
        pairs = [pair.split(NAME_END, 1) for pair in text.split(PAIR_END)]
        if not pairs[-1][0]:
            pairs.pop()
        try:
            return dict(pairs)  # of a pair that is not two: ValueError
        except ValueError:
            pass
    return decode_properties(text)


@lru_cache(maxsize=4096)
def sql_filter(expression: str) -> SqlFilter:
    """Refused (23) with the place when the text is not an expression, or too long, deep or wide."""
    if len(expression) > MAX_EXPRESSION_LENGTH:
        raise refused_at(expression, MAX_EXPRESSION_LENGTH, f"more than {MAX_EXPRESSION_LENGTH} characters")
    truth = parse(expression)
    return SqlFilter(expression, truth.evaluate, truth.terms)
