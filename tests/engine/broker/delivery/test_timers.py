"""Times as pure rules: which second, which refusals, which handle, when to roll."""

from __future__ import annotations

import pytest

from engine.broker.delivery.parked_messages import Parking
from engine.broker.delivery.timed_messages import (
    TimerSecond,
    asked_time_ms,
    delete_key,
    delete_keys,
    due_ms,
    exact_time_ms,
    floored,
    rolled,
    wheel_time,
)
from engine.broker.settings.options import LiveOptions
from engine.errors import Refused
from engine.protocol.layouts.timer_files import TIMER_DEFAULT, TIMER_DELETE, TIMER_ROLL, TimerLogUnit
from engine.protocol.message_ids import decode_recall_handle
from engine.protocol.properties import decode_properties, encode_properties
from engine.store.results import MessageDraft

NOW = 1_700_000_000_400


def draft(**properties: str) -> MessageDraft:
    text = encode_properties({"UNIQ_KEY": "U", **properties}).encode()
    return MessageDraft("orders", 2, 0, 0, NOW, bytes(8), 0, 0, b"x", text)


def parking(*, has_timers: bool = True) -> Parking:
    return Parking("broker-a", 18, LiveOptions(), has_timers=has_timers)


@pytest.mark.parametrize(
    ("deliver_ms", "out_ms"), [(5000, 4000), (5001, 5000), (5999, 5000), (6000, 5000), (1, 0)]
)
def test_the_second_that_a_message_waits_for_passes_at_or_behind_its_time(
    deliver_ms: int, out_ms: int
) -> None:
    assert floored(deliver_ms) == out_ms
    assert 0 <= out_ms + 1000 - deliver_ms < 1000


def test_seconds_count_before_milliseconds_and_both_before_a_time() -> None:
    asked = {"TIMER_DELIVER_MS": "7", "TIMER_DELAY_MS": "30", "TIMER_DELAY_SEC": "2"}
    assert asked_time_ms(asked, NOW) == NOW + 2000
    del asked["TIMER_DELAY_SEC"]
    assert asked_time_ms(asked, NOW) == NOW + 30
    del asked["TIMER_DELAY_MS"]
    assert asked_time_ms(asked, NOW) == 7
    assert asked_time_ms({**asked, "TIMER_OUT_MS": "7"}, NOW) is None
    assert asked_time_ms({}, NOW) is None


@pytest.mark.parametrize("text", ["soon", "1.5", "", "9" * 19, "٣"])
def test_a_time_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        asked_time_ms({"TIMER_DELIVER_MS": text}, NOW)
    assert refused.value.code == 13


def test_a_timed_message_waits_in_the_timer_topic() -> None:
    parked = parking().plan(draft(TIMER_DELAY_SEC="10", TAGS="t"), NOW)
    assert (parked.topic, parked.queue_id) == ("rmq_sys_wheel_timer", 0)
    properties = decode_properties(parked.properties.decode())
    assert properties["TIMER_OUT_MS"] == "1700000010000"
    assert (properties["REAL_TOPIC"], properties["REAL_QID"], properties["TAGS"]) == ("orders", "2", "t")
    handle = decode_recall_handle(str(parking().recall_handle(parked)))
    assert (handle.topic, handle.broker_name, handle.uniq_key) == ("orders", "broker-a", "U")
    assert floored(handle.deliver_ms) == 1_700_000_010_000


def test_a_level_wins_over_a_timer() -> None:
    parked = parking().plan(draft(TIMER_DELAY_SEC="10", DELAY="3"), NOW)
    assert (parked.topic, parked.queue_id) == ("SCHEDULE_TOPIC_XXXX", 2)
    assert "TIMER_DELAY_SEC" not in decode_properties(parked.properties.decode())
    assert parking().recall_handle(parked) is None


def test_a_time_that_has_passed_is_now() -> None:
    given = draft(TIMER_DELIVER_MS=str(NOW))
    assert parking().plan(given, NOW) is given


def test_the_limit_is_three_days() -> None:
    assert parking().plan(draft(TIMER_DELAY_MS="259200000"), NOW).topic == "rmq_sys_wheel_timer"
    with pytest.raises(Refused) as refused:
        parking().plan(draft(TIMER_DELAY_MS="259200001"), NOW)
    assert refused.value.code == 13


