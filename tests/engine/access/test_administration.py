"""Access control `administration`, over real processes: every request code × {anonymous, administrator, plain
user, wrong signature}, and the attacks that it is there for.

What counts as a change is written down here by hand, apart from the table of rules: a change of the table
that opens a code must be made twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from engine.access.rules import BROKER_RULES, NAMESRV_RULES, Effect, guarded_codes
from engine.broker.admin.refused_codes import REFUSALS
from engine.client import Message, Producer
from engine.client.admin import Admin
from engine.net.requester import Requester
from engine.protocol.bodies.auth import UserInfo
from engine.protocol.codes import RequestCode as Q
from engine.protocol.commands import Command
from engine.protocol.signing import Credentials
from tests.engine.access.test_matrix import ADMIN, CLUSTER, FIELDS, OTHER, PLAIN, Asker, refused_codes
from tests.engine.client.servers import Daemon, start_broker, start_name_server

BROKER_CHANGES = {
    *(Q.UPDATE_AND_CREATE_TOPIC, Q.UPDATE_AND_CREATE_TOPIC_LIST, Q.DELETE_TOPIC_IN_BROKER),
    *(Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST),
    *(Q.DELETE_SUBSCRIPTIONGROUP, Q.UPDATE_AND_GET_GROUP_FORBIDDEN, Q.SET_MESSAGE_REQUEST_MODE),
    *(Q.INVOKE_BROKER_TO_RESET_OFFSET, Q.CLONE_GROUP_OFFSET),
    *(Q.UPDATE_BROKER_CONFIG, Q.CLEAN_EXPIRED_CONSUMEQUEUE, Q.CLEAN_UNUSED_TOPIC, Q.DELETE_EXPIRED_COMMITLOG),
    *(Q.RESUME_CHECK_HALF_MESSAGE, Q.SIGNALBOX_GROUP_PROMOTE),
    *(Q.SIGNALBOX_REPLICA_STATE, Q.EXCHANGE_BROKER_HA_INFO, Q.RESET_MASTER_FLUSH_OFFSET),
    *(Q.SIGNALBOX_GROUP_PROMISE, Q.SIGNALBOX_GROUP_CROWN, Q.SIGNALBOX_GROUP_FOLLOW),
    *(Q.SIGNALBOX_GROUP_HAND_OVER, Q.SIGNALBOX_GROUP_RECORD, Q.SIGNALBOX_GROUP_SKIPS),
    *(Q.AUTH_CREATE_USER, Q.AUTH_UPDATE_USER, Q.AUTH_DELETE_USER),
    *(Q.AUTH_CREATE_ACL, Q.AUTH_UPDATE_ACL, Q.AUTH_DELETE_ACL),
    *(Q.UPDATE_AND_CREATE_ACL_CONFIG, Q.DELETE_ACL_CONFIG, Q.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG),
}
NAMESRV_CHANGES = {
    *(Q.REGISTER_BROKER, Q.UNREGISTER_BROKER, Q.BROKER_HEARTBEAT, Q.QUERY_DATA_VERSION),
    *(Q.PUT_KV_CONFIG, Q.DELETE_KV_CONFIG, Q.WIPE_WRITE_PERM_OF_BROKER, Q.ADD_WRITE_PERM_OF_BROKER),
    *(Q.DELETE_TOPIC_IN_NAMESRV, Q.REGISTER_TOPIC_IN_NAMESRV, Q.UPDATE_NAMESRV_CONFIG),
}
CODES = sorted({*map(int, BROKER_RULES), *map(int, REFUSALS)})
NAMESRV_CODES = sorted(map(int, NAMESRV_RULES))
GUESSED = Credentials(ADMIN.access_key, "guessed")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("administration")


@pytest.fixture(scope="module")
def settings() -> dict[str, str]:
    inner = json.dumps({"accessKey": CLUSTER.access_key, "secretKey": CLUSTER.secret_key})
    return {"signalboxAccessControl": "administration", "innerClientAuthenticationCredentials": inner}


@pytest.fixture(scope="module")
def name_server(home: Path, settings: dict[str, str]) -> Iterator[Daemon]:
    users = home / "users.yml"
    account = {"accessKey": ADMIN.access_key, "secretKey": ADMIN.secret_key, "admin": True}
    users.write_text(json.dumps({"accounts": [account]}))
    users.chmod(0o600)
    daemon = start_name_server(home, **settings, signalboxUserFile=str(users))
    yield daemon
    daemon.stop()


@pytest.fixture(scope="module")
def broker(home: Path, name_server: Daemon, settings: dict[str, str]) -> Iterator[Daemon]:
    daemon = start_broker(
        home,
        name_server.address,
        **settings,
        initAuthenticationUser=json.dumps({"username": ADMIN.access_key, "password": ADMIN.secret_key}),
        signalboxSecretKeyFile=str(home / "keys" / "secret.key"),
    )
    asyncio.run(_create_plain_user(daemon.address))
    yield daemon
    daemon.stop()


async def _create_plain_user(address: str) -> None:
    admin = Asker(address, ADMIN)
    info = UserInfo(None, PLAIN.secret_key, "Normal", None).encode()
    assert (await admin.ask(Q.AUTH_CREATE_USER, {"username": PLAIN.access_key}, info)).code == 0
    await admin.close()


async def _ask(address: str, who: Credentials | None, command: Command) -> Command:
    requester = Requester(lambda request, connection: None, credentials=who)
    try:
        return await requester.request(address, command, 20_000)
    finally:
        await requester.close()


def test_every_row_says_what_it_does_and_no_change_is_open() -> None:
    for rules, changes in ((BROKER_RULES, BROKER_CHANGES), (NAMESRV_RULES, NAMESRV_CHANGES)):
        assert all(isinstance(rule.effect, Effect) for rule in rules.values())
        assert guarded_codes(rules, rules) == changes


def test_a_handled_code_without_a_row_is_guarded() -> None:
    assert guarded_codes(BROKER_RULES, {9999, Q.SEND_MESSAGE}) == {9999}


async def test_without_a_signature_everything_but_changes_is_open(
    name_server: Daemon, broker: Daemon
) -> None:
    assert await refused_codes(broker.address, None, [*CODES, 12345]) == BROKER_CHANGES
    assert await refused_codes(name_server.address, None, [*NAMESRV_CODES, 12345]) == NAMESRV_CHANGES


async def test_a_wrong_signature_is_refused_on_reads_too(name_server: Daemon, broker: Daemon) -> None:
    for who in (GUESSED, OTHER):
        assert await refused_codes(broker.address, who, CODES) == set(CODES)
        assert await refused_codes(name_server.address, who, NAMESRV_CODES) == set(NAMESRV_CODES)


async def test_a_user_without_rights_may_do_what_anybody_may(broker: Daemon) -> None:
    assert await refused_codes(broker.address, PLAIN, CODES) == BROKER_CHANGES


async def test_an_administrator_may_do_everything(name_server: Daemon, broker: Daemon) -> None:
    assert await refused_codes(broker.address, ADMIN, CODES) == set()
    assert await refused_codes(name_server.address, ADMIN, NAMESRV_CODES) == set()
    assert await refused_codes(name_server.address, CLUSTER, NAMESRV_CODES) == set()


# -- the attacks of a process that has no credentials --------------------------------------------------------


async def test_a_stranger_cannot_wipe_register_or_shorten_retention(
    name_server: Daemon, broker: Daemon
) -> None:
    wipe = Command(Q.WIPE_WRITE_PERM_OF_BROKER, fields={"brokerName": "client-a"})
    register = Command(
        Q.REGISTER_BROKER,
        fields={**FIELDS, "brokerName": "evil", "clusterName": "ClientCluster", "brokerAddr": "127.0.0.1:1"},
        body=orjson.dumps({"topicConfigSerializeWrapper": {"topicConfigTable": {}}}),
    )
    retention = Command(Q.UPDATE_BROKER_CONFIG, body=b"fileReservedTime=1\n")
    async with Admin(namesrv=name_server.address) as admin:
        before = await admin.brokers.config(broker.address)
    for address, attack in (
        (name_server.address, wipe),
        (name_server.address, register),
        (broker.address, retention),
    ):
        answer = await _ask(address, None, attack)
        assert answer.code == 16, answer
        assert "signalboxAccessControl=administration" in str(answer.remark)
    async with Admin(namesrv=name_server.address) as admin:
        cluster = await admin.cluster.info()
        after = await admin.brokers.config(broker.address)
    assert "client-a" in cluster.broker_addr_table and "evil" not in cluster.broker_addr_table
    assert after["fileReservedTime"] == before["fileReservedTime"] != "1"


async def test_a_recorded_signature_of_another_request_is_no_signature(broker: Daemon) -> None:
    asked = Command(Q.UPDATE_BROKER_CONFIG, body=b"fileReservedTime=48\n")
    assert (await _ask(broker.address, ADMIN, asked)).code == 0
    forged = Command(Q.UPDATE_BROKER_CONFIG, fields=dict(asked.fields), body=b"fileReservedTime=1\n")
    answer = await _ask(broker.address, None, forged)
    assert answer.code == 16 and "signature" in str(answer.remark)
    again = Command(Q.UPDATE_BROKER_CONFIG, body=b"fileReservedTime=72\n")
    assert (await _ask(broker.address, ADMIN, again)).code == 0


async def test_applications_need_no_credentials(name_server: Daemon, broker: Daemon) -> None:
    async with Producer("shop", namesrv=name_server.address) as producer:
        sent = await producer.send(Message("auto-created", b"hello"))
    assert sent.queue_offset == 0
    async with Admin(namesrv=name_server.address) as admin:
        queues = await admin.messages.queues("auto-created")
    assert {queue.broker_name for queue in queues} == {"client-a"}
