"""ACL 1.0 over a real broker: an existing aclEnable=true with plain_acl.yml keeps working, and reloads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import orjson
import pytest

from engine.errors import BadInput
from engine.protocol.codes import RequestCode as Q
from engine.protocol.commands import Command
from engine.protocol.signing import Credentials
from tests.engine.broker.conftest import StartBroker
from tests.engine.broker.peers import RunningBroker
from tests.engine.broker.process.test_access_control import SignedPeer

ADMIN = Credentials("administrator", "canary-admin")
ALICE = Credentials("alice-key", "canary-alice")

TEXT = """
globalWhiteRemoteAddresses: []
accounts:
  - {accessKey: administrator, secretKey: canary-admin, admin: true}
  - accessKey: alice-key
    secretKey: canary-alice
    topicPerms: [orders=PUB|SUB]
    groupPerms: [billing=SUB]
"""


@pytest.fixture
def acl_file(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "conf" / "plain_acl.yml"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT)
    path.chmod(0o600)
    return path


@pytest.fixture
async def broker(start_broker: StartBroker, acl_file: Path) -> RunningBroker:
    return await start_broker(aclEnable="true", rocketmqHome=str(acl_file.parents[1]))


@pytest.fixture
async def peers(broker: RunningBroker) -> AsyncIterator[dict[str, SignedPeer]]:
    made = {
        "admin": SignedPeer(broker.address, ADMIN),
        "alice": SignedPeer(broker.address, ALICE),
        "nobody": SignedPeer(broker.address, None),
        "liar": SignedPeer(broker.address, Credentials("alice-key", "guessed")),
    }
    yield made
    for peer in made.values():
        await peer.close()


async def until(ask: Callable[[], Awaitable[Command]], code: int) -> Command:
    async with asyncio.timeout(10):
        while (answer := await ask()).code != code:
            await asyncio.sleep(0.05)
    return answer


async def test_right_and_wrong_credentials(peers: dict[str, SignedPeer]) -> None:
    assert (await peers["alice"].send("orders")).code == 0
    assert (await peers["alice"].pull("orders", 0, consumer_group="billing")).code == 0
    for name, said in (
        ("nobody", "AclException: No accessKey is configured"),
        ("liar", "AclException: Check signature failed for accessKey=alice-key"),
    ):
        answer = await peers[name].send("orders")
        assert (answer.code, answer.remark) == (1, said)


async def test_permissions_in_rocketmqs_words(peers: dict[str, SignedPeer]) -> None:
    alice = peers["alice"]
    for answer, said in (
        (await alice.send("payroll"), "AclException: No default permission for topic:payroll"),
        (
            await alice.pull("orders", 0, consumer_group="x"),
            "AclException: No default permission for group:x",
        ),
        (await alice.ask(Q.UPDATE_BROKER_CONFIG), "AclException: Need admin permission"),
        (await alice.ask(Q.DELETE_TOPIC_IN_BROKER, {"topic": "orders"}), "AclException:"),
    ):
        assert answer.code == 1
        assert (answer.remark or "").startswith(said)
    assert (await peers["admin"].ask(Q.UPDATE_BROKER_CONFIG, {}, b"maxMessageSize=4096")).code == 0


async def test_the_file_is_read_again_when_it_changes(
    peers: dict[str, SignedPeer], acl_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    alice = peers["alice"]
    acl_file.write_text(TEXT.replace("orders=PUB|SUB", "payroll=PUB"))
    await until(lambda: alice.send("payroll"), 0)
    assert (await alice.send("orders")).code == 1
    with caplog.at_level(logging.ERROR):
        acl_file.write_text("accounts: [{accessKey: broken, secretKey: canary-broken, admin: ")
        async with asyncio.timeout(10):
            while "stay as they were" not in caplog.text:
                await asyncio.sleep(0.05)
    assert "canary" not in caplog.text
    assert (await alice.send("payroll")).code == 0
    extra = acl_file.parent / "acl" / "team" / "more.yml"
    extra.parent.mkdir(parents=True)
    extra.write_text("accounts: [{accessKey: bob-key, secretKey: canary-bob, admin: true}]")
    acl_file.write_text(TEXT)
    bob = SignedPeer("", Credentials("bob-key", "canary-bob"))
    bob._address = alice._address
    await until(lambda: bob.send("orders"), 0)
    await bob.close()


async def test_accounts_are_changed_over_the_wire_and_land_in_the_file(
    peers: dict[str, SignedPeer], acl_file: Path
) -> None:
    admin = peers["admin"]
    fields = {"accessKey": "bob-key-1", "secretKey": "canary-bob-1", "topicPerms": "orders=PUB,more=SUB"}
    assert (await peers["alice"].ask(Q.UPDATE_AND_CREATE_ACL_CONFIG, fields)).code == 1
    assert (await admin.ask(Q.UPDATE_AND_CREATE_ACL_CONFIG, fields)).code == 0
    bob = SignedPeer(admin._address, Credentials("bob-key-1", "canary-bob-1"))
    assert (await bob.send("orders")).code == 0
    assert (await bob.send("more")).code == 1
    # What is left out stays.
    more = {"accessKey": "bob-key-1", "defaultTopicPerm": "PUB"}
    assert (await admin.ask(Q.UPDATE_AND_CREATE_ACL_CONFIG, more)).code == 0
    assert (await bob.send("another")).code == 0
    assert (await admin.ask(Q.UPDATE_AND_CREATE_ACL_CONFIG, {"accessKey": "x", "secretKey": "y"})).code == 209
    assert (await admin.ask(Q.DELETE_ACL_CONFIG, {"accessKey": "bob-key-1"})).code == 0
    assert (await admin.ask(Q.DELETE_ACL_CONFIG, {"accessKey": "bob-key-1"})).code == 210
    assert (await bob.send("orders")).remark == "AclException: No acl config for bob-key-1"
    await bob.close()
    assert "bob-key" not in acl_file.read_text() and "alice-key" in acl_file.read_text()


async def test_what_is_shown_has_no_secret(peers: dict[str, SignedPeer], acl_file: Path) -> None:
    shown = await peers["admin"].ask(Q.GET_BROKER_CLUSTER_ACL_CONFIG)
    content = orjson.loads(shown.body)
    assert [account["accessKey"] for account in content["plainAccessConfigs"]] == [
        "administrator",
        "alice-key",
    ]
    assert b"canary" not in shown.body
    info = await peers["admin"].ask(Q.GET_BROKER_CLUSTER_ACL_INFO)
    assert info.fields["brokerName"] == "broker-a"
    assert list(orjson.loads(info.fields["allAclFileVersion"])) == [str(acl_file)]
    for name in ("alice", "nobody", "liar"):
        for code in (Q.GET_BROKER_CLUSTER_ACL_CONFIG, Q.GET_BROKER_CLUSTER_ACL_INFO):
            assert (await peers[name].ask(code)).code == 1


async def test_a_white_address_frees_clients_but_no_admin(peers: dict[str, SignedPeer]) -> None:
    admin, nobody = peers["admin"], peers["nobody"]
    whites = {"globalWhiteAddrs": "10.0.0.*,127.0.0.{1,2}"}
    assert (await admin.ask(Q.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, whites)).code == 0
    assert (await nobody.send("anything")).code == 0
    for code in (17, 25, 200, 207, 215, 50, 51, 52, 53, 54, 3001):
        assert (await nobody.ask(code, {"topic": "t", "accessKey": "x"}, b"{}")).code == 1, code
    assert b"canary" not in (await nobody.ask(Q.GET_BROKER_CONFIG)).body
    bad = {"globalWhiteAddrs": "1.2.3.4", "aclFileFullPath": "/etc/passwd"}
    assert (await admin.ask(Q.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, bad)).code == 211


async def test_an_accounts_own_white_address_needs_no_signature(
    peers: dict[str, SignedPeer], acl_file: Path
) -> None:
    acl_file.write_text(TEXT.replace("topicPerms", 'whiteRemoteAddress: "127.0.0.*"\n    topicPerms'))
    await until(lambda: peers["liar"].send("orders"), 0)
    assert (await peers["liar"].ask(Q.UPDATE_BROKER_CONFIG)).code == 1


@pytest.mark.parametrize(("text", "said"), [("accounts: [", "not YAML"), (None, "neither")])
async def test_a_file_that_cannot_be_read_refuses_the_start(
    start_broker: StartBroker, acl_file: Path, text: str | None, said: str
) -> None:
    if text is None:
        acl_file.unlink()
    else:
        acl_file.write_text(text)
    with pytest.raises(BadInput, match=said):
        await start_broker(aclEnable="true", rocketmqHome=str(acl_file.parents[1]))


async def test_accounts_become_users_when_asked_to(
    start_broker: StartBroker, acl_file: Path, tmp_path: Path
) -> None:
    broker = await start_broker(
        authenticationEnabled="true",
        authorizationEnabled="true",
        migrateAuthFromV1Enabled="true",
        rocketmqHome=str(acl_file.parents[1]),
        signalboxSecretKeyFile=str(tmp_path / "keys" / "k"),
    )
    alice, admin = SignedPeer(broker.address, ALICE), SignedPeer(broker.address, ADMIN)
    assert (await alice.send("orders")).code == 0
    assert (await alice.send("payroll")).code == 16
    assert (await admin.ask(Q.AUTH_GET_ACL, {"subject": "User:alice-key"})).code == 0
    await alice.close()
    await admin.close()
