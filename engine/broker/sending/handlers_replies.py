"""Replies to requests: SEND_REPLY_MESSAGE (324) and SEND_REPLY_MESSAGE_V2 (325).

A reply is pushed to the client that waits for it, over that client's own connection (326), and kept in the
cluster's reply topic for later readers. The sender's answer says whether the reply arrived: a client that is
gone, or does not take it within 10 s, is code 1, whether or not the reply was kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.clients.client_tables import ProducerTable
from engine.broker.sending.admission import Admission, check_disk, check_open, choose_queue
from engine.broker.settings.options import LiveOptions
from engine.broker.stats.traffic import Traffic
from engine.broker.topics.topic_rules import found_topic
from engine.broker.topics.topic_table import TopicTable
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Relay, Reply
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.headers.send import ReplyMessageRequest, SendMessageRequest, decode_send
from engine.protocol.hosts import Host, pack_host
from engine.protocol.message_ids import offset_msg_id
from engine.protocol.names import check_topic
from engine.protocol.properties import Property, decode_properties, encode_properties
from engine.store.log.message_log import MessageLog
from engine.store.results import MessageDraft, PutStatus

_PUSH_MS = 10_000


@dataclass(eq=False, repr=False)
class ReplyHandlers:
    address: Host
    region: str
    topics: TopicTable
    producers: ProducerTable[Connection]
    log: MessageLog
    live: LiveOptions
    admission: Admission
    traffic: Traffic
    now_ms: Callable[[], int]
    draw: Callable[[int], int]
    appended: Callable[[], None]

    def routes(self) -> dict[int, Handler]:
        return dict.fromkeys((RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2), self.send)

    def send(self, request: Command, client: Connection) -> Outcome:
        now_ms = self.now_ms()
        header = decode_send(request.code, request.fields)
        body = bytes(request.body)
        draft = self._draft(header, body, client, now_ms)
        properties = decode_properties(draft.properties.decode())
        client_id = properties.get(Property.REPLY_TO_CLIENT)
        waiting = None if client_id is None else self.producers.channel_of(client_id)

        def finish(answer: Command | None) -> Outcome:
            fields = self._keep(draft)
            if answer is not None and answer.code == ResponseCode.SUCCESS:
                return Reply(fields=fields)
            remark = _failure(client_id, is_connected=waiting is not None)
            return Reply(ResponseCode.SYSTEM_ERROR, remark, fields)

        if waiting is None:
            return finish(None)
        return Relay(waiting, self._push(header, draft, properties, client, now_ms), _PUSH_MS, finish)

    def _draft(
        self, header: SendMessageRequest, body: bytes, client: Connection, now_ms: int
    ) -> MessageDraft:
        """Every refusal comes before the push."""
        check_disk(self.admission.disk)
        check_topic(header.topic)
        check_open(header.topic)
        config = found_topic(self.topics, header.topic)
        draft, _ = self.admission.draft(header, body, header.queue_id, pack_host(client.remote), now_ms)
        return draft._replace(queue_id=choose_queue(config, header.queue_id, self.draw))

    def _push(
        self,
        header: SendMessageRequest,
        draft: MessageDraft,
        properties: dict[str, str],
        client: Connection,
        now_ms: int,
    ) -> Command:
        pushed = ReplyMessageRequest(
            header.producer_group,
            draft.topic,
            header.default_topic,
            header.default_topic_queue_nums,
            draft.queue_id,
            draft.sys_flag,
            draft.born_timestamp,
            draft.flag,
            client.peer_name,
            f"{self.address[0]}:{self.address[1]}",
            now_ms,
            encode_properties({**properties, Property.PUSH_REPLY_TIME: str(now_ms)}),
            draft.reconsume_times,
            header.unit_mode,
        )
        return Command(
            RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, fields=pushed.encode(), body=bytes(draft.body)
        )

    def _keep(self, draft: MessageDraft) -> dict[str, str]:
        """The fields of the answer: where the reply is kept, zeros when it is not."""
        fields = {
            "MSG_REGION": self.region,
            "TRACE_ON": "true" if self.live.trace_on else "false",
            "msgId": "0",
            "queueId": "0",
            "queueOffset": "0",
        }
        if not self.live.store_reply_message_enable:
            return fields
        result = self.log.put(draft, self.now_ms())
        if result.status is not PutStatus.PUT_OK:
            self.traffic.put_failed += 1
            return fields
        self.appended()
        self.traffic.put(draft.topic, 1, result.size)
        fields["msgId"] = offset_msg_id(self.address, result.commit_log_offset)
        fields["queueId"] = str(draft.queue_id)
        fields["queueOffset"] = str(result.queue_offset)
        return fields


def _failure(client_id: str | None, *, is_connected: bool) -> str:
    """Why the reply was not delivered, in RocketMQ's words: people search logs for them."""
    if client_id is None:
        return f"reply message properties[{Property.REPLY_TO_CLIENT}] is null"
    if not is_connected:
        return f"push reply message fail, channel of <{client_id}> not found."
    return f"push reply message to {client_id} fail."
