"""The columns of a message, and what a topic says of its messages."""

from __future__ import annotations

import pytest

from engine.errors import BadInput
from spark import schemas


def test_no_choice_gives_every_column() -> None:
    assert schemas.chosen_columns(None) == schemas.chosen_columns(" ") == schemas.COLUMNS
    assert schemas.message_schema().fieldNames() == list(schemas.COLUMNS)


def test_a_choice_keeps_the_order_of_the_table() -> None:
    assert schemas.chosen_columns("size, topic ,size") == ("topic", "size")
    assert schemas.message_schema(("topic", "size")).simpleString() == "struct<topic:string,size:int>"


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(BadInput, match=r"no such column: msgid \(there are cluster, "):
        schemas.chosen_columns("topic,msgid")


@pytest.mark.parametrize(
    ("topic", "kind"),
    [
        ("orders", "normal"),
        ("RMQ_SYS_TRANS_HALF_TOPIC", "half"),
        ("RMQ_SYS_TRANS_OP_HALF_TOPIC", "op"),
        ("SCHEDULE_TOPIC_XXXX", "scheduled"),
        ("rmq_sys_wheel_timer", "timer"),
        ("rmq_sys_REVIVE_LOG_east", "pop"),
        ("%RETRY%billing", "retry"),
        ("%RETRY%billing+orders", "retry"),
        ("%DLQ%billing", "dead_letter"),
        ("RMQ_SYS_TRACE_TOPIC", "trace"),
        ("TBW102", "system"),
        ("OFFSET_MOVED_EVENT", "system"),
        ("rmq_sys_SYNC_BROKER_MEMBER_broker-a", "system"),
        ("east", "system"),
        ("broker-a", "system"),
        ("east_REPLY_TOPIC", "system"),
    ],
)
def test_a_topic_says_what_its_messages_are(topic: str, kind: str) -> None:
    assert schemas.kind_of(topic, cluster="east", broker="broker-a") == kind
    assert kind in schemas.KINDS
