"""Looking up single messages: 12 by key through the index, 33 by commit-log offset."""

from __future__ import annotations

from engine.broker.options import LiveOptions
from engine.errors import NotFound
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.query import (
    FROM_THE_NEWEST,
    QueryMessageRequest,
    QueryMessageResponse,
    ViewMessageRequest,
)
from engine.protocol.names import check_topic
from engine.store.message_store import MessageStore

_MAX_FOUND = 64
"""RocketMQ's maxMsgsNumBatch."""


class QueryHandlers:
    def __init__(self, store: MessageStore, live: LiveOptions) -> None:
        self._store = store
        self._live = live

    def routes(self) -> dict[int, Handler]:
        return {RequestCode.QUERY_MESSAGE: self.query, RequestCode.VIEW_MESSAGE_BY_ID: self.view}

    def query(self, request: Command, client: Connection) -> Outcome:
        """Records with the key asked for. Who sends a continuation gets one back while there may be more."""
        header = QueryMessageRequest.decode(request.fields)
        check_topic(header.topic)
        wanted = self._live.default_query_max_num if header.unique_key_query else header.max_num
        found = self._store.query(
            header.topic,
            header.key,
            max(0, min(wanted, _MAX_FOUND)),
            header.begin_timestamp,
            header.end_timestamp,
            None if header.continuation == FROM_THE_NEWEST else header.continuation,
        )
        following = found.continuation if header.continuation is not None else None
        fields = QueryMessageResponse(
            found.index_last_update_timestamp, found.index_last_update_phyoffset, following
        ).encode()
        if not found.records and following is None:
            text = "can not find message, maybe time range not correct"
            return Reply(ResponseCode.QUERY_NOT_FOUND, text, fields)
        return Reply(fields=fields, body=b"".join(found.records))

    def view(self, request: Command, client: Connection) -> Outcome:
        header = ViewMessageRequest.decode(request.fields)
        record = self._store.raw_record_at(header.offset)
        if record is None:
            raise NotFound(
                f"can not find message by the offset, {header.offset}", code=ResponseCode.SYSTEM_ERROR
            )
        return Reply(body=record)
