"""ACL 2.0 over a real broker: users and policies as RocketMQ's tools manage them, and what they allow."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from engine.errors import BadInput
from engine.net.requester import Requester
from engine.protocol.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from engine.protocol.codes import RequestCode as Q
from engine.protocol.commands import Command
from engine.protocol.signing import Credentials
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import Peer, RunningBroker, records

ADMIN = Credentials("admin", "canary-admin-secret")
ALICE = Credentials("alice", "canary-alice-secret")
BOB = Credentials("bob", "canary-bob-secret")


class SignedPeer(Peer):
    def __init__(self, address: str, who: Credentials | None, client_id: str = "client-1") -> None:
        super().__init__(address, client_id)
        self._requester = Requester(self._hear, credentials=who)

    async def create_user(self, who: Credentials, kind: str = "Normal") -> Command:
        info = UserInfo(None, who.secret_key, kind, "enable")
        return await self.ask(Q.AUTH_CREATE_USER, {"username": who.access_key}, info.encode())

    async def allow(self, user: str, *rows: tuple[str, str]) -> Command:
        entries = tuple(PolicyEntryInfo(resource, tuple(a.split(",")), None, "Allow") for resource, a in rows)
        info = AclInfo(None, (PolicyInfo("Custom", entries),))
        return await self.ask(Q.AUTH_CREATE_ACL, {"subject": f"User:{user}"}, info.encode())


def acl2(tmp_path: Path, **more: str) -> dict[str, str]:
    return {
        "authenticationEnabled": "true",
        "authorizationEnabled": "true",
        "initAuthenticationUser": orjson.dumps({"username": "admin", "password": ADMIN.secret_key}).decode(),
        "signalboxSecretKeyFile": str(tmp_path / "keys" / "secret.key"),
        **more,
    }


@pytest.fixture
async def broker(start_broker: StartBroker, tmp_path: Path) -> RunningBroker:
    return await start_broker(**acl2(tmp_path))


@pytest.fixture
async def peers(broker: RunningBroker) -> AsyncIterator[dict[str, SignedPeer]]:
    """admin, alice (orders, group billing), bob (nothing), nobody (unsigned)."""
    made = {
        name: SignedPeer(broker.address, who, f"client-{name}")
        for name, who in (("admin", ADMIN), ("alice", ALICE), ("bob", BOB), ("nobody", None))
    }
    for who in (ALICE, BOB):
        assert (await made["admin"].create_user(who)).code == 0
    granted = await made["admin"].allow(
        "alice", ("Topic:orders", "Pub,Sub,Get"), ("Group:billing", "Sub,Get")
    )
    assert granted.code == 0
    yield made
    for peer in made.values():
        await peer.close()


async def test_who_may_sends_and_reads(peers: dict[str, SignedPeer]) -> None:
    assert (await peers["alice"].send("orders")).code == 0
    found = await peers["alice"].pull("orders", 0, consumer_group="billing")
    assert [record.body for record in records(found)] == [b"hello"]


@pytest.mark.parametrize("name", ["bob", "nobody"])
async def test_who_may_not_is_told_sixteen_and_nothing_is_stored(
    peers: dict[str, SignedPeer], name: str
) -> None:
    for answer in (
        await peers[name].send("orders"),
        await peers[name].send_batch("orders", [b"a", b"b"]),
        await peers[name].pull("orders", 0, consumer_group="billing"),
        await peers[name].heartbeat("billing", "orders"),
    ):
        assert answer.code == 16
    offsets = await peers["admin"].ask(Q.GET_TOPIC_STATS_INFO, {"topic": "orders"})
    assert offsets.code == 17


async def test_another_topic_and_another_group_are_refused(peers: dict[str, SignedPeer]) -> None:
    alice = peers["alice"]
    assert (await alice.send("payroll")).code == 16
    assert (await alice.pull("orders", 0, consumer_group="theirs")).code == 16
    assert (await alice.send("%RETRY%theirs")).code == 16
    fields = {"consumerGroup": "theirs", "topic": "orders", "queueId": "0", "commitOffset": "5"}
    assert (await alice.ask(Q.UPDATE_CONSUMER_OFFSET, fields)).code == 16
    assert (await alice.pull("%RETRY%theirs", 0, consumer_group="billing")).code == 16


async def test_a_revoked_user_is_out_at_once_and_a_changed_secret_too(peers: dict[str, SignedPeer]) -> None:
    admin, alice = peers["admin"], peers["alice"]
    assert (await alice.send("orders")).code == 0
    off = UserInfo(None, None, None, "disable").encode()
    assert (await admin.ask(Q.AUTH_UPDATE_USER, {"username": "alice"}, off)).code == 0
    answer = await alice.send("orders")
    assert (answer.code, answer.remark) == (16, "User:alice is disabled.")
    on = UserInfo(None, "another secret", None, "enable").encode()
    await admin.ask(Q.AUTH_UPDATE_USER, {"username": "alice"}, on)
    assert (await alice.send("orders")).remark == "check signature failed."
    assert (await admin.ask(Q.AUTH_DELETE_USER, {"username": "alice"})).code == 0
    assert (await alice.send("orders")).remark == "User:alice is not found."


async def test_messages_of_others_cannot_be_read_by_their_place(peers: dict[str, SignedPeer]) -> None:
    admin, alice = peers["admin"], peers["alice"]
    sent = await admin.send("payroll", b"salaries")
    offset = str(int(sent.fields["msgId"][16:], 16))
    for fields in ({"offset": offset}, {"offset": offset, "topic": "orders"}):
        answer = await alice.ask(Q.VIEW_MESSAGE_BY_ID, fields)
        assert answer.code == 16
        assert b"salaries" not in answer.body
    back = {"offset": offset, "group": "billing", "delayLevel": "0", "originTopic": "orders"}
    assert (await alice.ask(Q.CONSUMER_SEND_MSG_BACK, back)).code == 16
    own = await alice.send("orders", b"mine")
    mine = {"offset": str(int(own.fields["msgId"][16:], 16)), "topic": "orders"}
    assert b"mine" in (await alice.ask(Q.VIEW_MESSAGE_BY_ID, mine)).body


async def test_half_messages_of_others_cannot_be_decided(peers: dict[str, SignedPeer]) -> None:
    admin, alice = peers["admin"], peers["alice"]
    half = await admin.send(
        "payroll",
        b"half",
        sys_flag=4,
        properties={"TRAN_MSG": "true", "PGROUP": "producers", "UNIQ_KEY": "K"},
    )
    fields = {
        "producerGroup": "producers",
        "tranStateTableOffset": half.fields["queueOffset"],
        "commitLogOffset": str(int(half.fields["msgId"][16:], 16)),
        "commitOrRollback": "8",
        "msgId": "K",
    }
    assert (await alice.ask(Q.END_TRANSACTION, fields)).code == 16
    assert (await alice.ask(Q.END_TRANSACTION, fields | {"topic": "orders"})).code == 16
    assert (await admin.ask(Q.END_TRANSACTION, fields)).code == 0


async def test_users_and_policies_survive_a_restart_and_no_secret_is_on_disk(
    start_broker: StartBroker, broker: RunningBroker, peers: dict[str, SignedPeer], tmp_path: Path
) -> None:
    await broker.stop()
    for path in (tmp_path / "store").rglob("*"):
        assert not path.is_file() or b"canary" not in path.read_bytes(), path
    again = await start_broker(**acl2(tmp_path))
    alice = SignedPeer(again.address, ALICE)
    assert (await alice.send("orders")).code == 0
    assert (await alice.send("payroll")).code == 16
    await alice.close()


async def test_answers_about_users_hold_no_secret(peers: dict[str, SignedPeer]) -> None:
    admin = peers["admin"]
    got = await admin.ask(Q.AUTH_GET_USER, {"username": "alice"})
    assert orjson.loads(got.body) == {"userStatus": "enable", "userType": "Normal", "username": "alice"}
    listed = await admin.ask(Q.AUTH_LIST_USER, {})
    assert [user["username"] for user in orjson.loads(listed.body)] == ["admin", "alice", "bob"]
    part = await admin.ask(Q.AUTH_LIST_USER, {"filter": "lic"})
    assert [user["username"] for user in orjson.loads(part.body)] == ["alice"]
    assert (await admin.ask(Q.AUTH_GET_USER, {"username": "nobody"})).body == b""
    assert (await admin.ask(Q.AUTH_GET_USER, {"username": " "})).code == 29
    config = await admin.ask(Q.GET_BROKER_CONFIG)
    assert b"initAuthenticationUser=******" in config.body
    for answer in (got, listed, part, config):
        assert b"canary" not in bytes(answer.body)


async def test_policies_are_listed_joined_and_taken_away(peers: dict[str, SignedPeer]) -> None:
    admin, subject = peers["admin"], {"subject": "User:alice"}
    await admin.allow("alice", ("Topic:orders", "Sub"))
    shown = AclInfo.decode((await admin.ask(Q.AUTH_GET_ACL, subject)).body)
    assert shown.policies is not None
    entries = shown.policies[0].entries or ()
    assert [(entry.resource, entry.actions) for entry in entries] == [
        ("Topic:orders", ("Sub",)),
        ("Group:billing", ("Sub", "Get")),
    ]
    found = await admin.ask(Q.AUTH_LIST_ACL, {"resourceFilter": "billing"})
    assert orjson.loads(found.body)[0]["policies"][0]["entries"][0]["resource"] == "Group:billing"
    assert (await admin.ask(Q.AUTH_DELETE_ACL, subject | {"resource": "Topic:orders"})).code == 0
    assert (await peers["alice"].pull("orders", 0, consumer_group="billing")).code == 16
    assert (await admin.ask(Q.AUTH_DELETE_ACL, subject)).code == 0
    assert (await admin.ask(Q.AUTH_GET_ACL, subject)).body == b""
    assert (await admin.ask(Q.AUTH_GET_ACL, {"subject": "User:nobody"})).code == 16
    assert (await admin.allow("nobody", ("*", "All"))).code == 16


async def test_a_user_who_may_manage_users_still_makes_no_super_user(peers: dict[str, SignedPeer]) -> None:
    await peers["admin"].allow("bob", ("Cluster:*", "Update,Get"))
    bob, carol = peers["bob"], Credentials("carol", "carols secret")
    assert (await bob.create_user(carol, "Super")).code == 16
    assert (await bob.create_user(carol)).code == 0
    up = UserInfo(None, None, "Super", None).encode()
    for name in ("carol", "bob"):
        assert (await bob.ask(Q.AUTH_UPDATE_USER, {"username": name}, up)).code == 16
    new_secret = UserInfo(None, "taken over", None, None).encode()
    assert (await bob.ask(Q.AUTH_UPDATE_USER, {"username": "admin"}, new_secret)).code == 16
    assert (await bob.ask(Q.AUTH_DELETE_USER, {"username": "admin"})).code == 16
    assert (await peers["admin"].send("orders")).code == 0


async def test_without_any_user_an_admin_with_a_random_secret_is_made(
    start_broker: StartBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        broker = await start_broker(**acl2(tmp_path, initAuthenticationUser=""))
    path = tmp_path / "keys" / "admin-broker-a.yml"
    assert path.stat().st_mode & 0o777 == 0o600
    lines = dict(line.split(": ") for line in path.read_text().splitlines())
    assert lines["secretKey"] not in caplog.text and str(path) in caplog.text
    admin = SignedPeer(broker.address, Credentials(lines["accessKey"], lines["secretKey"]))
    assert (await admin.send("orders")).code == 0
    await admin.close()


async def test_the_clusters_credential_is_as_broker_conf_has_it(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    def inner(secret: str) -> str:
        return orjson.dumps({"accessKey": "cluster", "secretKey": secret}).decode()

    first = await start_broker(**acl2(tmp_path, innerClientAuthenticationCredentials=inner("first secret")))
    await first.stop()
    second = await start_broker(**acl2(tmp_path, innerClientAuthenticationCredentials=inner("second secret")))
    peer = SignedPeer(second.address, Credentials("cluster", "second secret"))
    assert (await peer.ask(Q.EXCHANGE_BROKER_HA_INFO, {})).code == 0
    await peer.close()


async def test_a_lost_key_refuses_the_start(
    start_broker: StartBroker, broker: RunningBroker, tmp_path: Path
) -> None:
    await broker.stop()
    (tmp_path / "keys" / "secret.key").unlink()
    with pytest.raises(BadInput, match="missing"):
        await start_broker(**acl2(tmp_path))


async def test_with_access_control_off_nobody_becomes_the_first_user(start_broker: StartBroker) -> None:
    broker = await start_broker()
    peer = SignedPeer(broker.address, None)
    answer = await peer.create_user(Credentials("me", "first"), "Super")
    assert answer.code == 1
    assert "authenticationEnabled=true" in (answer.remark or "")
    await peer.close()
