"""Brokers and clusters."""

from __future__ import annotations

from tests.engine.admin.cases.case import Bad, Effect, Good

NOWHERE = Bad("-c nowhere", 1, "BROKER_NOT_EXIST (211): no cluster is called nowhere")
NONSENSE = Bad("-b nonsense", 2, "'nonsense' is not HOST:PORT")
SLAVE = Bad("-b {slave}", 1, "ask the master")

GOOD = {
    "clusterList": [
        Good(
            "-c {cluster}",
            "Cluster, Broker, BID, Addr, Version, In TPS, Out TPS, Disk, Active",
            {
                "Cluster": "{cluster}",
                "Broker": "{group_name}",
                "BID": "1",
                "Addr": "{slave}",
                "Version": "V5_3_3",
                "Active": "true",
            },
        ),
        Good(
            "-m",
            "Cluster, Broker, In yesterday, Out yesterday, In today, Out today",
            {"Cluster": "{cluster}", "Broker": "{broker_name}", "In yesterday": "0"},
        ),
    ],
    "brokerStatus": [
        Good(
            "-b {broker}",
            facts={"brokerVersionDesc": "V5_3_3", "brokerActive": "true"},
            document={"{broker}": {"brokerVersionDesc": "V5_3_3"}},
        ),
        Good(
            "-c {cluster}",
            "Broker, Name, Value",
            {"Broker": "{master}", "Name": "brokerVersionDesc", "Value": "V5_3_3"},
            document={"{broker}": {"brokerActive": "true"}, "{master}": {"brokerActive": "true"}},
        ),
    ],
    "getBrokerConfig": [
        Good(
            "-b {broker}",
            facts={"brokerName": "{broker_name}"},
            document={"{broker}": {"brokerName": "{broker_name}"}},
        )
    ],
    "updateBrokerConfig": [
        Good(
            "-b {broker} -k traceOn -v false",
            says="update broker config success, {broker}",
            document={"brokers": ["{broker}"], "traceOn": "false"},
            shows=Effect("getBrokerConfig -b {broker}", {"{broker}": {"traceOn": "false"}}),
            cleanup=("updateBrokerConfig -b {broker} -k traceOn -v true",),
        )
    ],
    "cleanExpiredCQ": [
        Good("", says="success, {broker}, {master}", document={"brokers": ["{broker}", "{master}"]})
    ],
    "cleanUnusedTopic": [
        Good("-c {cluster}", says="success, {broker}, {master}", document={"brokers": ["{broker}"]})
    ],
    "deleteExpiredCommitLog": [
        Good("-b {broker}", says="success, {broker}", document={"brokers": ["{broker}"]})
    ],
    "exportMetadata": [
        Good(
            "-b {broker}",
            document={
                "{broker}": {
                    "topics": {"{topic}": {"readQueueNums": 2}},
                    "groups": {"{group}": {"groupName": "{group}"}},
                }
            },
        ),
        Good("-b {broker} -t -g", document={"{broker}": {"topics": {}, "groups": {}}}),
    ],
    "damagedRecords": [
        Good(
            "-b {broker} -g {group}",
            "Broker, File, Commit log offset, Size, Topic, Queue, Queue offset, "
            "Found, Repaired, Skipped by, Skipped, Redelivered",
            count=0,
        )
    ],
}

BAD = {
    "clusterList": [
        NOWHERE,
        Bad("--timeout 0", 2, "'0': a whole number from 1"),
        Bad("-n ''", 2, "is empty"),
    ],
    "brokerStatus": [NOWHERE, NONSENSE],
    "getBrokerConfig": [NOWHERE, NONSENSE],
    "updateBrokerConfig": [
        Bad("-b {broker} -k storePathRootDir -v /x", 1, "NO_PERMISSION (16)"),
        Bad("-b {broker} -k brokerPermission -v abc", 1, "INVALID_PARAMETER (29)"),
        Bad("-b {broker} -k brokerPermission", 2, "-v/--value"),
    ],
    "cleanExpiredCQ": [NOWHERE, NONSENSE, SLAVE],
    "cleanUnusedTopic": [NOWHERE, NONSENSE],
    "deleteExpiredCommitLog": [NOWHERE, NONSENSE, SLAVE],
    "exportMetadata": [NOWHERE, NONSENSE],
    "damagedRecords": [NOWHERE, NONSENSE],
}
