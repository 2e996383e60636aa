"""Consumer offsets: what counts as committed, resets, and the file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.broker.offsets.offset_table import ConsumerOffsets
from engine.protocol.bodies.offsets import ConsumerOffsetSerializeWrapper


def test_offsets_are_kept_as_given_even_when_smaller() -> None:
    offsets = ConsumerOffsets()
    offsets.commit("t", "g", 0, 50)
    offsets.commit("t", "g", 0, 20)
    assert offsets.committed("t", "g", 0) == 20
    assert offsets.committed("t", "g", 1) is None
    assert offsets.committed("t", "other", 0) is None


def test_a_negative_offset_reads_as_none() -> None:
    offsets = ConsumerOffsets()
    offsets.commit("t", "g", 0, -1)
    assert offsets.committed("t", "g", 0) is None
    assert offsets.queues("t", "g") == {0: -1}


def test_a_reset_is_taken_once_and_sets_the_offset() -> None:
    offsets = ConsumerOffsets()
    offsets.reset("t", "g", 2, 7)
    assert offsets.has_reset("t", "g", 2)
    assert not offsets.has_reset("t", "g", 1)
    assert offsets.committed("t", "g", 2) == 7
    assert offsets.take_reset("t", "g", 1) is None
    assert offsets.take_reset("t", "g", 2) == 7
    assert offsets.take_reset("t", "g", 2) is None


def test_the_pulled_offset_is_never_before_the_committed_one() -> None:
    offsets = ConsumerOffsets()
    offsets.note_pulled("t", "g", 0, 10)
    assert offsets.pulled("t", "g", 0) == 10
    offsets.commit("t", "g", 0, 15)
    assert offsets.pulled("t", "g", 0) == 15


def test_forgetting_a_topic_or_a_group() -> None:
    offsets = ConsumerOffsets()
    for topic, group in (("t", "g"), ("t", "h"), ("u", "g")):
        offsets.commit(topic, group, 0, 1)
    assert offsets.groups_of("t") == ["g", "h"]
    assert offsets.topics_of("g") == ["t", "u"]
    offsets.forget_topic("t")
    assert list(offsets.pairs()) == [("u", "g")]
    offsets.forget_group("g")
    assert list(offsets.pairs()) == []


def test_a_snapshot_moves_the_version_only_after_a_change() -> None:
    offsets = ConsumerOffsets()
    offsets.commit("t", "g", 0, 1)
    offsets.snapshot(5)
    assert offsets.version.counter == 1
    offsets.snapshot(6)
    assert offsets.version.counter == 1
    offsets.mark_dirty()
    offsets.snapshot(7)
    assert (offsets.version.counter, offsets.version.timestamp) == (2, 7)


def test_offsets_read_back_from_their_file() -> None:
    offsets = ConsumerOffsets()
    offsets.commit("t", "g", 3, 99)
    stored = ConsumerOffsetSerializeWrapper.from_json(offsets.snapshot(1))
    again = ConsumerOffsets()
    again.load(stored.offset_table, stored.data_version)
    assert again.committed("t", "g", 3) == 99
    assert again.snapshot(2) == offsets.snapshot(2)


def test_keys_that_are_no_names_are_left_out() -> None:
    offsets = ConsumerOffsets()
    offsets.load({"../t@g": {0: 1}, "t": {0: 1}, "t@g": {0: 1}}, None)
    assert list(offsets.pairs()) == [("t", "g")]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["commit", "forget_topic", "forget_group", "clone"]),
            st.sampled_from("abc"),
            st.sampled_from("xyz"),
        )
    )
)
def test_topics_of_a_group_and_groups_of_a_topic_follow_every_change(
    steps: list[tuple[str, str, str]],
) -> None:
    offsets = ConsumerOffsets()
    for step, topic, group in steps:
        if step == "commit":
            offsets.commit(topic, group, 0, 1)
        elif step == "forget_topic":
            offsets.forget_topic(topic)
        elif step == "forget_group":
            offsets.forget_group(group)
        else:
            offsets.clone("x", group, topic)
    pairs = set(offsets.pairs())
    for name in "abc":
        assert {(name, group) for group in offsets.groups_of(name)} == {p for p in pairs if p[0] == name}
    for name in "xyz":
        assert {(topic, name) for topic in offsets.topics_of(name)} == {p for p in pairs if p[1] == name}


def test_what_pops_moved_can_be_left_out() -> None:
    """From one snapshot to the next, until one was saved behind the log."""
    offsets = ConsumerOffsets()
    offsets.commit("orders", "g", 0, 3)
    offsets.give("orders", "g", 0, 5)
    offsets.give("orders", "g", 0, 9)
    offsets.give("orders", "g", 1, 2)
    offsets.commit("orders", "h", 0, 4)
    for _ in range(2):
        held_back = offsets.without_given(offsets.snapshot(1))["offsetTable"]
        assert held_back == {"orders@g": {0: 3, 1: -1}, "orders@h": {0: 4}}
        assert offsets.is_dirty
    assert offsets.snapshot(2)["offsetTable"] == {"orders@g": {0: 9, 1: 2}, "orders@h": {0: 4}}
    offsets.give("orders", "g", 1, 6)
    held_back = offsets.without_given(offsets.snapshot(3))["offsetTable"]
    assert held_back == {"orders@g": {0: 9, 1: 2}, "orders@h": {0: 4}}
