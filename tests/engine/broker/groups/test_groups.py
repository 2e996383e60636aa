"""Consumer groups: who makes itself, who is forbidden what."""

from __future__ import annotations

from engine.broker.groups.group_table import SubscriptionGroupTable, add_system_groups
from engine.protocol.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupWrapper

NOW = 1_000


def test_a_group_makes_itself_only_when_allowed() -> None:
    table = SubscriptionGroupTable()
    assert table.find_or_create("g", False, NOW) == (None, False)
    config, is_new = table.find_or_create("g", True, NOW)
    assert (config, is_new) == (SubscriptionGroupConfig(group_name="g"), True)
    assert table.find_or_create("g", False, NOW) == (config, False)


def test_system_groups_always_may() -> None:
    config, _ = SubscriptionGroupTable().find_or_create("CID_RMQ_SYS_X", False, NOW)
    assert config is not None


def test_a_bad_name_never_becomes_a_group() -> None:
    table = SubscriptionGroupTable()
    for name in ("../x", "", "a" * 249, "a b", "a.b"):
        assert table.find_or_create(name, True, NOW) == (None, False)
    assert len(table) == 0


def test_forbidding_one_topic_is_undone_without_a_trace() -> None:
    table = SubscriptionGroupTable()
    table.set_readable("g", "t", False, NOW)
    assert table.is_read_forbidden("g", "t")
    assert not table.is_read_forbidden("g", "other")
    assert table.snapshot().forbidden_table == {"g": {"t": 4}}
    table.set_readable("g", "t", True, NOW)
    assert not table.is_read_forbidden("g", "t")
    assert table.forbidden() == {}


def test_a_table_is_what_its_file_says() -> None:
    table = SubscriptionGroupTable()
    table.put(SubscriptionGroupConfig(group_name="g", consume_enable=False), NOW)
    table.set_readable("g", "t", False, NOW)
    again = SubscriptionGroupTable(SubscriptionGroupWrapper.from_json(table.snapshot().to_json()))
    assert again.snapshot() == table.snapshot()


def test_deleting_moves_the_version() -> None:
    table = SubscriptionGroupTable()
    add_system_groups(table, NOW)
    version = table.version
    assert table.delete("TOOLS_CONSUMER", NOW)
    assert not table.delete("TOOLS_CONSUMER", NOW)
    assert table.version.counter == version.counter + 1
