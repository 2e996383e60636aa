"""Answers of peers: success is insisted upon, anything else becomes a PeerError with its code and remark."""

from __future__ import annotations

from engine.errors import PeerError
from engine.protocol.codes import ResponseCode
from engine.protocol.commands import Command


def peer_error(answer: Command) -> PeerError:
    return PeerError(f"{code_name(answer.code)}: {answer.remark or 'no remark'}", code=answer.code)


def insist(answer: Command) -> Command:
    """The answer itself if it says success."""
    if answer.code != ResponseCode.SUCCESS:
        raise peer_error(answer)
    return answer


def code_name(code: int) -> str:
    try:
        return f"{ResponseCode(code).name} ({code})"
    except ValueError:
        return f"code {code}"
