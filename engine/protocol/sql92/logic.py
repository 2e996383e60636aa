"""AND, OR, NOT and IS NULL in three values. Chains are flat, so that a long one is not a deep one."""

from __future__ import annotations

from collections.abc import Sequence

from engine.protocol.sql92.operands import Evaluate, Operand, Properties, ValueKind


def truth(evaluate: Evaluate, parts: Sequence[Operand], position: int) -> Operand:
    """An operand that is true, false or unknown, made of others."""
    depth = 1 + max(part.depth for part in parts)
    return Operand(ValueKind.TRUTH, evaluate, position, depth=depth, terms=sum(part.terms for part in parts))


def all_of(parts: Sequence[Operand]) -> Operand:
    tests = tuple(part.evaluate for part in parts)

    def evaluate(properties: Properties) -> bool | None:
        result: bool | None = True
        for test in tests:
            value = test(properties)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    return truth(evaluate, parts, parts[0].position)


def any_of(parts: Sequence[Operand]) -> Operand:
    tests = tuple(part.evaluate for part in parts)

    def evaluate(properties: Properties) -> bool | None:
        result: bool | None = False
        for test in tests:
            value = test(properties)
            if value is True:
                return True
            if value is None:
                result = None
        return result

    return truth(evaluate, parts, parts[0].position)


def negation(part: Operand, position: int) -> Operand:
    test = part.evaluate

    def evaluate(properties: Properties) -> bool | None:
        value = test(properties)
        return None if value is None else not value

    return truth(evaluate, (part,), position)


def is_null(part: Operand, *, negated: bool) -> Operand:
    value = part.evaluate
    if negated:
        return truth(lambda properties: value(properties) is not None, (part,), part.position)
    return truth(lambda properties: value(properties) is None, (part,), part.position)


def as_truth(part: Operand) -> Operand:
    """A bare property is true when its text is "true", whatever the case; unknown when it is missing."""
    if part.kind is not ValueKind.PROPERTY:
        return part
    value = part.evaluate

    def evaluate(properties: Properties) -> bool | None:
        text = value(properties)
        return None if text is None else text.lower() == "true"

    return truth(evaluate, (part,), part.position)
