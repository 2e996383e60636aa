"""Membership of groups as heartbeats tell it: what counts as a change, who leaves when."""

from __future__ import annotations

from engine.broker.clients.client_tables import CLIENT_EXPIRY_MS, ClientInfo, ConsumerTable, ProducerTable
from engine.protocol.bodies.clients import ConsumerData, SubscriptionData

NOW = 1_000_000


def client(name: str, at_ms: int = NOW) -> ClientInfo:
    return ClientInfo(name, 0, 479, at_ms)


def subscribed(*topics: str, version: int = 1) -> list[SubscriptionData]:
    return [SubscriptionData(topic=topic, sub_version=version) for topic in topics]


def table_with(*members: str) -> ConsumerTable[str]:
    table: ConsumerTable[str] = ConsumerTable()
    for member in members:
        table.register(ConsumerData("g"), subscribed("t"), f"channel-{member}", client(member))
    return table


def test_only_news_is_a_change() -> None:
    table: ConsumerTable[str] = ConsumerTable()
    assert table.register(ConsumerData("g"), subscribed("t"), "ch", client("a"))
    assert not table.register(ConsumerData("g"), subscribed("t"), "ch", client("a", NOW + 1))
    assert not table.register(ConsumerData("g"), subscribed("t", version=2), "ch", client("a"))
    assert table.register(ConsumerData("g"), subscribed("t", "u"), "ch", client("a"))
    assert table.register(ConsumerData("g"), subscribed("u"), "ch", client("a"))
    assert table.register(ConsumerData("g"), subscribed("u"), "ch", client("renamed"))
    assert table.register(ConsumerData("g"), subscribed("u"), "ch2", client("b"))


def test_a_newer_subscription_replaces_an_older_one_and_not_the_other_way() -> None:
    table: ConsumerTable[str] = ConsumerTable()
    table.register(ConsumerData("g"), [SubscriptionData("t", "new", sub_version=5)], "ch", client("a"))
    table.register(ConsumerData("g"), [SubscriptionData("t", "old", sub_version=4)], "ch2", client("b"))
    found = table.subscription("g", "t")
    assert found is not None
    assert found.sub_string == "new"


def test_a_closed_channel_leaves_all_its_groups() -> None:
    table = table_with("a", "b")
    table.register(ConsumerData("h"), subscribed("t"), "channel-a", client("a"))
    assert sorted(table.drop_channel("channel-a")) == ["g", "h"]
    assert table.group("h") is None
    group = table.group("g")
    assert group is not None
    assert group.client_ids() == ["b"]
    assert table.drop_channel("channel-a") == []


def test_leaving_one_group() -> None:
    table = table_with("a", "b")
    assert table.unregister("g", "channel-a")
    assert not table.unregister("g", "channel-a")
    assert not table.unregister("nobody", "channel-a")
    assert table.unregister("g", "channel-b")
    assert table.names() == []


def test_who_is_silent_for_two_minutes_expires() -> None:
    table = table_with("a")
    table.register(ConsumerData("g"), subscribed("t"), "channel-b", client("b", NOW + 50_000))
    assert table.expired(NOW + CLIENT_EXPIRY_MS) == []
    assert table.expired(NOW + CLIENT_EXPIRY_MS + 1) == ["channel-a"]


def test_a_short_heartbeat_renews_only_who_is_known() -> None:
    table = table_with("a")
    assert not table.touch("g", "channel-a", client("a", NOW + 100_000))
    assert table.expired(NOW + CLIENT_EXPIRY_MS + 1) == []
    assert table.touch("g", "channel-x", client("x"))
    assert table.touch("unknown", "channel-a", client("a"))


def test_groups_that_read_a_topic() -> None:
    table = table_with("a")
    assert table.groups_reading("t") == ["g"]
    assert table.groups_reading("u") == []


def test_producers_come_and_go() -> None:
    table: ProducerTable[str] = ProducerTable()
    table.register("p", "ch", client("a"))
    table.register("p", "ch2", client("b"))
    assert set(table.clients("p")) == {"ch", "ch2"}
    table.unregister("p", "ch")
    assert set(table.clients("p")) == {"ch2"}
    assert table.expired(NOW + CLIENT_EXPIRY_MS + 1) == ["ch2"]
    table.drop_channel("ch2")
    assert table.names() == []
