"""What a broker tells name servers of its topics."""

from __future__ import annotations

import pytest

from engine.broker import registration
from engine.broker.registration import encode_parts
from engine.protocol.bodies.basics import DataVersion
from engine.protocol.bodies.registration import RegisterBrokerBody
from engine.protocol.bodies.topics import TopicConfig

VERSION = DataVersion(0, 1_000, 7)


def topics(count: int) -> dict[str, TopicConfig]:
    return {f"t{number}": TopicConfig(f"t{number}", 4, 4, 6) for number in range(count)}


@pytest.mark.parametrize("compress", [False, True])
def test_all_topics_in_one_body(compress: bool) -> None:
    (body,) = encode_parts(topics(3), VERSION, 6, compress)
    wrapper = RegisterBrokerBody.decode(body).topic_config_serialize_wrapper
    assert wrapper.topic_config_table == topics(3)
    assert wrapper.data_version == VERSION


def test_no_topic_is_still_a_registration() -> None:
    (body,) = encode_parts({}, VERSION, 6, False)
    assert RegisterBrokerBody.decode(body).topic_config_serialize_wrapper.topic_config_table == {}


def test_a_large_table_goes_in_parts_that_differ_in_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "TOPICS_PER_PART", 4)
    parts = [RegisterBrokerBody.decode(body) for body in encode_parts(topics(10), VERSION, 6, False)]
    wrappers = [part.topic_config_serialize_wrapper for part in parts]
    assert [len(wrapper.topic_config_table) for wrapper in wrappers] == [4, 4, 2]
    assert [wrapper.data_version.counter for wrapper in wrappers] == [7, 8, 9]
    together = {name for wrapper in wrappers for name in wrapper.topic_config_table}
    assert together == set(topics(10))


def test_a_broker_that_is_closed_closes_its_topics() -> None:
    (body,) = encode_parts(topics(1), VERSION, 4, False)
    table = RegisterBrokerBody.decode(body).topic_config_serialize_wrapper.topic_config_table
    assert table["t0"].perm == 4


def test_100_000_topics_fit_their_frames() -> None:
    long_names = {name: TopicConfig(name) for name in (f"{number:0127d}" for number in range(20_000))}
    (body,) = encode_parts(long_names, VERSION, 6, False)
    assert len(body) < 16 * 1024 * 1024
