"""plain_acl.yml as users and policies of the one model, with ACL 1.0's rules about permissions."""

from __future__ import annotations

import pytest

from engine.access.needs import on_group, on_topic
from engine.access.plain_acl import account_of, format_plain_acl, parse_plain_acl
from engine.access.policies import refusal
from engine.access.resources import Action, Kind, Need
from engine.errors import BadInput

TEXT = """
globalWhiteRemoteAddresses:
  - 10.10.103.*
  - 192.168.0.{1,2}
accounts:
  - accessKey: RocketMQ
    secretKey: 12345678
    whiteRemoteAddress:
    admin: false
    defaultTopicPerm: DENY
    defaultGroupPerm: SUB
    topicPerms:
      - topicA=DENY
      - topicB=PUB|SUB
      - topicC=SUB
    groupPerms:
      # the group should convert to retry topic
      - groupA=DENY
      - groupB=PUB|SUB
  - accessKey: rocketmq2
    secretKey: 12345678
    whiteRemoteAddress: 192.168.1.*
    admin: true
dataVersion:
  - counter: 3
    timestamp: 17
"""
"""The file that Apache's distribution comes with, and a version."""

PUB, SUB, GET = (Action.PUB,), (Action.SUB,), (Action.GET,)


def test_the_file_of_apaches_distribution_is_read() -> None:
    acl = parse_plain_acl(TEXT)
    assert acl.white_addresses == ("10.10.103.*", "192.168.0.{1,2}")
    first, second = acl.accounts
    assert (first.access_key, first.secret_key, first.admin) == ("RocketMQ", "12345678", False)
    assert (second.admin, second.white_remote_address) == (True, "192.168.1.*")
    assert (acl.version.counter, acl.version.timestamp) == (3, 17)
    assert parse_plain_acl(format_plain_acl(acl)) == acl
    assert "12345678" not in repr(acl)


@pytest.mark.parametrize(
    ("need", "is_allowed"),
    [
        (on_topic("topicA", PUB), False),
        (on_topic("topicA", SUB), False),
        (on_topic("topicB", PUB), True),
        (on_topic("topicB", SUB), True),
        (on_topic("topicC", SUB), True),
        (on_topic("topicC", PUB), False),
        (on_topic("topicC", (Action.PUB, Action.SUB, Action.GET)), True),
        (on_topic("topicC", GET), True),
        (on_topic("topicC", (Action.CREATE,)), False),
        (on_topic("unknown", PUB), False),
        (on_group("groupA", SUB), False),
        (on_group("groupB", SUB), True),
        (on_group("unknown", SUB), True),
        (on_group("unknown", (Action.DELETE,)), False),
        (on_topic("%RETRY%groupA", SUB), False),
        (on_topic("RMQ_SYS_TRACE_TOPIC", PUB), True),
        (on_topic("RMQ_SYS_TRACE_TOPIC", SUB), False),
        (Need(Kind.CLUSTER, "c", GET), True),
        (Need(Kind.CLUSTER, "c", (Action.UPDATE,)), False),
    ],
)
def test_permissions(need: Need, is_allowed: bool) -> None:
    account = account_of(parse_plain_acl(TEXT).accounts[0])
    assert (refusal(account.acl, need, "1.2.3.4") is None) is is_allowed


def test_what_is_named_does_not_fall_back_to_the_default() -> None:
    text = (
        "accounts: [{accessKey: account, secretKey: 1234567, defaultTopicPerm: PUB|SUB, topicPerms: [t=SUB]}]"
    )
    account = account_of(parse_plain_acl(text.replace("account,", "account1,")).accounts[0])
    assert refusal(account.acl, on_topic("t", PUB), "") is not None
    assert refusal(account.acl, on_topic("u", PUB), "") is None


def test_an_admin_is_a_super_user() -> None:
    assert account_of(parse_plain_acl(TEXT).accounts[1]).is_super


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a list", "not a YAML mapping"),
        ("accounts: [", "not YAML"),
        ("accounts: {a: b}", "accounts is not a list"),
        ("accounts: [x]", "not a mapping"),
        ("accounts: [{accessKey: short, secretKey: canary-1}]", "longer than 6"),
        ("accounts: [{accessKey: longenough, secretKey: canary}]", "longer than 6"),
        ("accounts: [{accessKey: longenough, secretKey: canary-1, topicPerms: [t]}]", "name=PUB"),
        ("accounts: [{accessKey: longenough, secretKey: canary-1, topicPerms: [t=ALL]}]", "none of DENY"),
        ("accounts: [{accessKey: longenough, secretKey: canary-1, whiteRemoteAddress: x}]", "pattern"),
        ("globalWhiteRemoteAddresses: [999.0.0.1]", "pattern"),
        ("dataVersion: [{counter: x}]", "numbers"),
        ("accounts: !!python/object/apply:os.system [id]", "not YAML"),
        ("secretKey: canary-1\n  bad: [", "not YAML"),
    ],
)
def test_a_fault_is_told_without_the_secret(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as refused:
        parse_plain_acl(text)
    assert "canary" not in refused.value.text


def test_an_empty_file_has_no_accounts() -> None:
    assert parse_plain_acl("").accounts == ()
