"""The table of open transactions, and the shapes that a half message takes, with times passed in."""

from __future__ import annotations

import pytest

from engine.broker.transactions.half_messages import (
    TransactionTable,
    checked_copy,
    committed_draft,
    given_up_draft,
    half_draft,
    op_batch,
    op_offsets,
    question_body,
    resumed_draft,
)
from engine.protocol.batches import decode_batch
from engine.protocol.hosts import pack_host
from engine.protocol.names import TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from engine.protocol.properties import decode_properties, encode_properties
from engine.protocol.records import Record, decode_record, encode_record
from engine.protocol.sys_flags import COMPRESSED, TRANSACTION_COMMIT, TRANSACTION_PREPARED
from engine.store.results import MessageDraft

HOST = pack_host(("10.0.0.1", 10911))
GIVEN = {"TRAN_MSG": "true", "PGROUP": "shop", "UNIQ_KEY": "K1", "TAGS": "paid", "DELAY": "3"}
TIMEOUT_MS = 6_000


def draft(**properties: str) -> MessageDraft:
    text = encode_properties({**GIVEN, **properties}).encode()
    return MessageDraft(
        "orders", 3, 7, TRANSACTION_PREPARED | COMPRESSED, 1_000, HOST, 0, 0, b"17 teapots", text
    )


def stored(draft: MessageDraft, queue_offset: int, commit_log_offset: int) -> Record:
    return decode_record(
        encode_record(
            topic=draft.topic,
            body=draft.body,
            properties=decode_properties(draft.properties.decode()),
            queue_id=draft.queue_id,
            flag=draft.flag,
            queue_offset=queue_offset,
            commit_log_offset=commit_log_offset,
            sys_flag=draft.sys_flag,
            born_timestamp=draft.born_timestamp,
            born_host=("10.0.0.1", 10911),
            prepared_transaction_offset=draft.prepared_transaction_offset,
        )
    )


def half(queue_offset: int = 5, commit_log_offset: int = 500, **properties: str) -> Record:
    return stored(half_draft(draft(**properties), "K1", "shop"), queue_offset, commit_log_offset)


def note(table: TransactionTable, record: Record) -> None:
    table.note(record.properties, record.born_timestamp, record.queue_offset, record.commit_log_offset)


# -- shapes -------------------------------------------------------------------------------------------------


def test_a_half_message_keeps_its_real_place_and_loses_its_delay() -> None:
    record = half()
    assert (record.topic, record.queue_id, record.sys_flag) == (TRANS_HALF_TOPIC, 0, COMPRESSED)
    assert record.properties["REAL_TOPIC"] == "orders"
    assert record.properties["REAL_QID"] == "3"
    assert record.properties["__transactionId__"] == "K1"
    assert "DELAY" not in record.properties


def test_a_producer_cannot_forge_what_the_broker_notes() -> None:
    record = half(TRAN_PREPARED_QUEUE_OFFSET="1", TRANSACTION_CHECK_TIMES="14", REAL_TOPIC="secret")
    assert "TRAN_PREPARED_QUEUE_OFFSET" not in record.properties
    assert "TRANSACTION_CHECK_TIMES" not in record.properties
    assert record.properties["REAL_TOPIC"] == "orders"


def test_a_half_message_without_a_group_gets_its_sender_s() -> None:
    text = encode_properties({"TRAN_MSG": "true"}).encode()
    parked = half_draft(draft()._replace(properties=text), "K1", "shop")
    assert decode_properties(parked.properties.decode())["PGROUP"] == "shop"


def test_a_commit_is_the_producer_s_message_and_names_its_half() -> None:
    committed = committed_draft(half())
    properties = decode_properties(committed.properties.decode())
    assert (committed.topic, committed.queue_id, committed.flag) == ("orders", 3, 7)
    assert committed.sys_flag == TRANSACTION_COMMIT | COMPRESSED
    assert committed.prepared_transaction_offset == 500
    assert (committed.body, committed.born_timestamp, committed.born_host) == (b"17 teapots", 1_000, HOST)
    assert properties == {
        "PGROUP": "shop",
        "UNIQ_KEY": "K1",
        "TAGS": "paid",
        "__transactionId__": "K1",
        "WAIT": "false",
    }


def test_copies_of_copies_name_the_first() -> None:
    first = half(queue_offset=5)
    second = stored(checked_copy(first, 1), 9, 900)
    third = stored(checked_copy(second, 2), 12, 1_200)
    assert third.properties["TRAN_PREPARED_QUEUE_OFFSET"] == "5"
    assert third.properties["TRANSACTION_CHECK_TIMES"] == "2"
    assert third.body == first.body


