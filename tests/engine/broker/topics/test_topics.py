"""The topic table: creation by example, versions, what is saved, what name servers still have to hear."""

from __future__ import annotations

import pytest

from engine.broker.topics.topic_table import (
    TopicTable,
    add_system_topics,
    plan_auto_creation,
    retry_topic_config,
    system_topics,
    withdraw_default_topic,
)
from engine.protocol.bodies.topics import TopicConfig, TopicConfigSerializeWrapper

NOW = 1_000


def default_topic(queues: int = 8, perm: int = 7) -> TopicConfig:
    return TopicConfig("TBW102", queues, queues, perm)


@pytest.mark.parametrize(("asked", "made"), [(4, 4), (100, 8), (8, 8), (0, 0), (-5, 0)])
def test_a_new_topic_has_the_smaller_number_of_queues(asked: int, made: int) -> None:
    config = plan_auto_creation("new", default_topic(), asked, True)
    assert config is not None
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (made, made, 6)


def test_nothing_is_created_where_it_is_not_allowed() -> None:
    assert plan_auto_creation("new", None, 4, True) is None
    assert plan_auto_creation("new", default_topic(perm=6), 4, True) is None
    assert plan_auto_creation("new", default_topic(), 4, False) is None


def test_equal_configuration_changes_no_version() -> None:
    table = TopicTable()
    assert table.put(TopicConfig("a"), NOW)
    version = table.version
    assert not table.put(TopicConfig("a"), NOW + 1)
    assert table.version == version
    assert table.put(TopicConfig("a", perm=4), NOW + 2)
    assert table.version.counter == version.counter + 1
    assert table.version.timestamp == NOW + 2


def test_a_created_topic_is_unsaved_until_a_snapshot_with_it_is_on_disk() -> None:
    table = TopicTable()
    before = table.image()
    table.create_unsaved(TopicConfig("a"), NOW)
    table.saved(before)
    assert "a" in table.unsaved
    table.saved(table.image())
    assert not table.unsaved


def test_changes_are_told_once() -> None:
    table = TopicTable()
    table.put(TopicConfig("a"), NOW)
    table.put(TopicConfig("b"), NOW)
    table.delete("b", NOW)
    assert set(table.take_changed()) == {"a"}
    assert not table.has_changed()


def test_bad_names_in_a_file_are_left_out() -> None:
    table = TopicTable({"../../etc": TopicConfig("../../etc"), "good": TopicConfig("good")})
    assert table.names() == ["good"]


def test_system_topics_are_there_and_old_shapes_stay() -> None:
    table = TopicTable({"BenchmarkTest": TopicConfig("BenchmarkTest", 4, 4, 6)})
    add_system_topics(table, system_topics("C", "b.with.dots", 8, True, None), NOW)
    assert table.get("BenchmarkTest") == TopicConfig("BenchmarkTest", 4, 4, 6)
    assert table.get("TBW102") == default_topic()
    assert table.get("SCHEDULE_TOPIC_XXXX") == TopicConfig("SCHEDULE_TOPIC_XXXX", 18, 18, 6)
    assert table.get("C") == TopicConfig("C", 16, 16, 7)
    assert "b.with.dots" not in table


def test_the_default_topic_stops_being_an_example() -> None:
    table = TopicTable({"TBW102": default_topic()})
    withdraw_default_topic(table, NOW)
    default = table.get("TBW102")
    assert default is not None
    assert default.perm == 6


def test_a_retry_topic_of_a_unit_says_so() -> None:
    assert retry_topic_config("%RETRY%g", 2, True) == TopicConfig("%RETRY%g", 2, 2, 6, topic_sys_flag=2)


def test_an_image_encodes_again_only_what_changed() -> None:
    table = TopicTable()
    table.put(TopicConfig("a"), NOW)
    table.put(TopicConfig("b"), NOW)
    first = table.image()
    table.put(TopicConfig("a", perm=4), NOW)
    second = table.image()
    assert second.topics["b"] is first.topics["b"]
    stored = TopicConfigSerializeWrapper.decode(second.encode())
    assert stored == TopicConfigSerializeWrapper(table.configs(), table.version)
    table.delete("b", NOW)
    assert set(table.image().topics) == {"a"}
