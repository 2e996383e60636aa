"""Consumer groups: configuration, progress, offsets, members. And producers."""

from __future__ import annotations

from tests.engine.admin.cases.case import Bad, Effect, Good

NEW = "updateSubGroup -b {broker} -g {new}"
AT_END = "skipAccumulatedMessage -g {new} -t {topic}"
OFFLINE = Bad("-g nobody", 1, "CONSUMER_NOT_ONLINE (206)")
OFFSETS = "Broker Name, QID, Offset"
CLIENTS = "ClientId, ClientAddr, Language, Version"


def progress(offset: int, group: str = "{new}") -> Effect:
    return Effect(f"consumerProgress -g {group}", {"qid": 0, "broker_offset": 2, "consumer_offset": offset})


def config(name: str, value: object) -> Effect:
    part = {"broker": "{broker}", "name": name, "value": value}
    return Effect("getConsumerConfig -g {new}", part)


GOOD = {
    "updateSubGroup": [
        Good(
            "-b {broker} -g {new} -r 3 -s false -m true -d false -o true -q 2 -i 1 -w 2 -a false",
            says="create subscription group {new} to {broker} success",
            document={
                "group": "{new}",
                "brokers": ["{broker}"],
                "config": {
                    "consumeEnable": False,
                    "consumeFromMinEnable": True,
                    "consumeBroadcastEnable": False,
                    "consumeMessageOrderly": True,
                    "retryQueueNums": 2,
                    "brokerId": 1,
                    "whichBrokerWhenConsumeSlowly": 2,
                    "notifyConsumerIdsChangedEnable": False,
                },
            },
            shows=config("retryMaxTimes", 3),
        ),
        Good(
            "-c {cluster} -g {new}",
            says="create subscription group {new} to {broker}, {master} success",
            document={"config": {"consumeEnable": True, "retryMaxTimes": 16}},
            shows=config("notifyConsumerIdsChangedEnable", True),
        ),
    ],
    "deleteSubGroup": [
        Good(
            "-c {cluster} -g {new}",
            says="delete subscription group [{new}] from {broker}, {master} success",
            document={"group": "{new}", "offsetsRemoved": True},
            before=(NEW,),
            hides=config("groupName", "{new}"),
        )
    ],
    "setConsumeMode": [
        Good(
            "-b {broker} -t {topic} -g {new} -m POP -q 2",
            says="set consume mode to {broker} success",
            document={"group": "{new}", "topic": "{topic}", "mode": "POP", "brokers": ["{broker}"]},
            before=(NEW,),
        )
    ],
    "getConsumerConfig": [
        Good(
            "-g {group}",
            "Broker, Name, Value",
            {"Broker": "{broker}", "Name": "consumeEnable", "Value": "true"},
        )
    ],
    "consumerProgress": [
        Good(
            "-g {group} -t {topic}",
            "Topic, Broker Name, QID, Broker Offset, Consumer Offset, Client IP, Diff, Inflight, Last Time",
            {
                "Topic": "{topic}",
                "Broker Name": "{broker_name}",
                "QID": "0",
                "Broker Offset": "2",
                "Consumer Offset": "1",
                "Client IP": "-",
                "Diff": "1",
            },
        ),
        Good(
            "-g {online} -s true",
            "Topic, Broker Name, QID, Broker Offset, Consumer Offset, Client IP, Diff, Inflight, Last Time",
            {"Topic": "watched", "QID": "1", "Client IP": "127.0.0.1", "Diff": "0"},
        ),
        Good(
            "",
            "Group, Count, Type, Model, TPS, Diff Total",
            {"Group": "{group}", "Count": "0", "Type": "-", "Model": "OFFLINE", "Diff Total": "1"},
        ),
        Good(
            "",
            "Group, Count, Type, Model, TPS, Diff Total",
            {"Group": "{online}", "Count": "1", "Type": "CONSUME_PASSIVELY", "Model": "CLUSTERING"},
        ),
    ],
    "brokerConsumeStats": [
        Good(
            "-b {broker} -l 1",
            "Topic, Group, Broker Name, QID, Broker Offset, Consumer Offset, Diff, Last Time",
            {"Topic": "{topic}", "Group": "{group}", "QID": "0", "Consumer Offset": "1", "Diff": "1"},
        )
    ],
    "resetOffsetByTime": [
        Good(
            "-g {new} -t {topic} -s 2020-01-01#00:00:00:000",
            OFFSETS,
            {"Broker Name": "{broker_name}", "QID": "0", "Offset": "0"},
            before=(NEW, AT_END),
            shows=progress(0),
        ),
        Good(
            "-g {new} -t {topic} -b {broker} -q 0 -o 0",
            OFFSETS,
            {"Broker Name": "{broker_name}", "QID": "0", "Offset": "0"},
            before=(NEW, AT_END),
            shows=progress(0),
        ),
        Good(
            "-g {new} -t {topic} -b {broker} -q 0 -s now",
            OFFSETS,
            {"QID": "0", "Offset": "2"},
            before=(NEW, "resetOffsetByTime -g {new} -t {topic} -s 0"),
            shows=progress(2),
        ),
    ],
    "skipAccumulatedMessage": [
        Good("-g {new} -t {topic}", OFFSETS, {"QID": "0", "Offset": "2"}, before=(NEW,), shows=progress(2))
    ],
    "cloneGroupOffset": [
        Good(
            "-s {group} -d {new} -t {topic} -o true",
            says="clone group offset success, {group} to {new} on {topic}",
            document={"from": "{group}", "to": "{new}", "topic": "{topic}", "brokers": ["{broker}"]},
            before=(NEW,),
            shows=progress(1),
        )
    ],
    "consumerConnection": [
        Good(
            "-g {online}",
            CLIENTS,
            {"ClientId": "{client}", "Language": "PYTHON"},
            document={
                "connectionSet": {"clientId": "{client}"},
                "subscriptionTable": {"watched": {"subString": "tagA || tagB"}},
            },
        ),
        Good(
            "-g {online} -b {broker}",
            CLIENTS,
            {"ClientId": "{client}"},
            document={"messageModel": "CLUSTERING"},
        ),
    ],
    "consumerStatus": [
        Good(
            "-g {online}",
            "ClientId, Version, Queues",
            {"ClientId": "{client}", "Queues": "3"},
            document={"{client}": {"subscriptionSet": {"topic": "watched"}}},
        ),
        Good("-g {online} -i {client} -s", document={"{client}": {"subscriptionSet": {"topic": "watched"}}}),
    ],
    "producerConnection": [Good("-g shop -t {topic}", CLIENTS, {"Language": "PYTHON"})],
    "producer": [
        Good(
            "-b {broker}",
            "Group, ClientId, Remote, Language, Version",
            {"Group": "shop", "Language": "PYTHON"},
        )
    ],
}

