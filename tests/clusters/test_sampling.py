"""Brokers' answers to the collector: our own request, and the same figures by Apache's requests alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from clusters.gateway.addressing import address_of
from clusters.gateway.apache_sampling import ApacheMemory, sample_apache_broker
from clusters.gateway.connections import ask
from clusters.gateway.sampling import Sample, broker_members, sample_broker
from clusters.models import Cluster
from engine.client.blocking import PushConsumer
from tests.clusters.collecting.orders import commit, make_topic, send
from tests.engine.client.servers import Cluster as EngineCluster

Fresh = Callable[[str], str]


def by_apaches_requests(
    attached: Cluster, engine: EngineCluster, memory: ApacheMemory, *watched: str
) -> Sample:
    now_ms = int(time.time() * 1000)
    return ask(
        address_of(attached),
        lambda admin: sample_apache_broker(
            admin, "ClientCluster", engine.broker_name, 0, engine.broker, memory, watched, now_ms
        ),
    )


def by_our_request(attached: Cluster, engine: EngineCluster) -> Sample:
    sample = ask(
        address_of(attached), lambda admin: sample_broker(admin, engine.broker, None, with_producers=True)
    )
    assert sample is not None
    return sample


def test_both_ways_say_the_same(attached: Cluster, engine: EngineCluster, fresh: Fresh) -> None:
    topic, group = fresh("orders"), fresh("billing")
    make_topic(attached, topic)
    send(engine, topic, 6)
    commit(attached, topic, group, {0: 1, 1: 2})
    ours, theirs = by_our_request(attached, engine), by_apaches_requests(attached, engine, ApacheMemory())
    key = f"{topic}@{group}"
    assert [entry[:2] for entry in ours.sections["offsets"][key]] == theirs.sections["offsets"][key]
    one, other = ours.sections["topics"][topic], theirs.sections["topics"][topic]
    assert [[q[0], q[2]] for q in one["queues"]] == [[q[0], q[2]] for q in other["queues"]]
    fields = ("readQueues", "writeQueues", "perm", "isOrdered")
    assert [one[name] for name in fields] == [other[name] for name in fields]
    assert not other["isPartial"]
    assert (ours.version, ours.sections["disk"].keys()) == (theirs.version, theirs.sections["disk"].keys())
    assert theirs.sections["groups"][group] == {"members": None}


def test_ages_and_members_are_asked_of_watched_groups_only(
    attached: Cluster, engine: EngineCluster, fresh: Fresh
) -> None:
    topic, group, other = fresh("orders"), fresh("billing"), fresh("audit")
    make_topic(attached, topic, 1)
    send(engine, topic, 3)
    for name in (group, other):
        commit(attached, topic, name, {0: 1})
    sections = by_apaches_requests(attached, engine, ApacheMemory(), group).sections
    [[_, committed, oldest_ms]] = sections["offsets"][f"{topic}@{group}"]
    assert committed == 1
    assert abs(oldest_ms / 1000 - time.time()) < 60
    ours = by_our_request(attached, engine).sections["offsets"][f"{topic}@{group}"]
    assert abs(ours[0][2] - oldest_ms) < 1000
    assert sections["offsets"][f"{topic}@{other}"] == [[0, 1]]
    assert sections["groups"][group] == {"members": []}
    assert sections["groups"][other] == {"members": None}


def test_topics_are_read_again_only_when_their_version_changed(
    attached: Cluster, engine: EngineCluster, fresh: Fresh
) -> None:
    memory = ApacheMemory()
    by_apaches_requests(attached, engine, memory)
    topics, version = memory.topics, memory.topics_version
    by_apaches_requests(attached, engine, memory)
    assert memory.topics is topics
    name = fresh("orders")
    make_topic(attached, name)
    deadline = time.monotonic() + 10
    while name not in memory.topics and time.monotonic() < deadline:
        by_apaches_requests(attached, engine, memory)
    assert name in memory.topics
    assert memory.topics_version != version


def test_name_servers_say_who_is_where(attached: Cluster, engine: EngineCluster) -> None:
    members = ask(address_of(attached), broker_members)
    assert members == {engine.broker: (engine.broker_name, 0)}


def test_producers_and_members_are_named(attached: Cluster, engine: EngineCluster, fresh: Fresh) -> None:
    topic, group = fresh("orders"), fresh("billing")
    make_topic(attached, topic)
    consumer = PushConsumer(group, lambda messages: None, namesrv=engine.namesrv)
    consumer.subscribe(topic, "TagA")
    with consumer:
        found: dict[str, Any] = {}
        deadline = time.monotonic() + 10
        while not found.get("members") and time.monotonic() < deadline:
            found = by_apaches_requests(attached, engine, ApacheMemory(), group).sections["groups"][group]
        ours = by_our_request(attached, engine).sections["groups"][group]
    assert [member[0] for member in found["members"]] == [member[0] for member in ours["members"]]
    assert found["subscriptions"][topic][0] == ours["subscriptions"][topic][0] == "TagA"
    assert (found["model"], found["type"]) == (ours["model"], ours["type"])
