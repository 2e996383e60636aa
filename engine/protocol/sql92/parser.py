"""Recursive descent over RocketMQ's grammar, weakest first:

    OR · AND · = <> IS [NOT] NULL · > >= < <= [NOT] BETWEEN, IN, CONTAINS, STARTSWITH, ENDSWITH
       · + - NOT · literal, property, ( … )

What follows a complete expression is not looked at, save its first token. Nesting and the number of terms are
capped: both closures and this parser recurse, and every term is paid for by every message.
"""

from __future__ import annotations

from engine.errors import Refused
from engine.protocol.sql92 import comparisons, logic, operands
from engine.protocol.sql92.lexer import Kind, Token, tokens
from engine.protocol.sql92.operands import Operand, ValueKind
from engine.protocol.sql92.places import refused_at

MAX_DEPTH = 64
MAX_TERMS = 512

_TRUTHS = {"TRUE": True, "FALSE": False, "NULL": None}


def parse(text: str) -> Operand:
    """The whole expression as one truth, or Refused with the place."""
    return _Parser(text).expression()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._token = next(self._tokens)
        self._depth = 0
        self._terms = 0

    def expression(self) -> Operand:
        return self._truth(self._any())

    # -- tokens ---------------------------------------------------------------------------------------------

    def _refused(self, position: int, why: str) -> Refused:
        return refused_at(self._text, position, why)

    def _unexpected(self, wanted: str, token: Token | None = None) -> Refused:
        token = token or self._token
        found = token.kind.value if token.kind is Kind.END else repr(token.text)
        return self._refused(token.position, f"{wanted} expected, {found:.60} found")

    def _take(self) -> Token:
        token = self._token
        self._token = next(self._tokens, token)
        return token

    def _is(self, *texts: str) -> bool:
        return self._token.kind in (Kind.KEYWORD, Kind.SIGN) and self._token.text in texts

    def _skip(self, text: str) -> bool:
        if self._is(text):
            self._take()
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._skip(text):
            raise self._unexpected(text)

    def _string(self) -> str:
        if self._token.kind is not Kind.STRING:
            raise self._unexpected("a text in quotes")
        return self._take().text

    # -- by precedence --------------------------------------------------------------------------------------

    def _any(self) -> Operand:
        first = self._all()
        if not self._is("OR"):
            return first
        parts = [self._truth(first)]
        while self._skip("OR"):
            parts.append(self._truth(self._all()))
        return self._made(logic.any_of(parts))

    def _all(self) -> Operand:
        first = self._equality()
        if not self._is("AND"):
            return first
        parts = [self._truth(first)]
        while self._skip("AND"):
            parts.append(self._truth(self._equality()))
        return self._made(logic.all_of(parts))

    def _equality(self) -> Operand:
        left = self._comparison()
        while self._is("=", "<>", "IS"):
            sign = self._take()
            if sign.text == "IS":
                negated = self._skip("NOT")
                self._expect("NULL")
                left = self._made(logic.is_null(left, negated=negated))
            else:
                right = self._comparison()
                self._check_equality(left, right)
                left = self._made(comparisons.equality(left, right, negated=sign.text == "<>"))
        return left

    def _comparison(self) -> Operand:
        left = self._unary()
        while True:
            if self._is(*comparisons.ORDERINGS):
                sign = self._take().text
                right = self._unary()
                self._check_order(left, right)
                left = self._made(comparisons.ordering(left, sign, right))
            elif self._is("NOT", "BETWEEN", "IN", *comparisons.TEXT_TESTS):
                left = self._made(self._worded(left))
            else:
                return left

    def _worded(self, left: Operand) -> Operand:
        start = self._token
        negated = self._skip("NOT")
        if self._skip("BETWEEN"):
            return self._between(left, negated)
        if self._is(*comparisons.TEXT_TESTS):
            keyword = self._take().text
            return comparisons.text_test(left, keyword, self._string(), negated=negated)
        if self._skip("IN"):
            return self._membership(left, negated)
        raise self._unexpected("an operator", start)

    def _between(self, value: Operand, negated: bool) -> Operand:
        low = self._unary()
        self._expect("AND")
        high = self._unary()
        self._check_order(value, low)
        self._check_order(value, high)
        are_constant = low.is_constant and high.is_constant
        if are_constant and not negated and low.constant > high.constant:
            raise self._refused(low.position, "BETWEEN needs the smaller bound first; the larger one found")
        return comparisons.between(value, low, high, negated=negated)

    def _membership(self, left: Operand, negated: bool) -> Operand:
        if left.name is None:
            raise self._refused(left.position, "IN needs a property on its left; something else found")
        self._expect("(")
        wanted = {self._string()}
        while self._skip(","):
            wanted.add(self._string())
        self._expect(")")
        return comparisons.membership(left, frozenset(wanted), negated=negated)

    def _unary(self) -> Operand:
        self._enter()
        position = self._token.position
        if self._skip("NOT"):
            made = logic.negation(self._truth(self._unary()), position)
        elif self._skip("-"):
            made = operands.negative(self._unary(), position)
        elif self._skip("+"):
            made = self._unary()
        else:
            made = self._primary()
        self._depth -= 1
        return self._made(made)

    def _primary(self) -> Operand:
        if self._is("("):
            self._take()
            inside = self._any()
            self._expect(")")
            return inside
        return self._term()

    def _term(self) -> Operand:
        token = self._token
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise self._refused(token.position, f"more than {MAX_TERMS} terms")
        if token.kind is Kind.WORD:
            return operands.property_named(self._take().text, token.position)
        if token.kind is Kind.STRING:
            return operands.constant(ValueKind.TEXT, self._take().text, token.position)
        if token.kind in (Kind.DECIMAL, Kind.FLOAT):
            return self._number(self._take())
        if self._is(*_TRUTHS):
            return operands.constant(ValueKind.TRUTH, _TRUTHS[self._take().text], token.position)
        raise self._unexpected("a property or a literal")

    def _number(self, token: Token) -> Operand:
        if token.kind is Kind.FLOAT:
            value = float(token.text)
            if value != float("inf"):
                return operands.constant(ValueKind.DOUBLE, value, token.position)
        else:
            try:
                return operands.whole_number(token.text, token.position)
            except ValueError:
                pass
        raise self._refused(token.position, "a number that is too large")

    # -- rules ----------------------------------------------------------------------------------------------

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._too_deep(self._token.position)

    def _made(self, operand: Operand) -> Operand:
        if operand.depth > MAX_DEPTH:
            raise self._too_deep(operand.position)
        return operand

    def _too_deep(self, position: int) -> Refused:
        return self._refused(position, f"more than {MAX_DEPTH} levels of nesting")

    def _truth(self, operand: Operand) -> Operand:
        if operand.kind is not ValueKind.TRUTH and operand.name is None:
            raise self._refused(operand.position, "a condition expected, a plain value found")
        return logic.as_truth(operand)

    def _check_order(self, *sides: Operand) -> None:
        for side in sides:
            if comparisons.cannot_be_ordered(side):
                raise self._refused(side.position, "only numbers have an order; something else found")

    def _check_equality(self, left: Operand, right: Operand) -> None:
        for side in (left, right):
            if side.is_constant and side.constant is None:
                raise self._refused(side.position, "NULL cannot be compared, use IS NULL; NULL found")
        is_truth = left.is_constant and left.kind is ValueKind.TRUTH
        if is_truth and right.is_constant and right.kind is not ValueKind.TRUTH:
            raise self._refused(right.position, "TRUE or FALSE expected, another literal found")