def test_calling_back_what_was_delivered_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        parking().plan(draft(TIMER_DELIVER_MS=str(NOW), TIMER_DEL_UNIQKEY="orders+U"), NOW)
    assert refused.value.code == 13


def test_without_a_wheel_timed_messages_are_refused() -> None:
    with pytest.raises(Refused) as refused:
        parking(has_timers=False).plan(draft(TIMER_DELAY_SEC="1"), NOW)
    assert refused.value.code == 1


def test_what_is_beyond_the_window_waits_for_its_end_and_rolls() -> None:
    assert wheel_time({}, NOW + 999, NOW, 1000) == (NOW + 999, TIMER_DEFAULT)
    time_ms, magic = wheel_time({}, NOW + 5000, NOW, 3000)
    assert magic == TIMER_DEFAULT | TIMER_ROLL
    assert time_ms == (NOW + 3000) // 1000 * 1000
    assert wheel_time({"TIMER_DEL_UNIQKEY": "k"}, NOW, NOW, 3000)[1] == TIMER_DEFAULT | TIMER_DELETE
    assert rolled({"a": "b"}) == {"a": "b", "TIMER_ROLL_TIMES": "1"}
    assert rolled({"TIMER_ROLL_TIMES": "4"}) == {"TIMER_ROLL_TIMES": "5"}


def test_a_message_is_known_by_topic_and_key_or_by_key_alone() -> None:
    keys = delete_keys({"REAL_TOPIC": "orders", "UNIQ_KEY": "U"})
    assert keys == ("orders+U", "U")
    assert delete_key("orders", "U") in keys
    assert delete_keys({"UNIQ_KEY": "U"}) == ()


T = 7_000


def unit(number: int, exact_ms: int = 0, magic: int = TIMER_DEFAULT) -> TimerLogUnit:
    return TimerLogUnit(-1, magic, 0, T, number, 100, 0, exact_ms)


def offsets(second: TimerSecond, now_ms: int, limit: int = 10) -> list[int]:
    return [found.commit_log_offset for _, _, found in second.due(now_ms, limit)]


@pytest.mark.parametrize(
    ("properties", "exact_ms"),
    [
        ({"TIMER_DELIVER_MS": "7300"}, 7_300),
        ({"TIMER_DELIVER_MS": "8000"}, 8_000),
        ({"TIMER_DELAY_MS": "2500"}, 7_500),
        ({"TIMER_DELAY_SEC": "2"}, 8_000),
        ({"TIMER_DELIVER_MS": "99000"}, 8_000),
        ({}, 8_000),
    ],
)
def test_the_exact_time_lies_in_the_second_or_at_its_end(properties: dict[str, str], exact_ms: int) -> None:
    assert exact_time_ms({**properties, "TIMER_OUT_MS": "7000"}, T, 5_000) == exact_ms


def test_a_unit_of_another_engine_waits_for_the_end_of_its_second() -> None:
    assert due_ms(unit(1), T) == 8_000
    assert due_ms(unit(1, 7_001), T) == 7_001
    assert due_ms(unit(1, 9_999), T) == 8_000
    assert due_ms(unit(1, 7_001, TIMER_DEFAULT | TIMER_ROLL), T) == 8_000


def test_messages_come_by_time_and_then_in_their_order() -> None:
    second = TimerSecond(T)
    second.take([unit(1, 7_900), unit(2, 7_100), unit(3, 7_100)], 3)
    assert offsets(second, 7_099) == []
    assert offsets(second, 7_100) == [2, 3]
    second.take([unit(4, 7_050)], 4)
    assert offsets(second, 8_000) == [4, 1]
    assert not second.has_waiting
    assert second.taken == 4


def test_what_the_store_did_not_take_waits_in_its_place() -> None:
    second = TimerSecond(T)
    second.take([unit(number, 7_100) for number in range(5)], 5)
    entries = second.due(8_000, 3)
    second.put_back(entries[1:])
    assert offsets(second, 8_000) == [1, 2, 3, 4]


def test_units_that_cannot_be_read_are_not_looked_for_again() -> None:
    second = TimerSecond(T)
    second.take([unit(1, 7_100)], 3)
    assert second.taken == 3
