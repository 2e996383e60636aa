"""The official Java client and mqadmin with credentials, against servers with access control."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from engine.client import Credentials
from engine.protocol.bodies.auth import UserInfo

from .guarded import STRANGER, WORKER, Guarded, running_guarded, signed
from .jars import CLIENT_VERSIONS
from .java_client import JavaClient, JavaError
from .mqadmin import AdminShell

pytestmark = pytest.mark.needs_maven


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with running_guarded(tmp_path_factory.mktemp("acl")) as started:
        yield started


@pytest.fixture(scope="module", params=CLIENT_VERSIONS, ids=lambda version: f"client-{version}")
def java(
    request: pytest.FixtureRequest, guarded: Guarded, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaClient]:
    client = JavaClient(request.param, guarded.name_server, tmp_path_factory.mktemp("java"))
    yield client
    client.close()


def test_right_credentials_send_and_receive(java: JavaClient, fresh: Callable[[str], str]) -> None:
    topic = fresh("a-topic")
    for verb in ("acl-push", "acl-lite"):
        assert java.do("acl-send", topic=topic, body="hello", **signed(WORKER)) == "SEND_OK"
        got = java.do(verb, topic=topic, group=fresh("a-group"), timeoutMs=30_000, **signed(WORKER))
        assert got == "hello"
    assert java.do("acl-pull", topic=topic, group=fresh("a-group"), **signed(WORKER)) == "hello"


def test_a_security_token_is_signed_too(java: JavaClient, fresh: Callable[[str], str]) -> None:
    topic = fresh("a-token")
    assert java.do("acl-send", topic=topic, body="x", token="session", **signed(WORKER)) == "SEND_OK"


def test_retries_and_transactions(java: JavaClient, fresh: Callable[[str], str]) -> None:
    topic = fresh("a-again")
    java.do("acl-send", topic=topic, body="again", **signed(WORKER))
    group = fresh("a-group")
    again = java.do("acl-push", topic=topic, group=group, retry="true", timeoutMs=60_000, **signed(WORKER))
    assert again == "again"
    half = fresh("a-half")
    sent = java.do(
        "acl-transact", topic=half, group=fresh("a-tx"), body="half", stayMs=6_000, **signed(WORKER)
    )
    assert sent == "SEND_OK"
    got = java.do("acl-push", topic=half, group=fresh("a-group"), timeoutMs=30_000, **signed(WORKER))
    assert got == "half"


@pytest.mark.parametrize(
    "who", [None, Credentials("team-a-user", "wrong-secret"), Credentials("nobody-here", "wrong-secret")]
)
def test_wrong_credentials_are_refused(
    java: JavaClient, guarded: Guarded, fresh: Callable[[str], str], who: Credentials | None
) -> None:
    topic = fresh("a-closed")
    assert java.do("acl-send", topic=topic, body="mine", **signed(WORKER)) == "SEND_OK"
    with pytest.raises(JavaError):
        java.do("acl-send", topic=topic, body="forged", **signed(who))
    with pytest.raises(JavaError):
        java.do("acl-pull", topic=topic, group=fresh("a-group"), **signed(who))
    got = java.do("acl-push", topic=topic, group=fresh("a-group"), timeoutMs=3_000, **signed(who))
    assert got == "nothing"
    with guarded.admin() as admin:
        assert sum(offset.max_offset for offset in admin.topics.stats(topic).offset_table.values()) == 1


def test_another_topic_and_another_group(java: JavaClient, fresh: Callable[[str], str]) -> None:
    topic = fresh("b-topic")
    assert java.do("acl-send", topic=topic, body="theirs", **signed(STRANGER)) == "SEND_OK"
    with pytest.raises(JavaError, match="has no permission to access Topic:b-topic"):
        java.do("acl-send", topic=topic, body="x", **signed(WORKER))
    with pytest.raises(JavaError, match="has no permission to access Topic:b-topic"):
        java.do("acl-pull", topic=topic, group=fresh("a-group"), **signed(WORKER))
    mine = fresh("a-topic")
    java.do("acl-send", topic=mine, body="mine", **signed(WORKER))
    with pytest.raises(JavaError, match="has no permission to access Group:b-group"):
        java.do("acl-pull", topic=mine, group=fresh("b-group"), **signed(WORKER))


def test_a_revoked_user_is_out(java: JavaClient, guarded: Guarded, fresh: Callable[[str], str]) -> None:
    topic = fresh("a-revoked")
    java.do("acl-send", topic=topic, body="before", **signed(WORKER))
    with guarded.admin() as admin:
        admin.access.update_user(guarded.broker, UserInfo("team-a-user", None, None, "disable"))
        try:
            with pytest.raises(JavaError, match="is disabled"):
                java.do("acl-send", topic=topic, body="while", **signed(WORKER))
            with pytest.raises(JavaError, match="is disabled"):
                java.do("acl-pull", topic=topic, group=fresh("a-group"), **signed(WORKER))
        finally:
            admin.access.update_user(guarded.broker, UserInfo("team-a-user", None, None, "enable"))
    assert java.do("acl-send", topic=topic, body="after", **signed(WORKER)) == "SEND_OK"


# -- mqadmin ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mqadmin(guarded: Guarded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AdminShell]:
    home = tmp_path_factory.mktemp("mqadmin")
    (home / "conf").mkdir()
    (home / "conf" / "tools.yml").write_text("accessKey: admin-user\nsecretKey: canary-admin\n")
    shell = AdminShell("5", guarded.name_server, home)
    yield shell
    shell.close()


def test_mqadmin_manages_users_and_policies(mqadmin: AdminShell, guarded: Guarded) -> None:
    here = ("-b", guarded.broker)

    def run(*arguments: str) -> str:
        printed = mqadmin.run(arguments[0], *here, *arguments[1:])
        assert "canary" not in printed
        return printed

    assert "success" in run("createUser", "-u", "carol", "-p", "canary-carol", "-t", "Normal")
    assert "carol" in run("getUser", "-u", "carol")
    listed = run("listUser")
    assert all(name in listed for name in ("admin-user", "carol", "cluster", "team-a-user"))
    assert "success" in run(
        "createAcl", "-s", "User:carol", "-r", "Topic:c-*,Group:c-*", "-a", "Pub,Sub", "-d", "Allow"
    )
    assert "success" in run(
        "updateAcl", "-s", "User:carol", "-r", "Topic:c-*", "-a", "Pub", "-i", "10.0.0.0/8", "-d", "Deny"
    )
    shown = run("getAcl", "-s", "User:carol")
    assert "Topic:c-*" in shown and "Deny" in shown and "10.0.0.0/8" in shown and "Group:c-*" in shown
    assert "User:carol" in run("listAcl", "-s", "carol")
    assert "success" in run("deleteAcl", "-s", "User:carol", "-r", "Topic:c-*")
    assert "Topic:c-*" not in run("getAcl", "-s", "User:carol")
    assert "success" in run("updateUser", "-u", "carol", "-s", "disable")
    assert "disable" in run("getUser", "-u", "carol")
    assert "success" in run("deleteUser", "-u", "carol")
    assert "carol" not in run("listUser")


def test_mqadmin_administers_with_credentials(
    mqadmin: AdminShell, guarded: Guarded, fresh: Callable[[str], str]
) -> None:
    topic = fresh("c-topic")
    assert "success" in mqadmin.run("updateTopic", "-b", guarded.broker, "-t", topic, "-r", "1", "-w", "1")
    deadline = time.monotonic() + 10
    while guarded.broker not in mqadmin.run("topicRoute", "-t", topic) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert "success" in mqadmin.run("updateSubGroup", "-b", guarded.broker, "-g", fresh("c-group"))
    assert guarded.broker in mqadmin.run("clusterList")


def test_mqadmin_without_credentials_is_refused(
    guarded: Guarded, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shell = AdminShell("5", guarded.name_server, tmp_path_factory.mktemp("nobody"))
    try:
        for arguments in (
            ("listUser", "-b", guarded.broker),
            ("getUser", "-b", guarded.broker, "-u", "admin-user"),
            ("createUser", "-b", guarded.broker, "-u", "evil", "-p", "evil", "-t", "Super"),
        ):
            printed = shell.run(*arguments)
            assert "username cannot be null" in printed and "canary" not in printed
    finally:
        shell.close()
