"""One option of a report: what it may be, and the words that the job gets for it. Pure.

Checked twice by the same rule: when somebody asks for it, and before it becomes an argument on the host. An
option is a number, a text without control characters, or one of a few words; none is a path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

WHOLE, NUMBER, TEXT, WORD, FLAG = "integer", "number", "text", "choice", "boolean"


@dataclass(frozen=True, slots=True)
class Option:
    name: str
    kind: str
    about: str
    default: Any = None
    """None: it is not given to the job, which has a default of its own."""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str = r"[^\x00-\x1f\x7f]{1,255}"
    is_list: bool = False
    """Given several times."""
    flag: str = ""
    """On the command line, where that is not the name."""

    @property
    def word(self) -> str:
        return "--" + (self.flag or self.name.replace("_", "-"))

    def refusal(self, value: Any) -> str:
        """Empty: it is fine."""
        if self.is_list:
            if not isinstance(value, list) or len(value) > 100:
                return "a list of 100 at most"
            return next(filter(None, map(self._refusal_of_one, value)), "")
        return self._refusal_of_one(value)

    def _refusal_of_one(self, value: Any) -> str:
        if self.kind in (WHOLE, NUMBER):
            return self._refusal_of_number(value)
        if self.kind == FLAG:
            return "" if isinstance(value, bool) else "true or false"
        if self.kind == WORD:
            return "" if value in self.choices else f"one of {', '.join(self.choices)}"
        is_text = isinstance(value, str) and re.fullmatch(self.pattern, value) is not None
        return "" if is_text else "a text without control characters, 255 long at most"

    def _refusal_of_number(self, value: Any) -> str:
        types = int if self.kind == WHOLE else (int, float)
        if isinstance(value, bool) or not isinstance(value, types) or value != value:
            return "a whole number" if self.kind == WHOLE else "a number"
        low, high = self.low, self.high
        if (low is not None and value < low) or (high is not None and value > high):
            return f"from {low:g} to {high:g}" if low is not None and high is not None else "out of range"
        return ""

    def words(self, value: Any) -> list[str]:
        if self.kind == FLAG:
            return [self.word] if value else []
        return [f"{self.word}={each}" for each in (value if self.is_list else [value])]
