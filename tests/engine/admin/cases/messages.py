"""Messages: queries, lists, sends, traces."""

from __future__ import annotations

from tests.engine.admin.cases.case import Bad, Effect, Good

NEW = "updateTopic -b {broker} -t {new} -r 2 -w 2"
LIST = "Message ID, Broker Name, QID, Offset, Tags, Keys, Stored, Body"
FIRST = {
    "Message ID": "{message}",
    "Broker Name": "{broker_name}",
    "QID": "0",
    "Offset": "0",
    "Tags": "tagA",
    "Keys": "order-1 first",
    "Body": "hi there",
}
DETAILS = {
    "OffsetID": "{offset_id}",
    "Message ID": "{message}",
    "Topic": "{topic}",
    "Tags": "tagA",
    "Keys": "order-1 first",
    "Broker Name": "{broker_name}",
    "Queue ID": "0",
    "Queue Offset": "0",
    "Body": "hi there",
}
UNKNOWN = "TOPIC_NOT_EXIST (17): no broker has the topic nothing-here"
NO_QUEUE = "orders has no readable queue 7 on admin-a"

GOOD = {
    "queryMsgById": [Good("-i {offset_id} -t {topic}", facts=DETAILS)],
    "queryMsgByUniqueKey": [
        Good("-t {topic} -i {message}", facts=DETAILS),
        Good("-t {topic} -i {message} -a", LIST, FIRST),
    ],
    "queryMsgByKey": [
        Good("-t {topic} -k order-1 -b 2020-01-01#00:00:00:000 -e now -m 5", LIST, FIRST),
        Good("-t {topic} -k no-such-key", LIST, count=0),
        Good("-t {topic} -k order-1 -e 1", LIST, count=0),
    ],
    "queryMsgByOffset": [Good("-t {topic} -b {broker_name} -i 0 -o 0", facts=DETAILS)],
    "queryCq": [
        Good(
            "-t {topic} -q 0 -i 1 -c 1",
            "Index, CommitLog Offset, Size, Tags Code",
            {"Index": "1", "Tags Code": "0"},
        ),
        Good("-t {topic} -q 0 -i 0 -b {broker}", "Index, CommitLog Offset, Size, Tags Code", {"Index": "0"}),
    ],
    "printMsg": [
        Good("-t {topic}", LIST, FIRST),
        Good("-t {topic}", LIST, {"Offset": "1", "Tags": "-", "Keys": "-", "Body": "ff00"}),
        Good("-t {topic} -s tagA -d false", LIST, FIRST | {"Body": "-"}, count=1),
        Good("-t {topic} -b now", LIST, count=0),
        Good("-t {topic} -e 1", LIST, count=0),
    ],
    "printMsgByQueue": [
        Good("-t {topic} -a {broker_name} -i 0 -b 0 -e now", LIST, FIRST),
        Good("-t {topic} -a {broker_name} -i 1", LIST, count=0),
    ],
    "consumeMessage": [
        Good("-t {topic} -g anybody", LIST, FIRST),
        Good("-t {topic} -b {broker_name} -i 0 -o 1", LIST, {"Offset": "1", "Body": "ff00"}, count=1),
        Good("-t {topic} -c 1", LIST, FIRST, count=1),
        Good("-t {topic} -s now", LIST, count=0),
        Good("-t {topic} -e 1", LIST, count=0),
    ],
    "sendMessage": [
        Good(
            "-t {new} -p 'hello there' -k 'k1 k2' -c tagB -b {broker_name} -i 1",
            "Broker Name, QID, Send Result, Message ID, Offset",
            {"Broker Name": "{broker_name}", "QID": "1", "Send Result": "SEND_OK", "Offset": "0"},
            before=(NEW,),
            shows=Effect(
                "printMsg -t {new}", {"qid": 1, "tags": "tagB", "keys": "k1 k2", "body": "hello there"}
            ),
            is_open=True,
        )
    ],
    "checkMsgSendRT": [
        Good(
            "-t {new} -a 3 -s 10",
            facts={"sent": "3"},
            before=("updateTopic -b {broker} -t {new} -r 1 -w 1",),
            shows=Effect("consumeMessage -t {new}", {"offset": 2, "body": "h" * 10}),
            is_open=True,
        )
    ],
    "queryMsgTraceById": [
        Good(
            "-i {message}",
            "What, Group, At, Cost ms, Status, Details",
            {"What": "sent", "Group": "shop", "Status": "success"},
        )
    ],
}