BAD = {
    "updateSubGroup": [
        Bad("-b {broker} -g 'bad name'", 1, "INVALID_PARAMETER (29): the group name 'bad name'"),
        Bad("-b {broker} -g g -r -5", 1, "retryMaxTimes -5 is below -1"),
        Bad("-b {broker} -g g -q few", 2, "'few': a whole number"),
        Bad("-b {broker} -g g -s perhaps", 2, "'perhaps': true or false expected"),
        Bad("-c nowhere -g g", 1, "no cluster is called nowhere"),
    ],
    "deleteSubGroup": [Bad("-c nowhere -g {group}", 1, "no cluster is called nowhere")],
    "setConsumeMode": [
        Bad("-b {broker} -t nothing-here -g {group} -m POP", 1, "TOPIC_NOT_EXIST (17)"),
        Bad("-b {broker} -t {topic} -g {group} -m PUSH", 2, "invalid choice: 'PUSH'"),
        Bad("-b {broker} -t {topic} -g {group} -m POP -q -1", 2, "'-1': a whole number from 0"),
    ],
    "getConsumerConfig": [
        Bad("-g nobody", 1, "SUBSCRIPTION_GROUP_NOT_EXIST (26): no broker has the group nobody")
    ],
    "consumerProgress": [
        OFFLINE,
        Bad("-g nobody -t {topic}", 1, "the group nobody has no offsets and no member"),
    ],
    "brokerConsumeStats": [Bad("-b {broker} -l much", 2, "'much': a whole number")],
    "resetOffsetByTime": [
        Bad("-g {group} -t {topic}", 2, "one of --timestamp, --offset is required"),
        Bad("-g {group} -t {topic} -o 5", 2, "--offset needs --broker and --queue"),
        Bad("-g {group} -t {topic} -s now -q 0", 2, "--broker and --queue go together"),
        Bad("-g {group} -t {topic} -s yesterday", 2, "'yesterday': now, milliseconds or yyyy-MM-dd"),
        Bad("-g {group} -t {topic} -s 99999999999999999999", 2, "now, milliseconds or yyyy-MM-dd"),
        Bad("-g {group} -t {topic} -b {broker} -q 0 -o -1", 2, "'-1': a whole number from 0"),
        Bad("-g {group} -t {topic} -b {broker} -q 0 -o 99", 1, "the offset 99 is outside 0..3 of queue 0"),
        Bad("-g {group} -t {topic} -b {master} -q 0 -o 0", 1, "does not have the topic orders"),
        Bad("-g {group} -t nothing-here -s now", 1, "TOPIC_NOT_EXIST (17)"),
        Bad("-g nobody -t {topic} -s now", 1, "SUBSCRIPTION_GROUP_NOT_EXIST (26)"),
    ],
    "skipAccumulatedMessage": [
        Bad("-g nobody -t {topic}", 1, "SUBSCRIPTION_GROUP_NOT_EXIST (26)"),
        Bad("-g {group} -t nothing-here", 1, "TOPIC_NOT_EXIST (17)"),
    ],
    "cloneGroupOffset": [
        Bad("-s nobody -d {group} -t {topic}", 1, "the group nobody has no offsets and no member"),
        Bad("-s {group} -d x -t watched", 1, "the group billing has no offsets on watched"),
        Bad("-s {group} -d x -t nothing-here", 1, "TOPIC_NOT_EXIST (17)"),
    ],
    "consumerConnection": [OFFLINE, Bad("-g nobody -b {broker}", 1, "CONSUMER_NOT_ONLINE (206)")],
    "consumerStatus": [OFFLINE, Bad("-g {online} -i stranger", 1, "the group online has no member stranger")],
    "producerConnection": [
        Bad("-g nobody -t {topic}", 1, "the producer group[nobody] not exist"),
        Bad("-g shop -t nothing-here", 1, "TOPIC_NOT_EXIST (17)"),
    ],
    "producer": [Bad("-b nonsense", 2, "'nonsense' is not HOST:PORT")],
}
