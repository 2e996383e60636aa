"""Fast path for ordinary sends by SEND_MESSAGE_V2 (310), which is nearly every send.

It refuses nothing and creates nothing: whatever is not plain (an unknown topic, a flag, a delay, a full disk,
a request that waited too long) goes to the ordinary handler, which alone has the refusals. What it stores and
answers is what the ordinary handler would (a test compares them), so it may be left out at any time. It is
used only where no answer waits for the disk or a slave.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.broker.sending.admission import is_closed
from engine.broker.sending.handlers import SendHandlers
from engine.net.connection import Connection
from engine.net.outcomes import Handler, Outcome, Reply
from engine.protocol._sends_cy import AnswerParts, PlainSend
from engine.protocol.bodies.topics import PERM_READ_WRITE, TopicConfig, TopicFilterType
from engine.protocol.codes import RequestCode
from engine.protocol.commands import JSON_HEADER, Command, encode_reply
from engine.protocol.frames import PREFIX_SIZE
from engine.protocol.hosts import pack_host

_MAX_TOPICS = 200_000
"""Twice what a broker is built for, so that topics in use are not forgotten and learned again."""
_OPAQUE = 1_234_567_890
_Known = tuple[TopicConfig, bool, PlainSend]
"""Valid as long as the topic has this configuration object and tracing is unchanged."""


@dataclass(eq=False, repr=False)
class PlainSendHandlers(SendHandlers):
    _known: dict[str, _Known] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._answers = {flag: _answer_parts(self._id_prefix, self.region, flag) for flag in (True, False)}
        self._senders = self.traffic.senders

    def routes(self) -> dict[int, Handler]:
        return super().routes() | {RequestCode.SEND_MESSAGE_V2: self.send_plain}

    def send_plain(self, request: Command, client: Connection) -> Outcome:
        live, topics, fields, body = self.live, self.topics, request.fields, request.body
        topic = fields.get("b", "")
        config = topics.get(topic)
        known = self._known.get(topic)
        if known is None or known[0] is not config or known[1] is not live.trace_on:
            known = self._learn(topic, config, live.trace_on)
        now_ms = self.now_ms()
        if (
            known is None
            or topic in topics.unsaved
            or type(body) is not bytes
            or len(body) > live.max_message_size
            or request.serialize_type != JSON_HEADER
            or live.broker_permission != PERM_READ_WRITE
            or self.admission.refusal(client.read_at, client.last_read_at, now_ms) is not None
        ):
            return self.send(request, client)
        born_host = pack_host(client.remote)
        stored = self.store.put_plain(known[2], fields, body, request.opaque, born_host, now_ms)
        if stored is None:
            return self.send(request, client)
        answer, size = stored
        self.appended()
        self.traffic.put(topic, 1, size)
        self._senders.note(topic, fields.get("a", ""), now_ms)
        return answer

    def _learn(self, topic: str, config: TopicConfig | None, trace_on: bool) -> _Known | None:
        """What plain sends to the topic have in common; None when sends to it are never plain."""
        if (
            config is None
            or config.topic_filter_type is not TopicFilterType.SINGLE_TAG
            or topic.startswith("%")
            or is_closed(topic)
        ):
            return None
        if len(self._known) >= _MAX_TOPICS:
            self._known.clear()
        plain = PlainSend(
            topic,
            config.write_queue_nums,
            self.store_host,
            self.admission.properties.suffixes[trace_on],
            self._answers[trace_on],
        )
        self._known[topic] = known = config, trace_on, plain
        return known


def _answer_parts(id_prefix: str, region: str, trace_on: bool) -> AnswerParts:
    """An answer of the ordinary encoder, split at the values that differ from send to send."""
    fields = {
        "MSG_REGION": region,
        "TRACE_ON": "true" if trace_on else "false",
        "msgId": f"{id_prefix}<place>",
        "queueId": "<queue>",
        "queueOffset": "<number>",
        "transactionId": "<key>",
    }
    request = Command(RequestCode.SEND_MESSAGE_V2, opaque=_OPAQUE)
    rest = encode_reply(request, Reply(0, None, fields))[PREFIX_SIZE:]
    parts: list[bytes] = []
    for mark in (b"<place>", b"<queue>", b"<number>", b"<key>", b"%d" % _OPAQUE):
        part, _, rest = rest.partition(mark)
        parts.append(part)
    first, second, third, fourth, fifth = parts
    return first, second, third, fourth, fifth, rest
