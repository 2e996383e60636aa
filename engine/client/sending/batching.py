"""Many messages in one request: which belong together, and the body that carries them.

The messages of a batch share one topic and one queue; none of them may be delayed. Each has its own unique
key and properties. Bodies are not compressed. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from engine.client.messages import Message
from engine.client.options import ProducerOptions
from engine.client.sending.drafts import Draft, check_body, properties_text
from engine.client.sending.message_keys import MessageKeys
from engine.errors import BadInput
from engine.protocol.batches import BatchItem, encode_batch
from engine.protocol.codes import ResponseCode
from engine.protocol.names import RETRY_PREFIX

MAX_BATCH_MESSAGES = 65_536
"""As many unique keys as a millisecond has."""

_ITEM_OVERHEAD_BYTES = 22


def batch_drafts(
    messages: Sequence[Message], keys: MessageKeys, now_ms: int, waits: bool, options: ProducerOptions
) -> Iterator[Draft]:
    """The requests that these messages take, each at most `max_batch_bytes` long (or one message)."""
    check_batch(messages)
    limit = min(options.max_batch_bytes, options.max_message_bytes)
    items: list[BatchItem] = []
    first = size = 0
    msg_ids = keys.take(len(messages), now_ms)
    for index, message in enumerate(messages):
        body = message.body
        if not 0 < len(body) <= options.max_message_bytes:
            check_body(body, options.max_message_bytes)
        properties = properties_text(message, msg_ids[index], waits).encode()
        item_size = _ITEM_OVERHEAD_BYTES + len(body) + len(properties)
        if size + item_size > limit and items:
            yield _draft(items, msg_ids[first:index], waits)
            items, first, size = [], index, 0
        items.append(BatchItem(message.flag, body, properties))
        size += item_size
    yield _draft(items, msg_ids[first:], waits)


def check_batch(messages: Sequence[Message]) -> None:
    topic = messages[0].topic
    if len(messages) > MAX_BATCH_MESSAGES:
        raise _illegal(f"a batch of {len(messages)} messages, at most {MAX_BATCH_MESSAGES} are accepted")
    for message in messages:
        if message.topic != topic:
            raise _illegal(f"a batch is of one topic, not of {topic} and {message.topic}")
        if message.is_for_later:
            raise _illegal("a delayed message cannot be part of a batch")
    if topic.startswith(RETRY_PREFIX):
        raise _illegal("a batch cannot go to a retry topic")


def _draft(items: list[BatchItem], msg_ids: list[str], waits: bool) -> Draft:
    # No unique key here: brokers up to 5.1 append these properties to those of each message, where the later
    # of two keys counts, and all messages would bear one id.
    wrapper = orjson.dumps(f"WAIT\x01{'true' if waits else 'false'}\x02")
    return Draft(encode_batch(items), wrapper, 0, 0, ",".join(msg_ids))


def _illegal(text: str) -> BadInput:
    return BadInput(text, code=ResponseCode.MESSAGE_ILLEGAL)
