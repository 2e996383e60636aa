"""SQL92 filters: an expression over a message's properties, compiled once and asked per message.

    lexer        text -> tokens with their places
    parser       tokens -> operands, by precedence
    operands     what an expression is made of: a static kind and a closure
    comparisons  = <> < BETWEEN IN CONTAINS …: types are settled when compiling
    logic        AND OR NOT in three values
    places       refusals that point at the place
    filter       `sql_filter(text)`: caps, cache, and the question per message

Rules are RocketMQ's: three-valued logic; a property is a text or missing; a text that is not the number it is
compared with is an error, and an error anywhere that was evaluated means "not matched". Pure.
"""

from __future__ import annotations

from engine.protocol.sql92.filter import SqlFilter, sql_filter

__all__ = ["SqlFilter", "sql_filter"]
