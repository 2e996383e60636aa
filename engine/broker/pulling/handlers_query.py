"""Looking up single messages: 12 by key through the index, 33 by commit-log offset.

These records are probably not in memory: reads are planned on the loop and run in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.access.gate import RecordCheck, unchecked
from engine.access.resources import Action
from engine.broker.settings.options import LiveOptions
from engine.broker.transactions.half_messages import topic_of
from engine.errors import NotFound
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Outcome, Reply
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.pull import (
    FROM_THE_NEWEST,
    QueryMessageRequest,
    QueryMessageResponse,
    ViewMessageRequest,
)
from engine.protocol.names import check_topic
from engine.protocol.records import decode_record
from engine.store.log.message_log import MessageLog
from engine.store.reading.message_search import MessageSearch
from engine.store.results import QueryResult

_MAX_FOUND = 64
"""RocketMQ's maxMsgsNumBatch."""


@dataclass(eq=False, repr=False)
class QueryHandlers:
    log: MessageLog
    search: MessageSearch
    live: LiveOptions
    check_record: RecordCheck = unchecked

    def routes(self) -> dict[int, Handler]:
        return {RequestCode.QUERY_MESSAGE: self.query, RequestCode.VIEW_MESSAGE_BY_ID: self.view}

    def query(self, request: Command, client: Connection) -> Outcome:
        """Records with the key asked for; a request with a continuation gets the next one."""
        header = QueryMessageRequest.decode(request.fields)
        check_topic(header.topic)
        wanted = self.live.default_query_max_num if header.unique_key_query else header.max_num
        search = self.search.plan(
            header.topic,
            header.key,
            max(0, min(wanted, _MAX_FOUND)),
            header.begin_timestamp,
            header.end_timestamp,
            None if header.continuation == FROM_THE_NEWEST else header.continuation,
        )
        found: list[QueryResult] = []

        def read() -> bytes:
            found.append(search.run())
            return b"".join(found[0].records)

        return ColdRead(read, lambda body: _found(header, found[0], body))

    def view(self, request: Command, client: Connection) -> Outcome:
        header = ViewMessageRequest.decode(request.fields)
        read = self.log.plan_record(header.offset)

        def finish(record: bytes) -> Reply:
            if not record:
                text = f"can not find message by the offset, {header.offset}"
                raise NotFound(text, code=ResponseCode.SYSTEM_ERROR)
            self.check_record(request, client, topic_of(decode_record(record)), Action.GET)
            return Reply(body=record)

        return ColdRead(lambda: read() or b"", finish)


def _found(header: QueryMessageRequest, found: QueryResult, body: bytes) -> Reply:
    following = found.continuation if header.continuation is not None else None
    fields = QueryMessageResponse(
        found.index_last_update_timestamp, found.index_last_update_phyoffset, following
    ).encode()
    if not body and following is None:
        text = "can not find message, maybe time range not correct"
        return Reply(ResponseCode.QUERY_NOT_FOUND, text, fields)
    return Reply(fields=fields, body=body)