BAD = {
    "queryMsgById": [
        Bad("-i not-hex", 2, "not an offset message id: 'not-hex'"),
        Bad("-i 0A0000010000000100000000000000FF", 2, "10.0.0.1:1, which is not a broker of this cluster"),
    ],
    "queryMsgByUniqueKey": [
        Bad("-t {topic} -i 7F00", 1, "QUERY_NOT_FOUND (22): no message 7F00 in orders"),
        Bad("-t nothing-here -i 7F00", 1, UNKNOWN),
    ],
    "queryMsgByKey": [
        Bad("-t nothing-here -k k", 1, UNKNOWN),
        Bad("-t {topic} -k k -m 0", 2, "'0': a whole number from 1"),
        Bad("-t {topic} -k k -b tomorrow", 2, "'tomorrow': now, milliseconds"),
    ],
    "queryMsgByOffset": [
        Bad("-t {topic} -b {broker_name} -i 0 -o 77", 1, "no message at 77 of orders@admin-a@0 (0 to 2)"),
        Bad("-t {topic} -b stranger -i 0 -o 0", 1, "BROKER_NOT_EXIST (211)"),
        Bad("-t {topic} -b {broker_name} -i first -o 0", 2, "'first': a whole number"),
        Bad("-t {topic} -b {broker_name} -i 0 -o 99999999999999999999", 2, "a whole number"),
    ],
    "queryCq": [
        Bad("-t {topic} -q 99 -i 0", 1, "99@orders"),
        Bad("-t nothing-here -q 0 -i 0", 1, UNKNOWN),
        Bad("-t {topic} -q 0 -i 0 -c 0", 2, "'0': a whole number from 1"),
    ],
    "printMsg": [Bad("-t nothing-here", 1, UNKNOWN), Bad("-t {topic} -d maybe", 2, "true or false")],
    "printMsgByQueue": [
        Bad("-t {topic} -a {broker_name} -i 7", 1, NO_QUEUE),
        Bad("-t {topic} -a stranger -i 0", 1, "orders has no readable queue 0 on stranger"),
    ],
    "consumeMessage": [
        Bad("-t nothing-here", 1, UNKNOWN),
        Bad("-t {topic} -b {broker_name} -i 7", 1, NO_QUEUE),
        Bad("-t {topic} -b {broker_name}", 2, "--brokerName and --queueId go together"),
        Bad("-t {topic} -o 1", 2, "--offset needs --brokerName and --queueId"),
        Bad("-t {topic} -c 0", 2, "'0': a whole number from 1"),
    ],
    "sendMessage": [
        Bad("-t ../evil -p x", 1, "../evil"),
        Bad("-t {topic} -p x -b {broker_name}", 2, "--broker and --qid go together"),
        Bad("-t {topic} -p x -b {broker_name} -i 7", 1, "orders has no writable queue 7 on admin-a"),
        Bad("-t {topic} -p ''", 2, "the body is empty"),
    ],
    "checkMsgSendRT": [
        Bad("-t {topic} -a 0", 2, "'0': a whole number from 1"),
        Bad("-t {topic} -s 999999999999", 2, "a whole number from 1 to 4194304"),
    ],
    "queryMsgTraceById": [
        Bad("-i 7F00", 1, "QUERY_NOT_FOUND (22): nothing is traced about 7F00"),
        Bad("-i 7F00 -t nothing-here", 1, UNKNOWN),
    ],
}
