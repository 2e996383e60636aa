"""Every request code × {anonymous, plain user, other team's user, revoked user, admin}, over real processes.

What a plain user may is written down here by hand, apart from the table of rules: a change of the table that
lets somebody in must be made twice. Every answer is searched for the secrets, and so are the logs.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from engine.access.rules import BROKER_RULES, NAMESRV_RULES
from engine.broker.admin.refused_codes import REFUSALS
from engine.net.requester import Requester
from engine.protocol.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from engine.protocol.bodies.basics import MessageQueue
from engine.protocol.bodies.clients import (
    CheckClientRequestBody,
    ConsumerData,
    HeartbeatData,
    SubscriptionData,
)
from engine.protocol.bodies.groups import LockBatchRequestBody, SubscriptionGroupConfig, SubscriptionGroupList
from engine.protocol.bodies.topics import CreateTopicListRequestBody, TopicConfig
from engine.protocol.codes import RequestCode as Q
from engine.protocol.commands import Command
from engine.protocol.signing import Credentials
from tests.engine.client.servers import Daemon, start_broker, start_name_server

CANARY = "canary-7d1e"
ADMIN = Credentials("admin-user", f"{CANARY}-admin")
CLUSTER = Credentials("cluster-user", f"{CANARY}-cluster")
PLAIN = Credentials("team-a-user", f"{CANARY}-a")
OTHER = Credentials("team-b-user", f"{CANARY}-b")
REVOKED = Credentials("gone-user", f"{CANARY}-gone")
TOPIC, GROUP = "a-topic", "a-group"

PLAIN_MAY = {
    *(Q.SEND_MESSAGE, Q.SEND_MESSAGE_V2, Q.SEND_BATCH_MESSAGE, Q.SEND_REPLY_MESSAGE, Q.SEND_REPLY_MESSAGE_V2),
    *(Q.CONSUMER_SEND_MSG_BACK, Q.END_TRANSACTION, Q.RECALL_MESSAGE),
    *(Q.PULL_MESSAGE, Q.LITE_PULL_MESSAGE, Q.POP_MESSAGE, Q.PEEK_MESSAGE, Q.NOTIFICATION, Q.POLLING_INFO),
    *(Q.ACK_MESSAGE, Q.BATCH_ACK_MESSAGE, Q.CHANGE_MESSAGE_INVISIBLETIME),
    *(Q.QUERY_MESSAGE, Q.VIEW_MESSAGE_BY_ID, Q.QUERY_CONSUME_QUEUE),
    *(Q.HEART_BEAT, Q.UNREGISTER_CLIENT, Q.CHECK_CLIENT_CONFIG, Q.GET_CONSUMER_LIST_BY_GROUP),
    *(Q.LOCK_BATCH_MQ, Q.UNLOCK_BATCH_MQ, Q.QUERY_ASSIGNMENT),
    *(Q.QUERY_CONSUMER_OFFSET, Q.UPDATE_CONSUMER_OFFSET, Q.SEARCH_OFFSET_BY_TIMESTAMP),
    *(Q.GET_MAX_OFFSET, Q.GET_MIN_OFFSET, Q.GET_EARLIEST_MSG_STORETIME, Q.QUERY_CORRECTION_OFFSET),
    *(Q.GET_TOPIC_CONFIG, Q.GET_TOPIC_STATS_INFO, Q.QUERY_TOPIC_CONSUME_BY_WHO),
    *(Q.GET_SUBSCRIPTIONGROUP_CONFIG, Q.GET_CONSUME_STATS, Q.QUERY_CONSUME_TIME_SPAN),
    *(Q.QUERY_TOPICS_BY_CONSUMER, Q.QUERY_SUBSCRIPTION_BY_CONSUMER, Q.GET_CONSUMER_CONNECTION_LIST),
    *(Q.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, Q.GET_CONSUMER_RUNNING_INFO, Q.CONSUME_MESSAGE_DIRECTLY),
}
"""With Pub, Sub and Get on its own topics and groups, and requests that name these."""

NAMESRV_PLAIN_MAY = {
    *(Q.GET_ROUTEINFO_BY_TOPIC, Q.GET_BROKER_CLUSTER_INFO, Q.GET_KV_CONFIG, Q.GET_KVLIST_BY_NAMESPACE),
    *(Q.GET_BROKER_MEMBER_GROUP, Q.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, Q.GET_TOPICS_BY_CLUSTER),
    *(Q.GET_SYSTEM_TOPIC_LIST_FROM_NS, Q.GET_UNIT_TOPIC_LIST, Q.GET_HAS_UNIT_SUB_TOPIC_LIST),
    *(Q.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, Q.GET_NAMESRV_CONFIG),
}

FIELDS = {
    **dict.fromkeys(("topic", "b", "originTopic"), TOPIC),
    **dict.fromkeys(("group", "consumerGroup", "groupName", "srcGroup", "destGroup", "compareGroup"), GROUP),
    **dict.fromkeys(("producerGroup", "a"), "producers"),
    **dict.fromkeys(("defaultTopic", "c"), "TBW102"),
    **dict.fromkeys(
        ("queueId", "e", "offset", "queueOffset", "commitOffset", "sysFlag", "f", "flag", "h"), "0"
    ),
    **dict.fromkeys(("defaultTopicQueueNums", "d", "maxMsgNums", "count", "maxNum", "readQueueNums"), "1"),
    **dict.fromkeys(("bornTimestamp", "g", "bornTime", "timestamp", "beginTimestamp"), "1"),
    **dict.fromkeys(("suspendTimeoutMillis", "pollTime", "subVersion", "initMode", "index"), "0"),
    **dict.fromkeys(("clientID", "clientId", "msgId", "key", "recallHandle", "extraInfo"), "x"),
    **dict.fromkeys(("invisibleTime", "endTimestamp", "commitLogOffset", "tranStateTableOffset"), "1000"),
    **dict.fromkeys(("username", "subject", "accessKey", "globalWhiteAddrs"), "nobody"),
    **dict.fromkeys(("brokerName", "brokerAddr", "clusterName", "cluster", "haServerAddr", "namespace"), "x"),
    "commitOrRollback": "8",
    "delayLevel": "0",
    "brokerId": "0",
    "perm": "6",
    "writeQueueNums": "1",
    "topicFilterType": "SINGLE_TAG",
    "order": "false",
    "isForce": "false",
    "value": "v",
    "statsName": "TOPIC_PUT_NUMS",
    "statsKey": TOPIC,
    "masterFlushOffset": "0",
    "properties": "",
    "i": "",
}
_QUEUES = (MessageQueue(TOPIC, "client-a", 0),)
_SUBSCRIPTION = SubscriptionData(TOPIC)
BODIES: dict[int, bytes] = {
    Q.HEART_BEAT: HeartbeatData(
        "c", (), (ConsumerData(GROUP, subscription_data_set=(_SUBSCRIPTION,)),)
    ).encode(),
    Q.CHECK_CLIENT_CONFIG: CheckClientRequestBody("c", GROUP, None, _SUBSCRIPTION).encode(),
    Q.LOCK_BATCH_MQ: LockBatchRequestBody(GROUP, "c", _QUEUES).encode(),
    Q.UNLOCK_BATCH_MQ: LockBatchRequestBody(GROUP, "c", _QUEUES).encode(),
    Q.QUERY_ASSIGNMENT: orjson.dumps({"topic": TOPIC, "consumerGroup": GROUP, "clientId": "c"}),
    Q.SET_MESSAGE_REQUEST_MODE: orjson.dumps({"topic": TOPIC, "consumerGroup": GROUP, "mode": "PULL"}),
    Q.BATCH_ACK_MESSAGE: orjson.dumps({"brokerName": "b", "acks": [{"c": GROUP, "t": TOPIC}]}),
    Q.UPDATE_AND_CREATE_TOPIC_LIST: CreateTopicListRequestBody((TopicConfig(TOPIC, 1, 1),)).encode(),
    Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: SubscriptionGroupConfig(GROUP).encode(),
    Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: SubscriptionGroupList(
        (SubscriptionGroupConfig(GROUP),)
    ).encode(),
    Q.REGISTER_TOPIC_IN_NAMESRV: b'{"queueDatas":[]}',
    Q.QUERY_DATA_VERSION: b'{"counter":0,"timestamp":0}',
    Q.AUTH_CREATE_USER: UserInfo(None, f"{CANARY}-new", "Normal", None).encode(),
    Q.AUTH_UPDATE_USER: UserInfo(None, f"{CANARY}-new", "Normal", None).encode(),
}
GATE_SAYS = (
    "has no permission to access",
    "no super user",
    "username cannot be null",
    "is not found.",
    "is disabled.",
    "check signature failed",
)


class Asker:
    """Signs as one user; keeps every answer for the search."""

    seen: list[Command] = []

    def __init__(self, address: str, who: Credentials | None) -> None:
        self._address = address
        self._requester = Requester(lambda request, connection: None, credentials=who)

    async def ask(
        self, code: int, fields: dict[str, str] | None = None, body: bytes | None = None
    ) -> Command:
        given = dict(FIELDS if fields is None else fields)
        command = Command(code, fields=given, body=BODIES.get(code, b"") if body is None else body)
        answer = await self._requester.request(self._address, command, 20_000)
        self.seen.append(answer)
        return answer

    async def refused(self, code: int) -> bool:
        answer = await self.ask(code)
        by_gate = any(words in (answer.remark or "") for words in GATE_SAYS)
        assert not by_gate or answer.code == 16
        return by_gate

    async def close(self) -> None:
        await self._requester.close()


async def refused_codes(address: str, who: Credentials | None, codes: list[int]) -> set[int]:
    asker = Asker(address, who)
    found = {code for code in codes if await asker.refused(code)}
    await asker.close()
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrix")


@pytest.fixture(scope="module")
def settings(home: Path) -> dict[str, str]:
    inner = json.dumps({"accessKey": CLUSTER.access_key, "secretKey": CLUSTER.secret_key})
    on = {"authenticationEnabled": "true", "authorizationEnabled": "true"}
    return {**on, "innerClientAuthenticationCredentials": inner}


@pytest.fixture(scope="module")
def name_server(home: Path, settings: dict[str, str]) -> Iterator[Daemon]:
    users = home / "users.yml"

    def account(who: Credentials, **more: object) -> dict[str, object]:
        return {"accessKey": who.access_key, "secretKey": who.secret_key, **more}

    mine = {"topicPerms": [f"{TOPIC}=PUB|SUB"]}
    accounts = [account(ADMIN, admin=True), account(PLAIN, **mine), account(OTHER)]
    users.write_text(json.dumps({"accounts": accounts}))
    users.chmod(0o600)
    daemon = start_name_server(home, **settings, signalboxUserFile=str(users))
    yield daemon
    daemon.stop()


@pytest.fixture(scope="module")
def broker(home: Path, name_server: Daemon, settings: dict[str, str]) -> Iterator[Daemon]:
    first = json.dumps({"username": ADMIN.access_key, "password": ADMIN.secret_key})
    daemon = start_broker(
        home,
        name_server.address,
        **settings,
        initAuthenticationUser=first,
        signalboxSecretKeyFile=str(home / "keys" / "secret.key"),
    )
    asyncio.run(_set_up(daemon.address))
    yield daemon
    daemon.stop()


async def _set_up(address: str) -> None:
    admin = Asker(address, ADMIN)
    for who, team in ((PLAIN, "a"), (OTHER, "b"), (REVOKED, "a")):
        info = UserInfo(None, who.secret_key, "Normal", None).encode()
        assert (await admin.ask(Q.AUTH_CREATE_USER, {"username": who.access_key}, info)).code == 0
        entries = tuple(
            PolicyEntryInfo(resource, ("Pub", "Sub", "Get"), None, "Allow")
            for resource in (f"Topic:{team}-*", f"Group:{team}-*")
        )
        acl = AclInfo(None, (PolicyInfo(None, entries),)).encode()
        assert (await admin.ask(Q.AUTH_CREATE_ACL, {"subject": f"User:{who.access_key}"}, acl)).code == 0
    off = UserInfo(None, None, None, "disable").encode()
    assert (await admin.ask(Q.AUTH_UPDATE_USER, {"username": REVOKED.access_key}, off)).code == 0
    topic = {**FIELDS, "topic": TOPIC, "perm": "6"}
    assert (await admin.ask(Q.UPDATE_AND_CREATE_TOPIC, topic)).code == 0
    await admin.close()


CODES = sorted({*map(int, BROKER_RULES), *map(int, REFUSALS)})
DECLINED = set(map(int, REFUSALS))


@pytest.mark.parametrize("who", [None, REVOKED, Credentials("admin-user", "guessed"), Credentials("x", "y")])
async def test_who_is_not_known_gets_nothing_at_all(broker: Daemon, who: Credentials | None) -> None:
    assert await refused_codes(broker.address, who, [*CODES, 12345]) == {*CODES, 12345}


async def test_a_plain_user_gets_what_is_its_own(broker: Daemon) -> None:
    allowed = {int(code) for code in PLAIN_MAY} | DECLINED
    assert await refused_codes(broker.address, PLAIN, CODES) == set(CODES) - allowed


async def test_another_teams_user_gets_nothing_of_it(broker: Daemon) -> None:
    assert await refused_codes(broker.address, OTHER, CODES) == set(CODES) - DECLINED


async def test_an_admin_gets_everything(broker: Daemon) -> None:
    assert await refused_codes(broker.address, ADMIN, CODES) == set()


async def test_the_name_server_has_the_same_rules(name_server: Daemon, broker: Daemon) -> None:
    codes = sorted(map(int, NAMESRV_RULES))
    own = {int(code) for code in NAMESRV_PLAIN_MAY}
    route = {int(Q.GET_ROUTEINFO_BY_TOPIC)}
    assert await refused_codes(name_server.address, None, codes) == set(codes)
    assert await refused_codes(name_server.address, REVOKED, codes) == set(codes)
    assert await refused_codes(name_server.address, PLAIN, codes) == set(codes) - own
    assert await refused_codes(name_server.address, OTHER, codes) == set(codes) - own | route
    assert await refused_codes(name_server.address, ADMIN, codes) == set()


async def test_no_secret_in_any_answer_log_or_file(home: Path, broker: Daemon) -> None:
    for who in (None, REVOKED, PLAIN, OTHER, ADMIN, CLUSTER):
        await refused_codes(broker.address, who, CODES)
    admin = Asker(broker.address, ADMIN)
    for bad in (b"[", b'{"password":["canary-7d1e"]}', b'{"password":"canary-7d1e","userType":"canary"}'):
        await admin.ask(Q.AUTH_CREATE_USER, {"username": "carol"}, bad)
        await admin.ask(Q.AUTH_UPDATE_USER, {"username": "team-a-user"}, bad)
    for code in (Q.GET_BROKER_CONFIG, Q.AUTH_LIST_USER, Q.AUTH_LIST_ACL, Q.GET_BROKER_RUNTIME_INFO):
        assert (await admin.ask(code, {})).code == 0
    await admin.close()
    assert len(Asker.seen) > 500
    for answer in Asker.seen:
        assert CANARY not in f"{answer.remark} {answer.fields}" and CANARY.encode() not in bytes(answer.body)
    logs = [path for path in home.rglob("*") if path.is_file() and ".log" in path.name]
    assert logs
    for path in [*logs, *(home / "store").rglob("*")]:
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path
