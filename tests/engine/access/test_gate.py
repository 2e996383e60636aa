"""The gate with hand-made requests: who passes, who does not, and what is kept and forgotten."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from engine.access.accounts import Account, AccountTable
from engine.access.gate import Gate, GateSettings
from engine.access.policies import parse_policies
from engine.access.resources import Action
from engine.access.rules import BROKER_RULES, Rule
from engine.errors import Refused
from engine.protocol.bodies.auth import PolicyEntryInfo, PolicyInfo
from engine.protocol.codes import RequestCode as Q
from engine.protocol.commands import Command
from engine.protocol.signing import Credentials, sign

HANDLED = frozenset(BROKER_RULES) | {9999}
SECRETS = {"root": "root-secret", "alice": "alice-secret", "bob": "bob-secret", "gone": "gone-secret"}


@dataclass
class FakePeer:
    remote: tuple[str, int] = ("10.0.0.1", 5000)


PEER = FakePeer()


def accounts() -> AccountTable:
    users = AccountTable()
    for name, secret in SECRETS.items():
        users.create(Account(name, secret.encode(), is_super=name == "root", is_enabled=name != "gone"))
    entries = (
        PolicyEntryInfo("Topic:orders", ("Pub", "Sub"), None, "Allow"),
        PolicyEntryInfo("Group:billing", ("Sub",), None, "Allow"),
    )
    users.grant("alice", parse_policies([PolicyInfo(None, entries)]))
    return users


def gate(users: AccountTable | None = None, **settings: object) -> Gate:
    wanted = GateSettings(cluster="DefaultCluster", **settings)  # type: ignore[arg-type]
    return Gate(users or accounts(), BROKER_RULES, HANDLED, wanted)


def request(code: int, user: str | None, body: bytes = b"", **fields: str) -> Command:
    command = Command(code, fields=fields, body=body)
    if user is not None:
        sign(command, Credentials(user, SECRETS.get(user, "nobody's")))
    return command


def send(user: str | None, topic: str = "orders") -> Command:
    return request(Q.SEND_MESSAGE_V2, user, b"hello", a="p", b=topic)


def refused(checked: Gate, asked: Command, peer: FakePeer = PEER) -> Refused:
    with pytest.raises(Refused) as caught:
        checked(asked, peer)
    return caught.value


def test_who_may_send_sends() -> None:
    checked = gate()
    checked(send("alice"), PEER)
    checked(send("root", "anything"), PEER)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (send(None), "username cannot be null"),
        (send("nobody"), "User:nobody is not found"),
        (send("gone"), "User:gone is disabled"),
        (send("bob"), "User:bob has no permission to access Topic:orders from 10.0.0.1, no matched"),
        (send("alice", "secrets"), "Topic:secrets"),
        (request(Q.UPDATE_BROKER_CONFIG, "alice"), "Cluster:DefaultCluster"),
        (request(Q.EXCHANGE_BROKER_HA_INFO, "alice"), "no super user"),
        (request(9999, "alice"), "no super user"),
    ],
)
def test_refusals_have_rocketmqs_code_and_words(asked: Command, said: str) -> None:
    error = refused(gate(), asked)
    assert error.code == 16
    assert said in error.text


def test_a_code_that_nobody_handles_goes_on_to_be_told_so() -> None:
    gate()(request(12345, "alice"), PEER)
    refused(gate(), request(12345, None))


@pytest.mark.parametrize("name", ["Signature", "AccessKey"])
def test_an_empty_or_missing_field_is_no_signature(name: str) -> None:
    for value in ("", None):
        asked = send("alice")
        if value is None:
            del asked.fields[name]
        else:
            asked.fields[name] = value
        refused(gate(), asked)


def test_every_request_is_checked_again_on_the_same_connection() -> None:
    checked = gate()
    checked(send("alice"), PEER)
    forged = send("alice")
    forged.body = b"other"
    assert "check signature failed" in refused(checked, forged).text
    refused(checked, send("bob"))
    checked(send("root"), PEER)


def test_one_way_requests_are_checked_too() -> None:
    asked = request(Q.UPDATE_CONSUMER_OFFSET, "alice", topic="orders", consumerGroup="theirs")
    asked.flag = 2
    refused(gate(), asked)


def test_a_change_of_users_counts_from_the_next_request_on() -> None:
    users = accounts()
    checked = gate(users)
    refused(checked, send("bob"))
    users.grant(
        "bob", parse_policies([PolicyInfo(None, (PolicyEntryInfo("Topic:*", ("Pub",), None, "Allow"),))])
    )
    checked(send("bob"), PEER)
    users.update("bob", is_enabled=False)
    refused(checked, send("bob"))
    users.update("bob", is_enabled=True, secret=(b"changed", ""))
    assert "signature" in refused(checked, send("bob")).text


def test_decisions_are_kept_apart_by_address() -> None:
    users = accounts()
    entry = PolicyEntryInfo("Topic:orders", ("Pub",), ("10.0.0.1",), "Allow")
    users.grant("bob", parse_policies([PolicyInfo(None, (entry,))]))
    checked = gate(users)
    checked(send("bob"), PEER)
    refused(checked, send("bob"), FakePeer(("10.0.0.2", 1)))


def test_the_white_lists_of_codes() -> None:
    code = frozenset({int(Q.GET_BROKER_RUNTIME_INFO)})
    ask = Q.GET_BROKER_RUNTIME_INFO
    refused(gate(), request(ask, None))
    # Without a name there is nobody to authorize: both lists are needed.
    refused(gate(unsigned_codes=code), request(ask, None))
    gate(unsigned_codes=code, unauthorized_codes=code)(request(ask, None), PEER)
    gate(unauthorized_codes=code)(request(ask, "bob"), PEER)
    refused(gate(unauthorized_codes=code), request(ask, None))
    # A name that rights are looked up for is proved, white list or not.
    forged = request(ask, "root")
    forged.fields["Signature"] = "x"
    refused(gate(unsigned_codes=code), forged)
    gate(unsigned_codes=code, unauthorized_codes=code)(forged, PEER)


def test_without_authorization_users_are_still_a_super_users() -> None:
    checked = gate(authorizes=False)
    checked(send("bob", "anything"), PEER)
    checked(request(Q.UPDATE_BROKER_CONFIG, "bob"), PEER)
    for code in (Q.AUTH_CREATE_USER, Q.AUTH_LIST_USER, Q.AUTH_UPDATE_USER, Q.EXCHANGE_BROKER_HA_INFO):
        assert "no super user" in refused(checked, request(code, "bob", username="x")).text
        checked(request(code, "root", username="x"), PEER)
    refused(checked, send(None))


def test_free_addresses_free_no_admins_request() -> None:
    checked = gate(is_free_address=lambda ip: ip == "10.0.0.1")
    checked(send(None), PEER)
    checked(send("nobody"), PEER)
    refused(checked, send(None), FakePeer(("10.0.0.9", 1)))
    for code, rule in BROKER_RULES.items():
        if rule.is_admin:
            refused(checked, request(code, None))


def test_the_message_itself_is_asked_about_once_it_is_read() -> None:
    checked = gate()
    asked = request(Q.VIEW_MESSAGE_BY_ID, "alice", offset="0")
    checked(asked, PEER)
    checked.check_record(asked, PEER, "orders", Action.SUB)
    with pytest.raises(Refused, match="Topic:secrets"):
        checked.check_record(asked, PEER, "secrets", Action.SUB)
    with pytest.raises(Refused, match="Group:theirs"):
        checked.check_record(asked, PEER, "%RETRY%theirs", Action.SUB)
    checked.check_record(request(Q.VIEW_MESSAGE_BY_ID, "root", offset="0"), PEER, "secrets", Action.SUB)


def test_a_refusal_is_logged_once_and_without_line_breaks(caplog: pytest.LogCaptureFixture) -> None:
    checked = gate()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            refused(checked, send("evil\nFAKE LINE"))
    assert len(caplog.records) == 1
    assert "\n" not in caplog.text.rstrip("\n")


def test_a_row_that_is_missing_refuses() -> None:
    """Default deny: a handler without a rule is for super users alone."""
    rules: dict[int, Rule] = {}
    checked = Gate(accounts(), rules, {10}, GateSettings(cluster="c"))
    refused(checked, request(10, "alice", topic="orders"))
    checked(request(10, "root"), PEER)