def test_a_given_up_message_can_become_a_half_message_again() -> None:
    asked = stored(checked_copy(half(), 15), 9, 900)
    given_up = stored(given_up_draft(asked), 0, 1_000)
    assert given_up.topic == TRANS_CHECK_MAX_TIME_TOPIC
    resumed = stored(resumed_draft(given_up), 20, 2_000)
    assert resumed.topic == TRANS_HALF_TOPIC
    assert committed_draft(resumed).topic == "orders"
    assert "TRANSACTION_CHECK_TIMES" not in resumed.properties
    assert "TRAN_PREPARED_QUEUE_OFFSET" not in resumed.properties


def test_the_producer_is_shown_its_own_topic_and_queue() -> None:
    shown = decode_record(question_body(half()))
    assert (shown.topic, shown.queue_id, shown.queue_offset) == ("orders", 3, 5)
    assert shown.commit_log_offset == 500
    assert shown.body == b"17 teapots"


@pytest.mark.parametrize(
    ("body", "offsets"), [(b"12", [12]), (b"1,2,30,", [1, 2, 30]), (b"", []), (b"x,4", [4])]
)
def test_op_messages_of_every_version_are_read(body: bytes, offsets: list[int]) -> None:
    op = decode_record(encode_record(topic=TRANS_OP_HALF_TOPIC, body=body, properties={"TAGS": "d"}))
    assert op_offsets(op) == offsets


def test_offsets_are_written_one_by_one_as_old_brokers_read_them() -> None:
    draft, batch = op_batch([12, 7], 1, HOST)
    items = decode_batch(batch.body)
    assert draft.topic == TRANS_OP_HALF_TOPIC
    assert [item.body for item in items] == [b"12", b"7"]


# -- the table ----------------------------------------------------------------------------------------------


def test_a_decision_counts_once() -> None:
    table = TransactionTable()
    note(table, half())
    assert table.close(5)
    assert not table.close(5)
    assert table.unwritten == [5]


def test_a_decision_is_about_all_copies() -> None:
    table = TransactionTable()
    note(table, half(5))
    note(table, stored(checked_copy(half(5), 1), 9, 900))
    assert len(table) == 1
    assert table.close(5)
    assert table.unwritten == [5, 9]


def test_a_transaction_is_due_after_the_time_out() -> None:
    table = TransactionTable()
    note(table, half())
    assert not table.due(1_000 + TIMEOUT_MS, TIMEOUT_MS)
    assert [entry.origin for entry in table.due(1_001 + TIMEOUT_MS, TIMEOUT_MS)] == [5]


def test_immunity_replaces_the_time_out() -> None:
    table = TransactionTable()
    note(table, half(CHECK_IMMUNITY_TIME_IN_SECONDS="60"))
    assert not table.due(61_000, TIMEOUT_MS)
    assert table.due(61_001, TIMEOUT_MS)


def test_a_message_from_the_future_is_due() -> None:
    table = TransactionTable()
    note(table, half())
    assert table.due(999, TIMEOUT_MS)


def test_checks_are_counted_in_the_copies() -> None:
    table = TransactionTable()
    note(table, half(5))
    note(table, stored(checked_copy(half(5), 1), 9, 900))
    entry = table.get(5)
    assert entry is not None
    assert (entry.check_times, entry.queue_offset, entry.commit_log_offset) == (1, 9, 900)


def test_a_start_reads_from_the_first_open_one() -> None:
    table = TransactionTable()
    for offset in (5, 6, 7):
        note(table, half(offset))
    table.close(5)
    table.op_written(0, [5])
    assert table.read_from(1_000)[:2] == (6, 1)
    table.close(7)
    table.op_written(1, [7])
    assert table.read_from(1_000)[:2] == (6, 1)
    table.close(6)
    table.op_written(2, [6])
    assert table.read_from(1_000)[:2] == (8, 3)


def test_a_start_reads_what_has_no_op_message_yet() -> None:
    table = TransactionTable()
    note(table, half(5))
    note(table, half(6))
    table.close(5)
    assert table.read_from(1_000).half_offset == 5


def test_a_checked_transaction_no_longer_holds_others_back() -> None:
    table = TransactionTable()
    note(table, half(5))
    note(table, half(6))
    note(table, stored(checked_copy(half(5), 1), 7, 900))
    table.close(6)
    table.op_written(0, [6])
    assert table.read_from(1_000)[:2] == (7, 1)


def test_a_copy_that_is_done_with_ends_the_others_too() -> None:
    table = TransactionTable()
    table.start_at(5, 0)
    note(table, half(5))
    table.skip(9, {"TRAN_PREPARED_QUEUE_OFFSET": "5"})
    assert len(table) == 0
    assert table.read_from(1_000).half_offset == 10
