"""Name servers."""

from __future__ import annotations

from tests.engine.admin.cases.case import Bad, Effect, Good

ORDERED = Effect("updateOrderConf -t {new} -m get", {"orderConf": "admin-a:3"})
PUT = "updateOrderConf -t {new} -m put -v admin-a:3"
STRANGER = Bad("-b stranger", 1, "BROKER_NOT_EXIST (211): no broker is called stranger")


def permission(perm: int) -> Effect:
    return Effect("topicRoute -t {topic}", {"queueDatas": {"perm": perm}})


GOOD = {
    "getNamesrvConfig": [
        Good(
            "",
            "Name server, Name, Value",
            {"Name server": "{namesrv}", "Name": "signalboxAccessControl", "Value": "administration"},
        )
    ],
    "updateNamesrvConfig": [
        Good(
            "-k orderMessageEnable -v true",
            says="update name server config success",
            document={"orderMessageEnable": "true"},
            shows=Effect("getNamesrvConfig", {"name": "orderMessageEnable", "value": "true"}),
            cleanup=("updateNamesrvConfig -k orderMessageEnable -v false",),
        )
    ],
    "updateKvConfig": [
        Good(
            "-s ORDER_TOPIC_CONFIG -k {new} -v admin-a:3",
            says="create or update kv config success",
            document={"{new}": "admin-a:3"},
            shows=ORDERED,
        )
    ],
    "deleteKvConfig": [
        Good(
            "-s ORDER_TOPIC_CONFIG -k {new}",
            says="delete kv config success",
            document={"deleted": "{new}"},
            before=(PUT,),
            hides=ORDERED,
        )
    ],
    "updateOrderConf": [
        Good(
            "-t {new} -m put -v admin-a:3", facts={"topic": "{new}", "orderConf": "admin-a:3"}, shows=ORDERED
        ),
        Good("-t {new} -m delete", facts={"topic": "{new}", "orderConf": "-"}, before=(PUT,), hides=ORDERED),
        Good("-t {new} -m get", facts={"topic": "{new}", "orderConf": "admin-a:3"}, before=(PUT,)),
    ],
    "wipeWritePerm": [
        Good(
            "-b {broker_name}",
            "Name server, Topics",
            {"Name server": "{namesrv}"},
            shows=permission(4),
            cleanup=("addWritePerm -b {broker_name}",),
        )
    ],
    "addWritePerm": [
        Good(
            "-b {broker_name}",
            "Name server, Topics",
            {"Name server": "{namesrv}"},
            before=("wipeWritePerm -b {broker_name}",),
            shows=permission(6),
        )
    ],
}

BAD = {
    "getNamesrvConfig": [Bad("-n nonsense", 2, "'nonsense' is not HOST:PORT")],
    "updateNamesrvConfig": [Bad("-k listenPort -v 1", 1, "NO_PERMISSION (16)")],
    "updateKvConfig": [Bad("-s app -k colour", 2, "-v/--value")],
    "deleteKvConfig": [Bad("-s app", 2, "-k/--key")],
    "updateOrderConf": [
        Bad("-t x -m put", 2, "put needs --orderConf"),
        Bad("-t x -m put -v garbage", 2, "'garbage': BROKER_NAME:QUEUES;… expected"),
        Bad("-t x -m post", 2, "invalid choice: 'post'"),
    ],
    "wipeWritePerm": [STRANGER],
    "addWritePerm": [STRANGER],
}
