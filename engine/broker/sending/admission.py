"""Admission of a send: every rule in one place, and the properties that are stored. Pure.

A refusal is decided before the append and means "not stored, and never will be". `Admission` holds the checks
that ordinary sends, plain ones and replies share; the functions below it are single rules. The order of the
checks is RocketMQ's (accepting yet? broker closed? name, forbidden topic, existence, queue id, then what the
store allows).

`StoredProperties` adds MSG_REGION, TRACE_ON and CLUSTER, and a UNIQ_KEY when there is none; POP_CK is taken
out. The text is appended to rather than parsed, because all of this is on the hot path; a message that
already carries the broker's own names (one that was consumed and sent on) is parsed, so that they do not
pile up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.broker.delivery.delay_levels import TIMER_REQUESTS
from engine.broker.settings.options import LiveOptions
from engine.broker.stats.put_times import Appends
from engine.broker.storage.disk_room import DiskRoom
from engine.errors import NotPermitted, Refused
from engine.protocol.batches import BatchItem
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import ResponseCode
from engine.protocol.commands import Buffer
from engine.protocol.headers.send import SendMessageRequest
from engine.protocol.names import REVIVE_TOPIC_PREFIX, SEND_FORBIDDEN_TOPICS
from engine.protocol.properties import PAIR_END, Property, decode_properties, encode_properties, find_property
from engine.protocol.record_layout import MAX_PROPERTIES_BYTES
from engine.protocol.sys_flags import INNER_BATCH, NEED_UNWRAP, TRANSACTION_MASK, TRANSACTION_PREPARED
from engine.store.results import MessageDraft, PutResult, PutStatus

_UNUSUAL_BITS = TRANSACTION_MASK | INNER_BATCH | NEED_UNWRAP


@dataclass(eq=False, repr=False, slots=True)
class Admission:
    live: LiveOptions
    disk: DiskRoom
    store: Appends
    properties: StoredProperties
    waited_ms: Callable[[float, float], float]

    def refusal(self, read_at: float, last_read_at: float, now_ms: int) -> Refused | PutResult | None:
        """Why this send is refused before its header is read; None: it is accepted so far.

        A store that accepts nothing is the reason however long the send waited: after "busy", clients would
        retry on this broker.
        """
        live = self.live
        if not self.disk.is_writable:
            return disk_full(self.disk.usage_ratio)
        if live.broker_fast_failure_enable:
            waited_ms = self.waited_ms(read_at, last_read_at)
            if waited_ms > live.wait_time_mills_in_send_queue:
                return self.store.refusal or busy(waited_ms)
        if now_ms < live.start_accept_send_request_time_stamp:
            return Refused(f"broker unable to service, until {live.start_accept_send_request_time_stamp}")
        return None

    def draft(
        self, header: SendMessageRequest, body: Buffer, queue_id: int, born_host: bytes, now_ms: int
    ) -> tuple[MessageDraft, str]:
        """The message to store, and its unique key."""
        live = self.live
        if len(body) > live.max_message_size:
            raise illegal(f"message body size {len(body)} exceeds maxMessageSize {live.max_message_size}")
        properties, unique_key = self.properties.extend(header.properties or "", live.trace_on, now_ms)
        if len(properties) > MAX_PROPERTIES_BYTES:
            raise illegal(
                f"message properties of {len(properties)} bytes, at most {MAX_PROPERTIES_BYTES} are stored"
            )
        draft = MessageDraft(
            header.topic,
            queue_id,
            header.flag,
            header.sys_flag,
            header.born_timestamp,
            born_host,
            header.reconsume_times or 0,
            0,
            body,
            properties,
        )
        return draft, unique_key


def is_closed(topic: str) -> bool:
    """Whether only the broker itself may write to the topic."""
    return topic in SEND_FORBIDDEN_TOPICS or topic.startswith(REVIVE_TOPIC_PREFIX)


def check_open(topic: str) -> None:
    if is_closed(topic):
        raise NotPermitted(f"Sending message to topic[{topic}] is forbidden.")


def check_disk(disk: DiskRoom) -> None:
    if not disk.is_writable:
        raise disk_full(disk.usage_ratio)


def check_stored(result: PutResult, code: int = ResponseCode.SYSTEM_ERROR) -> None:
    if result.status is not PutStatus.PUT_OK:
        raise not_stored(result, code)


def not_stored(result: PutResult, code: int = ResponseCode.SYSTEM_ERROR) -> Refused:
    """The store did not accept the message."""
    return Refused(result.remark or f"the message was not stored: {result.status.value}", code=code)


def choose_queue(config: TopicConfig, queue_id: int, draw: Callable[[int], int]) -> int:
    """The queue to write; a negative id lets the broker choose (`draw(n)` gives a number below n)."""
    if 0 <= queue_id < config.write_queue_nums or 0 <= queue_id < config.read_queue_nums:
        return queue_id
    if queue_id < 0 and config.write_queue_nums > 0:
        return draw(config.write_queue_nums)
    raise Refused(
        f"request queueId[{queue_id}] is illegal, {config.topic_name} has "
        f"{config.write_queue_nums} write and {config.read_queue_nums} read queues",
        code=ResponseCode.INVALID_PARAMETER,
    )


def check_kind(sys_flag: int, properties: str) -> bool:
    """Refuse kinds of messages that this version does not support: they must not become ordinary messages.
    True: the message may have to wait in a system topic (`Parking` decides)."""
    if sys_flag & _UNUSUAL_BITS:
        _check_bits(sys_flag, properties)
    # Parts of property names, so that ordinary messages cost three substring searches.
    return "TRAN_MSG" in properties or "DELAY" in properties or "TIMER_" in properties


def is_transactional(properties: str) -> bool:
    return (find_property(properties, Property.TRAN_MSG) or "").lower() == "true"


def _check_bits(sys_flag: int, properties: str) -> None:
    if sys_flag & (INNER_BATCH | NEED_UNWRAP):
        raise illegal("inner batches are not supported by this version")
    if sys_flag & TRANSACTION_MASK != TRANSACTION_PREPARED or not is_transactional(properties):
        raise illegal("the transaction bits of sysFlag and the property TRAN_MSG contradict each other")


def _check_batch_item(properties: str) -> None:
    if any(find_property(properties, name) is not None for name in (Property.DELAY, *TIMER_REQUESTS)):
        raise illegal("a message of a batch cannot be delayed")
    if is_transactional(properties):
        raise illegal("a message of a batch cannot be transactional")


def check_batch_kinds(items: Iterable[BatchItem]) -> None:
    """For a batch in which `_batches_cy.Batch` found names of such properties."""
    for item in items:
        if check_kind(0, item.properties_text):
            _check_batch_item(item.properties_text)


def illegal(text: str) -> Refused:
    return Refused(text, code=ResponseCode.MESSAGE_ILLEGAL)


def busy(waited_ms: float) -> Refused:
    return Refused(
        f"[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, waited {waited_ms:.0f}ms",
        code=ResponseCode.SYSTEM_BUSY,
    )


def disk_full(usage_ratio: float) -> Refused:
    return Refused(
        f"service not available now: the disk is {usage_ratio:.0%} full, messages can still be read",
        code=ResponseCode.SERVICE_NOT_AVAILABLE,
    )


class StoredProperties:
    """`extend(text, trace_on, now_ms) -> (bytes to store, unique key)`."""

    def __init__(self, cluster: str, region: str, make_unique_key: Callable[[int], str]) -> None:
        self._added = {Property.MSG_REGION: region, Property.CLUSTER: cluster}
        self.suffixes = {flag: self._suffix(flag) for flag in (True, False)}
        """What is added to every message, by whether tracing is on."""
        self._make_unique_key = make_unique_key

    def _suffix(self, trace_on: bool) -> bytes:
        return encode_properties({**self._added, Property.TRACE_ON: "true" if trace_on else "false"}).encode()

    def extend(self, text: str, trace_on: bool, now_ms: int) -> tuple[bytes, str]:
        if "CLUSTER\x01" in text or "POP_CK\x01" in text:
            text = self._without_ours(text)
        if text and text[-1] != PAIR_END:
            text += PAIR_END
        unique_key = find_property(text, Property.UNIQ_KEY)
        if unique_key is None:
            unique_key = self._make_unique_key(now_ms)
            text = f"{text}UNIQ_KEY\x01{unique_key}\x02"
        return text.encode() + self.suffixes[trace_on], unique_key

    def _without_ours(self, text: str) -> str:
        kept = decode_properties(text)
        for name in (*self._added, Property.TRACE_ON, Property.POP_CK):
            kept.pop(name, None)
        return encode_properties(kept)
