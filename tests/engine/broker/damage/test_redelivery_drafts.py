"""What becomes of messages that were damaged while they waited, by their time."""

from __future__ import annotations

from engine.broker.damage.redelivery_task import Waited, delayed_message, timed_message, was_recalled
from engine.protocol.names import SCHEDULE_TOPIC, TIMER_TOPIC
from engine.protocol.properties import decode_properties
from engine.protocol.records import Record, decode_record, encode_record

NOW = 1_700_000_000_000


def stored(topic: str, **properties: str) -> bytes:
    return encode_record(
        topic=topic,
        body=b"hello",
        properties={"REAL_TOPIC": "Orders", "REAL_QID": "1", **properties},
        store_timestamp=NOW - 9_000,
        reconsume_times=2,
    )


def message(topic: str, **properties: str) -> Record:
    return decode_record(stored(topic, **properties))


def timed(deliver_ms: int, **properties: str) -> Record:
    out_ms = str((deliver_ms - 1) // 1000 * 1000)
    return message(
        TIMER_TOPIC, TIMER_OUT_MS=out_ms, TIMER_DELIVER_MS=str(deliver_ms), UNIQ_KEY="K1", **properties
    )


def place(waited: Waited | None) -> tuple[str, int] | None:
    return None if waited is None or waited.draft is None else (waited.draft.topic, waited.draft.queue_id)


def test_a_delayed_message_is_never_early() -> None:
    record = message(SCHEDULE_TOPIC, DELAY="1")
    assert delayed_message(record, NOW + 1, NOW) is None
    waited = delayed_message(record, NOW, NOW)
    assert place(waited) == ("Orders", 1)
    assert waited is not None and waited.draft is not None
    assert (waited.due_ms, waited.draft.reconsume_times, waited.draft.body) == (NOW, 2, b"hello")


def test_a_timed_message_whose_time_has_passed_goes_to_its_topic() -> None:
    waited = timed_message(timed(NOW - 300), NOW)
    assert (place(waited), waited.due_ms) == (("Orders", 1), NOW - 300)


def test_a_timed_message_whose_time_is_to_come_goes_back_to_the_timers() -> None:
    record = timed(NOW + 5_300)
    waited = timed_message(record, NOW)
    assert place(waited) == (TIMER_TOPIC, 0)
    assert waited.draft is not None
    assert decode_properties(waited.draft.properties.decode()) == record.properties


def test_a_call_back_goes_back_to_the_timers_or_nowhere() -> None:
    assert place(timed_message(timed(NOW + 5_300, TIMER_DEL_UNIQKEY="Orders+K1"), NOW)) == (TIMER_TOPIC, 0)
    assert place(timed_message(timed(NOW - 300, TIMER_DEL_UNIQKEY="Orders+K1"), NOW)) is None
    assert place(timed_message(message(TIMER_TOPIC), NOW)) is None


def test_a_call_back_is_known_by_the_key_that_it_names() -> None:
    record = timed(NOW - 300)
    assert not was_recalled(record, [])
    assert not was_recalled(record, [stored(TIMER_TOPIC, UNIQ_KEY="K1", TIMER_DEL_UNIQKEY="Orders+K2")])
    assert not was_recalled(record, [stored(TIMER_TOPIC, UNIQ_KEY="K1")])
    assert was_recalled(record, [stored(TIMER_TOPIC, UNIQ_KEY="K1", TIMER_DEL_UNIQKEY="Orders+K1")])
    assert was_recalled(record, [stored(TIMER_TOPIC, UNIQ_KEY="K1", TIMER_DEL_UNIQKEY="K1")])
