"""The official Java client and mqadmin without credentials, where only changes need a signature."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from .guarded import ADMINISTRATION, BOSS, Guarded, running_guarded, signed
from .jars import CLIENT_VERSIONS, SERVER_VERSIONS
from .java_client import JavaClient, JavaError
from .mqadmin import AdminShell

pytestmark = pytest.mark.needs_maven


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with running_guarded(tmp_path_factory.mktemp("administration"), ADMINISTRATION) as started:
        yield started


@pytest.fixture(scope="module", params=CLIENT_VERSIONS, ids=lambda version: f"client-{version}")
def java(
    request: pytest.FixtureRequest, guarded: Guarded, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaClient]:
    client = JavaClient(request.param, guarded.name_server, tmp_path_factory.mktemp("java"))
    yield client
    client.close()


def test_an_application_without_credentials_sends_and_receives(
    java: JavaClient, fresh: Callable[[str], str]
) -> None:
    topic = fresh("open")
    assert java.do("acl-send", topic=topic, body="hello") == "SEND_OK"
    for verb in ("acl-push", "acl-lite"):
        assert java.do(verb, topic=topic, group=fresh("open-group"), timeoutMs=30_000) == "hello"
    assert java.do("acl-pull", topic=topic, group=fresh("open-group")) == "hello"


def test_retries_and_transactions_without_credentials(java: JavaClient, fresh: Callable[[str], str]) -> None:
    topic, half = fresh("again"), fresh("half")
    java.do("acl-send", topic=topic, body="again")
    again = java.do("acl-push", topic=topic, group=fresh("group"), retry="true", timeoutMs=60_000)
    assert again == "again"
    sent = java.do("acl-transact", topic=half, group=fresh("tx"), body="half", stayMs=6_000)
    assert sent == "SEND_OK"
    assert java.do("acl-push", topic=half, group=fresh("group"), timeoutMs=30_000) == "half"


def test_a_wrong_signature_is_refused(java: JavaClient, fresh: Callable[[str], str]) -> None:
    wrong = {**signed(BOSS), "secretKey": "guessed-secret"}
    with pytest.raises(JavaError):
        java.do("acl-send", topic=fresh("open"), body="x", **wrong)


@pytest.fixture(scope="module", params=SERVER_VERSIONS, ids=lambda version: f"mqadmin-{version}")
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def shell(version: str, guarded: Guarded, tmp_path_factory: pytest.TempPathFactory, tools: str) -> AdminShell:
    home = tmp_path_factory.mktemp("mqadmin")
    (home / "conf").mkdir()
    if tools:
        (home / "conf" / "tools.yml").write_text(tools)
    return AdminShell(version, guarded.name_server, home)


def test_mqadmin_reads_unsigned_and_changes_signed(
    version: str, guarded: Guarded, tmp_path_factory: pytest.TempPathFactory, fresh: Callable[[str], str]
) -> None:
    topic = fresh("made")
    make = ("updateTopic", "-b", guarded.broker, "-t", topic)
    shorten = ("updateBrokerConfig", "-b", guarded.broker, "-k", "fileReservedTime", "-v", "48")
    stranger = shell(version, guarded, tmp_path_factory, "")
    try:
        assert guarded.broker in stranger.run("clusterList")
        assert "TBW102" in stranger.run("topicList")
        assert "fileReservedTime" in stranger.run("getBrokerConfig", "-b", guarded.broker)
        assert "commitLogMaxOffset" in stranger.run("brokerStatus", "-b", guarded.broker)
        for change in (make, shorten, ("wipeWritePerm", "-b", "client-a")):
            assert "CODE: 16" in stranger.run(*change), change
        assert topic not in stranger.run("topicList").split()
    finally:
        stranger.close()
    signing = f"accessKey: {BOSS.access_key}\nsecretKey: {BOSS.secret_key}\n"
    boss = shell(version, guarded, tmp_path_factory, signing)
    try:
        assert "success" in boss.run(*make)
        assert "success" in boss.run(*shorten)
        assert topic in boss.run("topicList").split()
    finally:
        boss.close()
