"""Admission of a send: every rule in one place, and the properties that are stored. Pure.

A refusal is decided before the append and means "not stored, and never will be". The order of the checks is
RocketMQ's (accepting yet? broker closed? name, forbidden topic, existence, queue id, then what the store
allows).

`StoredProperties` adds MSG_REGION, TRACE_ON and CLUSTER, and a UNIQ_KEY when there is none; POP_CK is taken
out. The text is appended to rather than parsed, because all of this is on the hot path; a message that
already carries the broker's own names (one that was consumed and sent on) is parsed, so that they do not
pile up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.errors import NotPermitted, Refused
from engine.protocol.batches import BatchItem
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.codes import ResponseCode
from engine.protocol.names import is_retry_topic
from engine.protocol.properties import PAIR_END, Property, decode_properties, encode_properties, find_property
from engine.protocol.records import MAX_PROPERTIES_BYTES
from engine.protocol.sys_flags import INNER_BATCH, NEED_UNWRAP, TRANSACTION_MASK, TRANSACTION_PREPARED

_UNUSUAL_BITS = TRANSACTION_MASK | INNER_BATCH | NEED_UNWRAP
_TIMER_PROPERTIES = (Property.TIMER_DELAY_SEC, Property.TIMER_DELAY_MS, Property.TIMER_DELIVER_MS)


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
    """Refuse what this version cannot keep its promise for: it must not become an ordinary message. True:
    the message may have to wait in a system topic (`parking` decides)."""
    if sys_flag & _UNUSUAL_BITS:
        _check_bits(sys_flag, properties)
    # Three looks for parts of names: an ordinary message has none, and that is all it takes.
    return "TRAN_MSG" in properties or "DELAY" in properties or "TIMER_" in properties


def is_transactional(properties: str) -> bool:
    return (find_property(properties, Property.TRAN_MSG) or "").lower() == "true"


def _check_bits(sys_flag: int, properties: str) -> None:
    if sys_flag & (INNER_BATCH | NEED_UNWRAP):
        raise illegal("inner batches are not supported by this version")
    if sys_flag & TRANSACTION_MASK != TRANSACTION_PREPARED or not is_transactional(properties):
        raise illegal("the transaction bits of sysFlag and the property TRAN_MSG contradict each other")


def _check_batch_item(properties: str) -> None:
    if any(find_property(properties, name) is not None for name in (Property.DELAY, *_TIMER_PROPERTIES)):
        raise illegal("a message of a batch cannot be delayed")
    if is_transactional(properties):
        raise illegal("a message of a batch cannot be transactional")


def check_batch_kinds(items: Iterable[BatchItem]) -> None:
    """For a batch that has marks of such kinds (`_batches_cy.Batch`)."""
    for item in items:
        if check_kind(0, item.properties_text):
            _check_batch_item(item.properties_text)


def check_batch_topic(topic: str) -> None:
    if is_retry_topic(topic):
        raise illegal("a batch cannot be sent to a retry topic")


def no_transactions() -> NotPermitted:
    return NotPermitted("the broker takes no transactional messages (rejectTransactionMessage=true)")


def closed_topic(topic: str) -> NotPermitted:
    return NotPermitted(f"Sending message to topic[{topic}] is forbidden.")


def large_body(size_bytes: int, max_message_size: int) -> Refused:
    return illegal(f"message body size {size_bytes} exceeds maxMessageSize {max_message_size}")


def large_properties(size_bytes: int) -> Refused:
    return illegal(f"message properties of {size_bytes} bytes, at most {MAX_PROPERTIES_BYTES} are stored")


def illegal(text: str) -> Refused:
    return Refused(text, code=ResponseCode.MESSAGE_ILLEGAL)


def not_accepting(accept_from_ms: int) -> Refused:
    return Refused(f"broker unable to service, until {accept_from_ms}")


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
        """What is added to every message, by whether it may be traced."""
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
