"""The two daemons under fire: what an honest client would send them, and what they must always answer."""

from __future__ import annotations

from engine.protocol.codes import RequestCode
from tests.crash import requests as rq
from tests.crash.load import GROUP, TOPIC
from tests.fuzz.mutants import request

ALL_CODES = [int(code) for code in RequestCode]

NAMESRV_GOOD = (int(RequestCode.GET_BROKER_CLUSTER_INFO), dict[str, str]())
BROKER_GOOD = (rq.GET_MAX_OFFSET, rq.queue_fields(TOPIC, 0))

_HEARTBEAT = (
    b'{"clientID":"c@1","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":'
    b'"CONSUME_PASSIVELY","groupName":"G","messageModel":"CLUSTERING","subscriptionDataSet":[{"classFilterMode":false,'
    b'"codeSet":[],"expressionType":"TAG","subString":"*","subVersion":1,"tagsSet":[],"topic":"T"}],"unitMode":false}],'
    b'"producerDataSet":[{"groupName":"P"}]}'
)
_REGISTRATION = (
    b'{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":1,"stateVersion":0,'
    b'"timestamp":1},"topicConfigTable":{"T":{"order":false,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG",'
    b'"topicName":"T","topicSysFlag":0,"writeQueueNums":4}}}}'
)
_BROKER = {"brokerName": "x", "brokerAddr": "127.0.0.1:1", "clusterName": "C", "brokerId": "0"}

NAMESRV_TEMPLATES = [
    request(105, 1, {"topic": "T"}),
    request(106, 2),
    request(100, 3, {"namespace": "n", "key": "k", "value": "v"}),
    request(101, 4, {"namespace": "n", "key": "k"}),
    request(103, 5, {**_BROKER, "haServerAddr": "127.0.0.1:2", "compressed": "false"}, _REGISTRATION),
    request(322, 6, _BROKER, b'{"counter":1,"stateVersion":0,"timestamp":1}'),
    request(104, 7, _BROKER),
    request(318, 8, None, b"a=b\nlistenPort=1\n"),
]

BROKER_TEMPLATES = [
    request(310, 1, rq.send_fields(TOPIC, 0, "k"), b"body"),
    request(
        320, 2, {**rq.send_fields(TOPIC, 0, "k"), "m": "true"}, b"\0\0\0\x17" + b"\0" * 12 + b"\0\0\0\1x\0\0"
    ),
    request(11, 3, rq.pull_fields(TOPIC, GROUP, 0, 0)),
    request(11, 4, rq.pull_fields(TOPIC, GROUP, 0, 1 << 40, suspend_ms=100)),
    request(34, 5, None, _HEARTBEAT),
    request(15, 6, rq.commit_fields(TOPIC, GROUP, 0, 0)),
    request(14, 7, rq.fetch_fields(TOPIC, GROUP, 0)),
    request(17, 8, rq.topic_fields("Other", 4)),
    request(
        41,
        9,
        None,
        b'{"clientId":"c","consumerGroup":"G","mqSet":[{"brokerName":"b","queueId":0,"topic":"T"}]}',
    ),
    request(12, 10, {"topic": TOPIC, "key": "k", "maxNum": "32", "beginTimestamp": "0", "endTimestamp": "9"}),
    request(33, 11, {"offset": "0"}),
    request(29, 12, {**rq.queue_fields(TOPIC, 0), "timestamp": "0"}),
    request(25, 13, None, b"flushDiskType=SYNC_FLUSH\nrocketmqHome=/x\n"),
    request(36, 14, {"offset": "0", "group": GROUP, "delayLevel": "1"}),
    request(35, 15, {"clientID": "c", "producerGroup": "P", "consumerGroup": "G"}),
]
