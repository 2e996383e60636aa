"""What this version refuses in words: send-backs, transactions, replies, recalls (36, 37, 324, 325, 370).

A client that is refused knows that nothing happened: a consumer keeps the message and tries it again itself.
"""

from __future__ import annotations

from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command

REFUSED = {
    RequestCode.CONSUMER_SEND_MSG_BACK: "delayed redelivery (CONSUMER_SEND_MSG_BACK)",
    RequestCode.END_TRANSACTION: "transactional messages (END_TRANSACTION)",
    RequestCode.SEND_REPLY_MESSAGE: "request-reply (SEND_REPLY_MESSAGE)",
    RequestCode.SEND_REPLY_MESSAGE_V2: "request-reply (SEND_REPLY_MESSAGE_V2)",
    RequestCode.RECALL_MESSAGE: "timed messages (RECALL_MESSAGE)",
}


class LaterHandlers:
    def routes(self) -> dict[int, Handler]:
        return dict.fromkeys(REFUSED, self.refuse)

    def refuse(self, request: Command, client: Connection) -> Outcome:
        what = REFUSED[RequestCode(request.code)]
        return Reply(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f"{what} is not supported by this version yet")
