"""Users on their way to a slave: sealed, taken whole, and not taken with another key."""

from __future__ import annotations

import logging
from pathlib import Path

import orjson
import pytest

from engine.access.accounts import ACCESS_FILE, Account
from engine.broker.failover.member_requests_io import check_proof
from engine.broker.process.access_wiring import AccessControl
from engine.broker.settings.options import load_options
from engine.errors import NotPermitted
from engine.protocol.commands import Command
from engine.protocol.signing import PROOF_FIELD, Credentials, request_proof, sign


def access(folder: Path, key: Path, cluster_secret: str = "canary-cluster") -> AccessControl:
    options = load_options(
        "",
        {
            "authenticationEnabled": "true",
            "authorizationEnabled": "true",
            "signalboxSecretKeyFile": str(key),
            "innerClientAuthenticationCredentials": orjson.dumps(
                {"accessKey": "cluster", "secretKey": cluster_secret}
            ).decode(),
        },
    )
    return AccessControl(options, folder / "store" / "config", lambda: 0)


def test_a_slave_takes_its_masters_users(tmp_path: Path) -> None:
    key = tmp_path / "keys" / "k"
    master, slave = access(tmp_path / "m", key), access(tmp_path / "s", key, "canary-other")
    sealed = master._close(b"canary-alice")
    master.users.create(Account("alice", b"canary-alice", sealed))
    slave.users.create(Account("stale", b"canary-stale", sealed))
    saved: list[str] = []
    data = master.replica_files(saved.append)[ACCESS_FILE].take()
    assert b"canary" not in data
    for _ in range(3):
        slave.replica_files(saved.append)[ACCESS_FILE].adopt(data)
    assert saved == [ACCESS_FILE]
    alice, cluster = slave.users.find("alice"), slave.users.find("cluster")
    assert alice is not None and alice.secret == b"canary-alice"
    assert slave.users.find("stale") is None
    assert cluster is not None and cluster.secret == b"canary-other"


def test_with_another_key_a_slave_keeps_its_own(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    master, slave = access(tmp_path / "m", tmp_path / "k1"), access(tmp_path / "s", tmp_path / "k2")
    data = master.replica_files(lambda file: None)[ACCESS_FILE].take()
    before = slave.users.all()
    with caplog.at_level(logging.ERROR):
        slave.replica_files(lambda file: None)[ACCESS_FILE].adopt(data)
        slave.replica_files(lambda file: None)[ACCESS_FILE].adopt(data)
    assert slave.users.all() == before
    assert caplog.text.count("cannot be taken") == 1


def test_without_access_control_there_is_nothing_to_take(tmp_path: Path) -> None:
    off = AccessControl(load_options(""), tmp_path / "config", lambda: 0)
    assert off.replica_files(lambda file: None) == {}


def test_a_proved_request_may_be_signed_too() -> None:
    """The cluster's secret proves a member, its credential passes the gate: both on one request."""
    secret = b"s" * 32
    fields = {"epoch": "3", "reign": "4"}
    fields[PROOF_FIELD] = request_proof(secret, 30011, fields, b"")
    request = Command(30011, fields=fields)
    sign(request, Credentials("cluster", "secret", "token"))
    check_proof(secret, request)
    request.fields["epoch"] = "5"
    with pytest.raises(NotPermitted):
        check_proof(secret, request)
