"""Which queues are blocked, with a fake clock, and what consumerOrderInfo.json holds."""

from __future__ import annotations

from engine.broker.pop.orders import OrderInfoWrapper, OrderTable


def popped(
    table: OrderTable, *offsets: int, now_ms: int = 1_000, attempt_id: str | None = None
) -> dict[int, int]:
    return table.popped("t", "g", 0, offsets, attempt_id=attempt_id, invisible_ms=500, now_ms=now_ms)


def test_a_queue_is_blocked_until_the_invisible_time_has_passed() -> None:
    table = OrderTable()
    popped(table, 5, 6)
    assert table.blocked_until_ms("t", "g", 0, None, 1_499) == 1_500
    assert table.blocked_until_ms("t", "g", 0, None, 1_500) is None
    assert table.blocked_until_ms("t", "g", 1, None, 1_000) is None
    assert table.blocked_until_ms("t", "h", 0, None, 1_000) is None


def test_the_group_stands_before_the_first_that_is_not_acknowledged() -> None:
    table = OrderTable()
    popped(table, 5, 6, 9)
    assert table.ack("t", "g", 0, 6, 1_000) == 5
    assert table.ack("t", "g", 0, 5, 1_000) == 9
    assert table.ack("t", "g", 0, 9, 1_000) == 10
    assert table.blocked_until_ms("t", "g", 0, None, 1_001) is None


def test_an_acknowledgement_of_another_pop_is_none() -> None:
    table = OrderTable()
    popped(table, 5)
    assert table.ack("t", "g", 0, 5, 999) is None
    assert table.ack("t", "g", 0, 7, 1_000) is None
    assert table.ack("t", "other", 0, 5, 1_000) is None


def test_a_message_is_counted_each_time_but_not_for_the_same_attempt() -> None:
    table = OrderTable()
    assert popped(table, 5, 6, attempt_id="a") == {5: 0, 6: 0}
    assert popped(table, 5, 6, attempt_id="a") == {5: 0, 6: 0}
    assert popped(table, 5, 6, 7, now_ms=2_000, attempt_id="b") == {5: 1, 6: 1, 7: 0}
    assert popped(table, 6, 7, now_ms=3_000) == {6: 2, 7: 1}


def test_one_message_may_stay_hidden_for_longer() -> None:
    table = OrderTable()
    popped(table, 5, 6)
    assert table.show_at("t", "g", 0, 6, 1_000, 5_000)
    assert table.blocked_until_ms("t", "g", 0, None, 2_000) == 5_000
    table.ack("t", "g", 0, 6, 1_000)
    assert table.blocked_until_ms("t", "g", 0, None, 2_000) is None
    assert not table.show_at("t", "g", 0, 6, 1_000, 9_000)


def test_the_file_holds_all_of_it_in_rocketmq_s_names() -> None:
    table = OrderTable()
    popped(table, 100, 101, 105, attempt_id="a")
    table.ack("t", "g", 0, 100, 1_000)
    written = table.snapshot().encode()
    assert OrderInfoWrapper.decode(written).to_json()["table"]["t@g"][0] == {
        "popTime": 1_000,
        "i": 500,
        "o": (100, 1, 5),
        "ot": {},
        "oc": {},
        "l": 1_000,
        "cm": 1,
        "a": "a",
    }
    again = OrderTable(OrderInfoWrapper.decode(written))
    assert again.blocked_until_ms("t", "g", 0, None, 1_400) == 1_500
    assert again.ack("t", "g", 0, 101, 1_000) == 105
