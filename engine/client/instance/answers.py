"""Answers of brokers and name servers: those of one request, and those of several sent at once.

An answer whose code is not 0 becomes a PeerError with its code and remark.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from engine.errors import EngineError, PeerError
from engine.protocol.codes import ResponseCode
from engine.protocol.commands import Command

R = TypeVar("R")


def peer_error(answer: Command) -> PeerError:
    return PeerError(f"{code_name(answer.code)}: {answer.remark or 'no remark'}", code=answer.code)


def check_answer(answer: Command) -> Command:
    """The answer itself if its code is 0; raises PeerError otherwise."""
    if answer.code != ResponseCode.SUCCESS:
        raise peer_error(answer)
    return answer


async def unless_absent(call: Awaitable[R]) -> R | None:
    """The result of the call; None when the answer is QUERY_NOT_FOUND (22)."""
    try:
        return await call
    except PeerError as error:
        if error.code == ResponseCode.QUERY_NOT_FOUND:
            return None
        raise


def code_name(code: int) -> str:
    try:
        return f"{ResponseCode(code).name} ({code})"
    except ValueError:
        return f"code {code}"


async def outcomes_of(calls: Iterable[Awaitable[R]]) -> list[R | EngineError]:
    """The result or the EngineError of each call; any other exception is raised once all have ended."""
    outcomes: list[R | EngineError] = []
    for outcome in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(outcome, BaseException) and not isinstance(outcome, EngineError):
            raise outcome
        outcomes.append(outcome)
    return outcomes


async def all_of(calls: Iterable[Awaitable[R]]) -> list[R]:
    """The result of each call; the first failure is raised once all have ended."""
    results: list[R] = []
    for outcome in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results
