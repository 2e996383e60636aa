"""Codes that are known and declined: code 3 with the reason of `engine.broker.admin.refused_codes`.

A client that is refused knows that nothing happened: a consumer keeps the message and tries it again itself.
"""

from __future__ import annotations

from engine.broker.admin.refused_codes import REFUSALS
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command


class RefusalHandlers:
    def routes(self) -> dict[int, Handler]:
        return dict.fromkeys(REFUSALS, self.refuse)

    def refuse(self, request: Command, client: Connection) -> Outcome:
        reason = REFUSALS[RequestCode(request.code)]
        text = f"request type {request.code} not supported: {reason}"
        return Reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, text)
