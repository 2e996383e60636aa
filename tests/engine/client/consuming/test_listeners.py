"""What a listener's result means."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from engine.client.consuming.listeners import ConsumeRates, ConsumeStatus, ListenerCalls, Outcome
from engine.client.messages import ReceivedMessage
from engine.errors import CorruptRecord
from engine.protocol.sys_flags import COMPRESSED
from tests.engine.client.records import received


async def call(listener: Callable[..., object], *, takes_list: bool = False) -> Outcome:
    calls = ListenerCalls(listener, takes_list=takes_list, threads=2)  # type: ignore[arg-type]
    try:
        return await calls.call([received(1), received(2)])
    finally:
        calls.close()


@pytest.mark.parametrize(
    ("result", "is_success"),
    [
        (None, True),
        (ConsumeStatus.CONSUME_SUCCESS, True),
        (ConsumeStatus.RECONSUME_LATER, False),
        (ConsumeStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT, False),
        (True, False),
        ("CONSUME_SUCCESS", False),
    ],
)
async def test_only_none_and_success_are_success(result: object, is_success: bool) -> None:
    async def waiting(message: ReceivedMessage) -> object:
        return result

    assert (await call(waiting)).is_success is is_success
    assert (await call(lambda message: result)).is_success is is_success


async def test_what_a_listener_raises_is_a_result() -> None:
    async def broken(message: ReceivedMessage) -> None:
        raise KeyError("k")

    def plain(message: ReceivedMessage) -> None:
        raise KeyError("k")

    for listener in (broken, plain):
        outcome = await call(listener)
        assert not outcome.is_success and isinstance(outcome.error, KeyError)


async def test_one_message_or_a_list() -> None:
    got: list[object] = []
    await call(got.append)
    await call(got.append, takes_list=True)
    single, many = got
    assert isinstance(single, ReceivedMessage) and isinstance(many, list) and len(many) == 2


async def test_an_object_with_an_async_call_runs_on_the_loop() -> None:
    threads: list[threading.Thread] = []

    class Callable_:
        async def __call__(self, message: ReceivedMessage) -> None:
            threads.append(threading.current_thread())

    assert (await call(Callable_())).is_success
    assert threads == [threading.current_thread()]


async def test_a_body_that_cannot_be_decompressed_is_the_listeners_failure() -> None:
    calls = ListenerCalls(lambda message: message.body and None, takes_list=False, threads=1)
    outcome = await calls.call([received(1, b"not zlib", sys_flag=COMPRESSED)])
    calls.close()
    assert isinstance(outcome.error, CorruptRecord)


def test_a_message_from_a_retry_topic_shows_its_own_topic() -> None:
    assert received(1, RETRY_TOPIC="orders").topic == "orders"


def test_rates_cover_the_last_minute() -> None:
    now = 1000.0
    rates = ConsumeRates(lambda: now)
    for _ in range(30):
        rates.record("t", 2, Outcome(True, 4.0))
        now += 1.0
    rates.record("t", 3, Outcome(False, 4.0))
    status = rates.status()["t"]
    assert status.consume_ok_tps == pytest.approx(2.0)
    assert (status.consume_rt, status.consume_failed_msgs) == (4.0, 3)
    now += 120
    status = rates.status()["t"]
    assert (status.consume_ok_tps, status.consume_rt, status.consume_failed_msgs) == (0.0, 0.0, 3)
