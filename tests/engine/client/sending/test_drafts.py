"""Batches: what belongs together and how it is cut."""

from __future__ import annotations

import pytest

from engine.client.messages import Message
from engine.client.options import ProducerOptions
from engine.client.sending.drafts import MessageKeys, batch_drafts
from engine.errors import BadInput
from engine.protocol.batches import decode_batch
from engine.protocol.properties import decode_properties

KEYS = MessageKeys("127.0.0.1", 1, 2)


def drafts(messages: list[Message], limit: int = 1000) -> list[list[bytes]]:
    options = ProducerOptions(max_batch_bytes=limit)
    return [
        [item.body for item in decode_batch(draft.body)]
        for draft in batch_drafts(messages, KEYS, 5, True, options)
    ]


def test_a_small_batch_is_one_request() -> None:
    assert drafts([Message("t", b"a"), Message("t", b"b")]) == [[b"a", b"b"]]


def test_a_batch_is_cut_at_the_limit_and_keeps_its_order() -> None:
    messages = [Message("t", b"%d" % number * 200) for number in range(7)]
    parts = drafts(messages, limit=700)
    assert [len(part) for part in parts] == [2, 2, 2, 1]
    assert [body for part in parts for body in part] == [message.body for message in messages]


def test_a_message_larger_than_the_limit_travels_alone() -> None:
    parts = drafts([Message("t", b"a"), Message("t", b"b" * 5000), Message("t", b"c")], limit=100)
    assert [len(part) for part in parts] == [1, 1, 1]


def test_each_message_has_its_own_key_and_properties() -> None:
    messages = [Message("t", b"a", tags="x", keys=["k1", "k2"]), Message("t", b"b", properties={"p": "v"})]
    (draft,) = batch_drafts(messages, KEYS, 5, True, ProducerOptions())
    first, second = (decode_properties(item.properties_text) for item in decode_batch(draft.body))
    assert (first["TAGS"], first["KEYS"], second["p"]) == ("x", "k1 k2", "v")
    assert draft.msg_id.split(",") == [first["UNIQ_KEY"], second["UNIQ_KEY"]]
    assert first["UNIQ_KEY"] != second["UNIQ_KEY"]


@pytest.mark.parametrize(
    "messages",
    [
        [Message("t", b"a"), Message("u", b"b")],
        [Message("t", b"a", delay_level=1)],
        [Message("%RETRY%g", b"a")],
        [Message("t", b"a"), Message("t", b"")],
    ],
    ids=["topics", "delayed", "retry", "empty"],
)
def test_what_cannot_be_a_batch_is_refused(messages: list[Message]) -> None:
    with pytest.raises(BadInput):
        drafts(messages)


def test_keys_never_repeat() -> None:
    keys = MessageKeys("127.0.0.1", 1, 2)
    made = [keys.next(ms) for ms in (7, 7, 8, 7, 9) for _ in range(1000)]
    assert len(set(made)) == len(made)
    assert all(len(key) == 32 for key in made)
