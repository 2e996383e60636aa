"""Apache's mqadmin, both lines, against a cluster with one topic, eight messages and one online group."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from .clusters import BROKER_NAME, CLUSTER_NAME, Cluster
from .java_client import JavaClient
from .mqadmin import AdminShell

pytestmark = pytest.mark.needs_maven
Fresh = Callable[[str], str]
OFFSETS_PERSISTED_TIMEOUT_S = 15


@dataclass(frozen=True, slots=True)
class Traffic:
    topic: str
    group: str
    consumer: str
    sent: list[dict[str, Any]]


@pytest.fixture
def traffic(java_5: JavaClient, fresh: Fresh) -> Iterator[Traffic]:
    topic, group, consumer = fresh("admin"), fresh("admin-group"), fresh("admin-consumer")
    sent = java_5.do("send-sync", topic=topic, count=8, tag="x", prefix=topic)
    java_5.do("push-start", name=consumer, topic=topic, group=group)
    java_5.do("push-wait", name=consumer, count=8)
    yield Traffic(topic, group, consumer, sent)
    java_5.do("push-stop", name=consumer)


def test_cluster_list_shows_the_broker(mqadmin: AdminShell, cluster: Cluster) -> None:
    text = mqadmin.run("clusterList")
    assert re.search(rf"{CLUSTER_NAME} +{BROKER_NAME} +0 +{cluster.broker} +V\d_\d_\d", text)
    if cluster.target == "signalbox":  # 4.9's tool trips over the counter that Apache 5.x renamed
        assert "Exception" not in text
    assert re.search(rf"{CLUSTER_NAME} +{BROKER_NAME} +0 +0 +\d+ +\d+", mqadmin.run("clusterList", "-m"))


def test_topic_list_names_user_and_system_topics(mqadmin: AdminShell, traffic: Traffic) -> None:
    names = mqadmin.run("topicList").split()
    assert {traffic.topic, f"%RETRY%{traffic.group}", "TBW102", CLUSTER_NAME, BROKER_NAME} <= set(names)
    rows = mqadmin.rows("topicList", "-c")
    assert {"Cluster Name": CLUSTER_NAME, "Topic": traffic.topic, "Consumer Group": traffic.group} in rows


def test_topic_is_made_routed_limited_and_deleted(
    mqadmin: AdminShell, cluster: Cluster, fresh: Fresh
) -> None:
    topic = fresh("made")
    made = mqadmin.run("updateTopic", "-c", CLUSTER_NAME, "-t", topic, "-r", "3", "-w", "2")
    assert f"create topic to {cluster.broker} success." in made
    assert route(mqadmin, topic) == {"perm": 6, "readQueueNums": 3, "writeQueueNums": 2}
    assert CLUSTER_NAME in mqadmin.run("topicClusterList", "-t", topic)
    limited = mqadmin.run("updateTopicPerm", "-c", CLUSTER_NAME, "-t", topic, "-p", "4")
    assert "update topic perm from 6 to 4" in limited
    assert route(mqadmin, topic)["perm"] == 4
    deleted = mqadmin.run("deleteTopic", "-c", CLUSTER_NAME, "-t", topic)
    assert f"delete topic [{topic}] from cluster [{CLUSTER_NAME}] success." in deleted
    assert f"delete topic [{topic}] from NameServer success." in deleted
    assert "No topic route info in name server" in mqadmin.run("topicRoute", "-t", topic)


def route(mqadmin: AdminShell, topic: str) -> dict[str, int]:
    # fastjson's integer keys are not quoted
    text = re.sub(r"\b(\d+):\"", r'"\1":"', mqadmin.run("topicRoute", "-t", topic))
    (queues,) = json.loads(text)["queueDatas"]
    return {key: queues[key] for key in ("perm", "readQueueNums", "writeQueueNums")}


def test_topic_status_shows_the_offsets(mqadmin: AdminShell, traffic: Traffic) -> None:
    rows = [
        row for row in mqadmin.rows("topicStatus", "-t", traffic.topic) if row["Broker Name"] == BROKER_NAME
    ]
    assert [(row["QID"], row["Min Offset"], row["Max Offset"]) for row in rows] == [
        (str(queue), "0", "2") for queue in range(4)
    ]


def test_consumer_progress_counts_what_is_left(mqadmin: AdminShell, traffic: Traffic) -> None:
    assert progress(mqadmin, traffic, until={0: (2, 2), 1: (2, 2), 2: (2, 2), 3: (2, 2)})
    summary = mqadmin.rows("consumerProgress")
    (row,) = [row for row in summary if row["Group"] == traffic.group]
    assert (row["Count"], row["Type"], row["Model"]) == ("1", "PUSH", "CLUSTERING")


def progress(mqadmin: AdminShell, traffic: Traffic, until: dict[int, tuple[int, int]]) -> bool:
    """Whether (broker offset, consumer offset) per queue become these while clients persist theirs."""
    deadline = time.monotonic() + OFFSETS_PERSISTED_TIMEOUT_S
    while time.monotonic() < deadline:
        rows = mqadmin.rows("consumerProgress", "-g", traffic.group)
        found = {
            int(row["QID"]): (int(row["Broker Offset"]), int(row["Consumer Offset"]))
            for row in rows
            if row["Topic"] == traffic.topic
        }
        if found == until:
            return True
        time.sleep(0.5)
    return False


def test_reset_offset_by_time_moves_the_group(
    mqadmin: AdminShell, java_5: JavaClient, traffic: Traffic
) -> None:
    assert progress(mqadmin, traffic, until=dict.fromkeys(range(4), (2, 2)))
    text = mqadmin.run("resetOffsetByTime", "-g", traffic.group, "-t", traffic.topic, "-s", "0")
    assert "Exception" not in text
    assert len(re.findall(rf"^{BROKER_NAME} +[0-3] +0 *$", text, re.MULTILINE)) == 4
    # The online member is sent back to the start: every message arrives a second time.
    assert len(java_5.do("push-wait", name=traffic.consumer, count=16, timeoutMs=40_000)) == 16


def test_broker_status_and_config_read_as_tables(
    mqadmin: AdminShell, cluster: Cluster, traffic: Traffic
) -> None:
    status = dict(
        re.findall(r"^(\w+) *: (.*)$", mqadmin.run("brokerStatus", "-b", cluster.broker), re.MULTILINE)
    )
    assert int(status["commitLogMaxOffset"]) > 0
    assert int(status["msgPutTotalTodayNow"]) >= 8
    assert float(status["putTps"].split()[0]) >= 0
    assert 0 <= float(status["commitLogDiskRatio"]) <= 1
    assert {"brokerVersionDesc", "bootTimestamp", "runtime", "putMessageAverageSize"} <= status.keys()
    config = dict(
        re.findall(r"^(\w+) +=  (.*)$", mqadmin.run("getBrokerConfig", "-b", cluster.broker), re.MULTILINE)
    )
    assert (config["brokerName"], config["listenPort"]) == (BROKER_NAME, str(cluster.broker_port))


def test_broker_config_changes_at_run_time(mqadmin: AdminShell, cluster: Cluster) -> None:
    for hours in ("47", "48"):
        changed = mqadmin.run(
            "updateBrokerConfig", "-b", cluster.broker, "-k", "fileReservedTime", "-v", hours
        )
        assert "update broker config success" in changed
        shown = mqadmin.run("getBrokerConfig", "-b", cluster.broker)
        assert re.search(rf"^fileReservedTime +=  {hours}$", shown, re.MULTILINE)


def test_groups_are_made_and_deleted(mqadmin: AdminShell, fresh: Fresh) -> None:
    group = fresh("made-group")
    made = mqadmin.run("updateSubGroup", "-c", CLUSTER_NAME, "-g", group, "-s", "true", "-r", "5")
    assert "create subscription group to" in made and "success" in made
    deleted = mqadmin.run("deleteSubGroup", "-c", CLUSTER_NAME, "-g", group)
    assert f"delete subscription group [{group}] from broker" in deleted


def test_connections_are_listed(mqadmin: AdminShell, traffic: Traffic) -> None:
    consumers = mqadmin.run("consumerConnection", "-g", traffic.group)
    assert re.search(rf"@{traffic.consumer} +127\.0\.0\.1:\d+ +JAVA +V5_3_3", consumers)
    assert "ConsumeType: CONSUME_PASSIVELY" in consumers and "MessageModel: CLUSTERING" in consumers
    producers = mqadmin.run("producerConnection", "-g", "interop-producer", "-t", traffic.topic)
    assert re.search(r"@producer-interop-producer +127\.0\.0\.1:\d+ +JAVA +V5_3_3", producers)


def test_consumer_status_asks_the_client_itself(mqadmin: AdminShell, traffic: Traffic) -> None:
    text = mqadmin.run("consumerStatus", "-g", traffic.group)
    assert re.search(rf"@{traffic.consumer} +V5_3_3", text)
    assert "Same subscription in the same group of consumer" in text
    assert "Rebalance OK" in text


def test_messages_are_found_by_id_key_and_offset(mqadmin: AdminShell, traffic: Traffic) -> None:
    first = traffic.sent[0]
    topic = ["-t", traffic.topic] if mqadmin.version == "5" else []
    by_offset_id = mqadmin.run("queryMsgById", "-i", first["offsetMsgId"], *topic)
    by_key = mqadmin.rows("queryMsgByKey", "-t", traffic.topic, "-k", f"key-{traffic.topic}-3")
    by_unique = mqadmin.run("queryMsgByUniqueKey", "-t", traffic.topic, "-i", first["msgId"])
    place = ["-i", str(first["queueId"]), "-o", str(first["queueOffset"])]
    by_offset = mqadmin.run("queryMsgByOffset", "-t", traffic.topic, "-b", BROKER_NAME, *place)
    for text in (by_offset_id, by_unique, by_offset):
        assert re.search(rf"Keys: +\[key-{traffic.topic}-0\]", text), text
        assert re.search(rf"Queue ID: +{first['queueId']}\b", text)
    assert [row["Message ID"] for row in by_key] == [traffic.sent[3]["msgId"]]


def test_messages_are_printed(mqadmin: AdminShell, traffic: Traffic) -> None:
    text = mqadmin.run("printMsg", "-t", traffic.topic)
    assert sorted(re.findall(r"BODY: (\S+)", text)) == sorted(f"{traffic.topic}-{n}" for n in range(8))


def test_statistics_are_shown(mqadmin: AdminShell, cluster: Cluster, traffic: Traffic) -> None:
    rows = mqadmin.rows("statsAll", "-t", traffic.topic)
    assert traffic.group in {row["Consumer Group"] for row in rows}
    assert "Exception" not in mqadmin.run("brokerConsumeStats", "-b", cluster.broker)


def test_name_server_config_and_kv_are_served(mqadmin: AdminShell, cluster: Cluster) -> None:
    assert f"============{cluster.name_server}============" in mqadmin.run("getNamesrvConfig")
    assert "success" in mqadmin.run("updateKvConfig", "-s", "INTEROP", "-k", "a", "-v", "b")
    assert "success" in mqadmin.run("deleteKvConfig", "-s", "INTEROP", "-k", "a")


def test_write_permission_is_wiped_and_given_back(mqadmin: AdminShell, fresh: Fresh) -> None:
    topic = fresh("wiped")
    mqadmin.run("updateTopic", "-c", CLUSTER_NAME, "-t", topic)
    assert re.search(
        rf"wipe write perm of broker\[{BROKER_NAME}\].* OK, \d+",
        mqadmin.run("wipeWritePerm", "-b", BROKER_NAME),
    )
    assert route(mqadmin, topic)["perm"] == 4
    assert re.search(
        rf"add write perm of broker\[{BROKER_NAME}\].* OK, \d+",
        mqadmin.run("addWritePerm", "-b", BROKER_NAME),
    )
    assert route(mqadmin, topic)["perm"] == 6


def test_tool_sends_and_consumes(mqadmin: AdminShell, fresh: Fresh) -> None:
    topic = fresh("tool")
    mqadmin.run("updateTopic", "-c", CLUSTER_NAME, "-t", topic, "-r", "1", "-w", "1")
    (row,) = mqadmin.rows("sendMessage", "-t", topic, "-p", "hello")
    assert row["Send Result"] == "SEND_OK"
    assert "BODY: hello" in mqadmin.run("consumeMessage", "-t", topic, "-c", "1")


def test_skipped_backlog_is_gone(mqadmin: AdminShell, java_5: JavaClient, traffic: Traffic) -> None:
    java_5.do("push-stop", name=traffic.consumer)
    try:
        java_5.do("send-sync", topic=traffic.topic, count=4, prefix="backlog")
        assert progress(mqadmin, traffic, until=dict.fromkeys(range(4), (3, 2)))
        mqadmin.run("skipAccumulatedMessage", "-g", traffic.group, "-t", traffic.topic)
        assert progress(mqadmin, traffic, until=dict.fromkeys(range(4), (3, 3)))
    finally:
        java_5.do("push-start", name=traffic.consumer, topic=traffic.topic, group=traffic.group)


def test_queue_units_are_shown(mqadmin: AdminShell, cluster: Cluster, traffic: Traffic) -> None:
    text = mqadmin.run("queryCq", "-t", traffic.topic, "-q", "0", "-i", "0", "-c", "2", "-b", cluster.broker)
    assert "max: 2, min: 0" in text
    assert len(re.findall(r"physicSize=\d+, tagsCode=120", text)) == 2
