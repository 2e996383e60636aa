"""What rocketmq-exporter would show of a broker with a slave and traffic: every family has a value."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from engine.client import ConsumeFromWhere, ConsumerOptions, Message, ReceivedMessage, blocking
from tests.engine.client import exporter_rules as rules
from tests.engine.client.servers import start_broker, start_name_server
from tests.ports import free_port

NAME = "exported"
QUICK = {"messageDelayLevel": " ".join(["1s"] * 18), "defaultTopicQueueNums": "1"}
WITHIN_S = 40.0
DEAD = "rocketmq_topic_dlq_offset"
"""The last to come: all messages of one group were tried twice."""


@pytest.fixture
def namesrv(tmp_path: Path) -> Iterator[str]:
    """Of a master and its slave."""
    (tmp_path / "slave").mkdir()
    ha = {"haListenPort": str(free_port())}
    with ExitStack() as stack:
        name_server = start_name_server(tmp_path)
        stack.callback(name_server.stop)
        master = start_broker(tmp_path, name_server.address, NAME, **QUICK, **ha)
        stack.callback(master.stop)
        slave = {"brokerRole": "SLAVE", "brokerId": "1"}
        stack.callback(start_broker(tmp_path / "slave", name_server.address, NAME, **QUICK, **slave).stop)
        yield name_server.address


@contextmanager
def traffic(namesrv: str) -> Iterator[None]:
    """A group that consumes, and one that fails until its messages are dead."""

    def fail(message: ReceivedMessage) -> None:
        raise ValueError("no stock")

    with ExitStack() as stack:
        producer = stack.enter_context(blocking.Producer("shops", namesrv=namesrv))
        for number in range(10):
            for topic in ("orders", "refused"):
                producer.send(Message(topic, b"%d" % number))
        options = ConsumerOptions(
            from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            commit_interval_s=0.2,
            rebalance_s=1.0,
            max_reconsume_times=1,
        )
        for topic, listener in (("orders", lambda message: None), ("refused", fail)):
            consumer = blocking.PushConsumer(f"{topic}-group", listener, namesrv=namesrv, options=options)
            consumer.subscribe(topic)
            stack.enter_context(consumer)
        yield


def test_every_family_of_rocketmq_exporter_has_a_value(namesrv: str) -> None:
    assert len(rules.FAMILIES) == 86
    with traffic(namesrv), blocking.Admin(namesrv=namesrv) as admin:
        deadline = time.monotonic() + WITHIN_S
        found = rules.collected(admin)
        while found.get(DEAD) != [10] and time.monotonic() < deadline:
            time.sleep(0.5)
            found = rules.collected(admin)
    assert found.keys() == rules.FAMILIES
    timed = sum(found[f"rocketmq_brokeruntime_{name}"][0] for name in rules.RUNTIME if name[:4] == "pmdt")
    assert timed >= 20, "each append of the first ones is timed"
    assert found["rocketmq_brokeruntime_putmessage_times_total"][0] >= 20
    assert found["rocketmq_brokeruntime_commitlogdir_capacity_total"][0] > 2**30
    assert sum(found["rocketmq_client_consume_fail_msg_count"]) >= 20, "twice each: at first and again"
    assert found[DEAD] == [10]


def test_a_broker_without_traffic_is_readable(tmp_path: Path) -> None:
    broker = start_broker(tmp_path, "127.0.0.1:1", NAME)
    try:
        with blocking.Admin(namesrv="127.0.0.1:1") as admin:
            shown = dict(rules.runtime_families(admin.brokers.runtime_info(broker.address)))
    finally:
        broker.stop()
    assert len(shown) == len(rules.RUNTIME)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("putMessageDistributeTime", "[<=1ms]:0 [1~10ms]:0 [1000ms~]:0"),
        ("putTps", "1.0"),
        ("commitLogMaxOffset", "1.0"),
        ("commitLogDirCapacity", "252.0 GiB"),
        ("brokerVersion", ""),
        ("scheduleMessageOffset_1", "5"),
    ],
)
def test_the_rules_refuse_what_the_exporter_cannot_read(key: str, text: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, KeyError, IndexError)):
        list(rules.runtime_families({**_readable(), key: text}))
    assert list(rules.runtime_families(_readable()))


def _readable() -> dict[str, str]:
    special = {
        "putMessageDistributeTime": "".join(f"[{name}]:1 " for name in rules._CLASSES.values()),
        "commitLogDirCapacity": "Total : 252.0 GiB, Free : 70.6 GiB.",
        "remainHowManyDataToFlush": "0 B",
        **dict.fromkeys(rules._RATES.values(), "1.0 2.0 3.0"),
        **dict.fromkeys((*rules.TEXTS, *rules.READ_UNSHOWN), "1"),
    }
    return {key: "1" for key, _ in rules.RUNTIME.values()} | special
