"""One compiled filter: asked per message with the stored properties, as they lie in the record.

Caps make its cost bounded: the length of the text here, nesting and terms in the parser. How many records one
pull may scan follows from the number of terms, so that a clever expression cannot hold up the loop. What
compiling gave, a filter or a refusal, is remembered by the text: pulls ask for it again and again.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import Refused
from engine.protocol._properties_cy import read_properties
from engine.protocol.sql92.lexer import Kind, tokens
from engine.protocol.sql92.operands import Evaluate, Properties
from engine.protocol.sql92.parser import parse
from engine.protocol.sql92.places import refused_at
from engine.protocol.text_cache import TextCache

MAX_EXPRESSION_LENGTH = 32 * 1024
_SCAN_TERMS, _MIN_SCAN, _MAX_SCAN = 4_096, 16, 400
_MOST_CHARS = 256 * 1024
"""Of expressions that are remembered; a compiled one takes up to 65 bytes for each character."""


@dataclass(frozen=True, slots=True)
class SqlFilter:
    """`max_scan` is how many records one pull may ask it about."""

    expression: str
    evaluate: Evaluate
    terms: int

    @property
    def max_scan(self) -> int:
        return max(_MIN_SCAN, min(_MAX_SCAN, _SCAN_TERMS // self.terms))

    @property
    def names(self) -> frozenset[str]:
        """The properties that it asks for."""
        found = set()
        try:
            for token in tokens(self.expression):
                if token.kind is Kind.WORD:
                    found.add(token.text)
        except Refused:
            # What begins no token behind the end of an expression is not part of it.
            pass
        return frozenset(found)

    def matches(self, properties: bytes) -> bool:
        """Whether a message with this property text is wanted; unknown and errors are not."""
        try:
            return self.evaluate(read_properties(properties)) is True
        except ValueError:
            return False

    def wants(self, properties: Properties) -> bool:
        """The same of properties that are read already."""
        try:
            return self.evaluate(properties) is True
        except ValueError:
            return False


def sql_filter(expression: str) -> SqlFilter:
    """Refused (23) with the place when the text is not an expression, or too long, deep or wide."""
    if len(expression) > MAX_EXPRESSION_LENGTH:
        raise refused_at(expression, MAX_EXPRESSION_LENGTH, f"more than {MAX_EXPRESSION_LENGTH} characters")
    compiled = _compiled(expression)
    if isinstance(compiled, Refused):
        # Another one each time: an error that is raised again and again gathers tracebacks.
        raise Refused(compiled.text, code=compiled.code, **compiled.data)
    return compiled


def _compile(expression: str) -> SqlFilter | Refused:
    try:
        truth = parse(expression)
    except Refused as refusal:
        return refusal.with_traceback(None)
    return SqlFilter(expression, truth.evaluate, truth.terms)


_compiled = TextCache(_compile, _MOST_CHARS)
