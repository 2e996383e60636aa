"""A broker opens the store of release 0.1.0: every message, offset and open piece of work is there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.client import Message, PopOptions, TransactionState
from engine.client.blocking import Admin, PopConsumer, Producer, TransactionProducer
from tests.crash.cluster import Broker, NameServer
from tests.crash.group import until
from tests.upgrade import release_files
from tests.upgrade.readings import messages_of, offsets_of

EXPECTED = release_files.expected("store")
SETTINGS = {
    "recallMessageEnable": "true",
    "transactionTimeOut": "1000",
    "transactionCheckInterval": "1000",
}


@pytest.fixture(scope="module")
def namesrv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("upgrade")
    name_server = NameServer(folder)
    name_server.start()
    broker = Broker(
        folder,
        store=release_files.unpack("store", folder / "store"),
        name_servers=[("127.0.0.1", name_server.port)],
        settings={**release_files.KEEP, **SETTINGS},
    )
    broker.start()
    try:
        yield f"127.0.0.1:{name_server.port}"
    finally:
        broker.stop()
        name_server.stop()


@pytest.fixture(scope="module")
def admin(namesrv: str) -> Iterator[Admin]:
    with Admin(namesrv=namesrv) as admin:
        yield admin


@pytest.mark.parametrize("topic", sorted(EXPECTED["messages"]))
def test_every_message_is_where_it_was(admin: Admin, topic: str) -> None:
    found = messages_of(admin, topic)
    for queue, rows in EXPECTED["messages"][topic].items():
        assert found[queue][: len(rows)] == rows


def test_committed_offsets_are_kept(admin: Admin) -> None:
    broker = admin.cluster.masters()[0]
    found = offsets_of(admin, broker)
    assert found["orders@billing"] == EXPECTED["offsets"]["orders@billing"]


def test_messages_are_found_by_key(admin: Admin) -> None:
    assert [each.body.split()[0] for each in admin.messages.by_key("orders", "orders-7")] == [b"orders-7"]


def test_delayed_messages_that_were_waiting_arrive(admin: Admin) -> None:
    """Both were due a minute after the fixture was made."""

    def arrived() -> set[str]:
        queues = admin.messages.queues("later")
        ends = {queue: admin.offsets.max_offset(queue) for queue in queues}
        return {
            admin.messages.at(queue, at).body.decode()
            for queue, end in ends.items()
            for at in range(admin.offsets.min_offset(queue), end)
        }

    wanted = set(EXPECTED["undelivered"]["later"])
    until(lambda: arrived() == wanted, "both delayed messages are delivered")


def test_an_undecided_transaction_is_asked_about(namesrv: str) -> None:
    asked: list[bytes] = []

    def check(message: Message) -> TransactionState:
        asked.append(message.body)
        return TransactionState.COMMIT

    with TransactionProducer("bank", check, namesrv=namesrv):
        until(lambda: b"undecided" in asked, "the producer is asked")


def test_messages_popped_without_acknowledgement_come_back(namesrv: str) -> None:
    bodies: set[str] = set()

    def receive() -> set[str]:
        for message in consumer.receive(wait_ms=500):
            bodies.add(message.body.decode().split()[0])
            consumer.ack(message)
        return bodies

    with PopConsumer("packers", namesrv=namesrv, options=PopOptions()) as consumer:
        consumer.subscribe("parcels")
        until(lambda: receive() == set(EXPECTED["unacknowledged"]), "all parcels come back")


def test_new_messages_follow_the_old_ones(namesrv: str, admin: Admin) -> None:
    before = EXPECTED["messages"]["orders"]
    with Producer("shops", namesrv=namesrv) as producer:
        result = producer.send(Message("orders", b"new"))
    assert result.queue_offset == len(before[f"broker:{result.queue.queue_id}"])
