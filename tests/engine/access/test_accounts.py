"""The table of users: what creates, changes and ends rights, and that no secret shows."""

from __future__ import annotations

import pytest

from engine.access.accounts import Account, AccountTable, StoredUsers, decode_accounts, encode_accounts
from engine.access.policies import parse_policies, policy_infos
from engine.access.resources import PolicyType, parse_resource
from engine.access.sealing import Seal
from engine.errors import BadInput, Refused
from engine.protocol.bodies.auth import PolicyEntryInfo, PolicyInfo

CANARY = "canary-3f9a"


def policy(resource: str, actions: str = "Pub", decision: str = "Allow", kind: str = "Custom") -> PolicyInfo:
    return PolicyInfo(kind, (PolicyEntryInfo(resource, tuple(actions.split(",")), None, decision),))


def table() -> AccountTable:
    users = AccountTable()
    users.create(Account("alice", CANARY.encode(), "sealed"))
    return users


def test_a_user_is_created_once() -> None:
    users = table()
    with pytest.raises(Refused, match="existed"):
        users.create(Account("alice", b"other"))
    found = users.find("alice")
    assert found is not None and found.secret == CANARY.encode()


@pytest.mark.parametrize("name", ["", "  ", "a:b", "a\nb", "x" * 257])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(Refused) as refused:
        AccountTable().create(Account(name, b"s"))
    assert refused.value.code == 16


def test_what_an_update_leaves_out_stays() -> None:
    users = table()
    users.update("alice", is_enabled=False)
    users.update("alice", secret=(b"new", "sealed2"))
    found = users.find("alice")
    assert found is not None
    assert (found.secret, found.sealed, found.is_enabled, found.is_super) == (b"new", "sealed2", False, False)
    with pytest.raises(Refused, match="not exist"):
        users.update("bob", is_enabled=True)


def test_every_change_is_a_new_version() -> None:
    users, seen = table(), set()
    for change in (
        lambda: users.create(Account("bob", b"s")),
        lambda: users.update("bob", is_super=True),
        lambda: users.grant("bob", parse_policies([policy("Topic:a")])),
        lambda: users.revoke("bob", PolicyType.CUSTOM, parse_resource("Topic:a")),
        lambda: users.delete("bob"),
        lambda: users.replace_all([]),
    ):
        change()
        seen.add(users.version)
    assert len(seen) == 6


def test_entries_are_found_by_their_resource() -> None:
    users = table()
    users.grant("alice", parse_policies([policy("Topic:a"), policy("Topic:b")]))
    users.grant("alice", parse_policies([policy("Topic:a", "Sub", "Deny")]))
    users.grant("alice", parse_policies([policy("Topic:a", kind="Default")]))
    found = users.find("alice")
    assert found is not None
    assert policy_infos(found.acl) == (
        PolicyInfo("Custom", (*policy("Topic:a", "Sub", "Deny").entries, *policy("Topic:b").entries)),  # type: ignore[misc]
        policy("Topic:a", kind="Default"),
    )
    users.revoke("alice", PolicyType.CUSTOM, parse_resource("Topic:a"))
    users.revoke("alice", PolicyType.CUSTOM, None)
    with pytest.raises(Refused, match="acl is not exist"):
        users.revoke("alice", PolicyType.CUSTOM, None)


@pytest.mark.parametrize(
    ("infos", "said"),
    [
        ([], "empty"),
        ([PolicyInfo("Custom", ())], "empty"),
        ([policy("Topic:a", "")], "action"),
        ([policy("Topic:a", "Any")], "action"),
        ([policy("Topic:a", "Pub", "Maybe")], "decision"),
        ([policy("Topic:a", kind="Other")], "policy type"),
        ([policy("Nothing:a")], "resource"),
        ([PolicyInfo(None, (PolicyEntryInfo("Topic:a", ("Pub",), ("10.0.0.300",), "Allow"),))], "address"),
    ],
)
def test_unusable_policies_are_refused(infos: list[PolicyInfo], said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        parse_policies(infos)
    assert refused.value.code == 16


def test_no_secret_in_any_repr() -> None:
    users = table()
    assert CANARY not in repr(users.find("alice")) + repr(users.all()) + repr(users.__dict__)


def test_the_file_has_no_secret_and_reads_back_with_the_key_alone() -> None:
    from cryptography.fernet import Fernet

    seal = Seal([Fernet.generate_key()])
    users = AccountTable()
    users.create(Account("alice", CANARY.encode(), seal.close(CANARY.encode()), True, False))
    users.grant("alice", parse_policies([policy("Topic:a", "Pub,Sub"), policy("*", kind="Default")]))
    data = encode_accounts(users.all())
    assert CANARY.encode() not in data
    assert decode_accounts(StoredUsers.decode(data), seal) == list(users.all())
    with pytest.raises(BadInput, match="key file"):
        decode_accounts(StoredUsers.decode(data), Seal([Fernet.generate_key()]))
