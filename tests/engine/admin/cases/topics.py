"""Topics."""

from __future__ import annotations

from tests.engine.admin.cases.case import Bad, Effect, Good

NEW = "updateTopic -c {cluster} -t {new}"
UNKNOWN = Bad("-t nothing-here", 1, "TOPIC_NOT_EXIST (17): no broker has the topic nothing-here")


def queues(**part: object) -> Effect:
    return Effect("topicRoute -t {new}", {"queueDatas": {"brokerName": "{broker_name}", **part}})


GOOD = {
    "topicList": [
        Good("", "Topic", {"Topic": "{topic}"}),
        Good(
            "-c",
            "Cluster, Topic, Consumer groups",
            {"Cluster": "{cluster}", "Topic": "watched", "Consumer groups": "{online}"},
        ),
    ],
    "topicRoute": [
        Good(
            "-t {topic} -l",
            "Cluster, Broker, Addresses, Read queues, Write queues, Perm",
            {
                "Cluster": "{cluster}",
                "Broker": "{broker_name}",
                "Addresses": "0={broker}",
                "Read queues": "2",
                "Write queues": "2",
                "Perm": "6",
            },
            document={"queueDatas": {"readQueueNums": 2}, "brokerDatas": {"brokerAddrs": {"0": "{broker}"}}},
        )
    ],
    "topicClusterList": [Good("-t {topic}", "Cluster", {"Cluster": "{cluster}"})],
    "topicStatus": [
        Good(
            "-t {topic} -c {cluster}",
            "Broker Name, QID, Min Offset, Max Offset, Last Updated",
            {"Broker Name": "{broker_name}", "QID": "0", "Min Offset": "0", "Max Offset": "2"},
        )
    ],
    "updateTopic": [
        Good(
            "-b {broker} -t {new} -r 3 -w 2 -p 4 -a +message.type=FIFO",
            says="create topic {new} to {broker} success",
            document={"topic": "{new}", "brokers": ["{broker}"], "config": {"readQueueNums": 3, "perm": 4}},
            shows=Effect(
                "exportMetadata -b {broker} -t",
                {
                    "{broker}": {
                        "topics": {
                            "{new}": {
                                "readQueueNums": 3,
                                "writeQueueNums": 2,
                                "perm": 4,
                                "attributes": {"message.type": "FIFO"},
                            }
                        }
                    }
                },
            ),
        ),
        Good(
            "-c {cluster} -t {new} -w 5 -o true -u true -s true",
            says="create topic {new} to {broker}, {master} success",
            document={"config": {"order": True, "topicSysFlag": 3}},
            shows=Effect("updateOrderConf -t {new} -m get", {"orderConf": "admin-a:5;admin-g:5"}),
        ),
    ],
    "updateTopicPerm": [
        Good(
            "-t {new} -p 4",
            "Broker, Topic, From, To",
            {"Broker": "{broker}", "Topic": "{new}", "From": "6", "To": "4"},
            before=(NEW,),
            shows=queues(perm=4),
        )
    ],
    "deleteTopic": [
        Good(
            "-t {new} -c {cluster}",
            says="delete topic [{new}] from cluster [{cluster}] success",
            document={"topic": "{new}", "cluster": "{cluster}"},
            before=(NEW,),
            hides=Effect("topicList", {"topic": "{new}"}),
        )
    ],
    "allocateMQ": [
        Good(
            "-t {topic} -i 'c2, c1'",
            "Client, Broker Name, QID",
            {"Client": "c2", "Broker Name": "{broker_name}", "QID": "1"},
        )
    ],
    "statsAll": [
        Good(
            "-t {topic}",
            "Topic, Consumer group, In TPS, Out TPS, In 24h, Out 24h",
            {"Topic": "{topic}", "Consumer group": "{group}", "In 24h": "2", "Out 24h": "0"},
        ),
        Good("", "Topic, Consumer group, In TPS, Out TPS, In 24h, Out 24h", {"Topic": "{topic}"}),
    ],
}

BAD = {
    "topicList": [Bad("orders", 2, "unrecognized arguments: orders")],
    "topicRoute": [UNKNOWN],
    "topicClusterList": [UNKNOWN],
    "topicStatus": [UNKNOWN, Bad("-t {topic} -c nowhere", 1, "no cluster is called nowhere")],
    "updateTopic": [
        Bad("-t x", 2, "one of --brokerAddr, --clusterName is required"),
        Bad("-t x -c nowhere", 1, "BROKER_NOT_EXIST (211): no cluster is called nowhere"),
        Bad("-t x -b nonsense", 2, "'nonsense' is not HOST:PORT"),
        Bad("-t x -b {slave}", 1, "from master broker"),
        Bad("-t x -b {broker} -r many", 2, "-r/--readQueueNums: 'many': a whole number from"),
        Bad("-t x -b {broker} -r 99999999999999999999", 2, "a whole number from"),
        Bad("-t x -b {broker} -r -5", 1, "INVALID_PARAMETER (29): readQueueNums -5 is outside 1..65536"),
        Bad("-t x -b {broker} -p 9", 2, "invalid choice: '9'"),
        Bad("-t x -b {broker} -o perhaps", 2, "'perhaps': true or false expected"),
        Bad("-t x -b {broker} -a colour", 2, "the attribute 'colour' is neither +name=value nor -name"),
        Bad("-t x -b {broker} -a +colour=blue", 1, "unknown topic attribute colour"),
        Bad("-t ../evil -b {broker}", 1, "INVALID_PARAMETER (29)"),
        Bad("-t '' -b {broker}", 1, "the topic name is blank"),
    ],
    "updateTopicPerm": [
        Bad("-t nothing-here -p 4", 1, "TOPIC_NOT_EXIST (17)"),
        Bad("-t nothing-here -p 4 -b {broker}", 1, "TOPIC_NOT_EXIST (17)"),
        Bad("-t {topic} -p 5", 2, "invalid choice: '5'"),
    ],
    "deleteTopic": [Bad("-t {topic} -c nowhere", 1, "no cluster is called nowhere")],
    "allocateMQ": [
        Bad("-t nothing-here -i c1", 1, "TOPIC_NOT_EXIST (17)"),
        Bad("-t {topic} -i ,", 2, "',': names separated by commas expected"),
    ],
    "statsAll": [UNKNOWN],
}
