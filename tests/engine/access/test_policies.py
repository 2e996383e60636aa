"""The decision as a table: RocketMQ 5's order of policies, specificity, addresses and decisions."""

from __future__ import annotations

import pytest

from engine.access.policies import DENIED, NO_POLICY, Acl, deciding_entry, parse_policies, refusal
from engine.access.resources import Action, Kind, Need
from engine.protocol.bodies.auth import PolicyEntryInfo, PolicyInfo

PUB, SUB, GET = Action.PUB, Action.SUB, Action.GET


def acl(*rows: tuple[str, str, str], default: tuple[tuple[str, str, str], ...] = ()) -> Acl:
    """(resource, "Pub,Sub", "Allow")."""
    infos = []
    for policy, entries in (("Custom", rows), ("Default", default)):
        if entries:
            parsed = tuple(PolicyEntryInfo(r, tuple(a.split(",")), None, d) for r, a, d in entries)
            infos.append(PolicyInfo(policy, parsed))
    return parse_policies(infos)


def on(name: str, *actions: Action, kind: Kind = Kind.TOPIC) -> Need:
    return Need(kind, name, actions or (PUB,))


@pytest.mark.parametrize(
    ("given", "need", "expected"),
    [
        (acl(("Topic:a", "Pub", "Allow")), on("a"), None),
        (acl(("Topic:a", "Pub", "Allow")), on("b"), NO_POLICY),
        (acl(("Topic:a", "Sub", "Allow")), on("a"), NO_POLICY),
        (acl(("Topic:a", "All", "Allow")), on("a"), None),
        (acl(("Topic:a", "Sub", "Allow")), on("a", PUB, SUB), None),
        (acl(("Topic:a", "Pub", "Deny")), on("a"), DENIED),
        # the more specific counts, whatever it says
        (acl(("Topic:*", "Pub", "Allow"), ("Topic:a", "Pub", "Deny")), on("a"), DENIED),
        (acl(("Topic:*", "Pub", "Deny"), ("Topic:a", "Pub", "Allow")), on("a"), None),
        (acl(("Topic:a*", "Pub", "Deny"), ("Topic:ab*", "Pub", "Allow")), on("abc"), None),
        (acl(("*", "All", "Allow"), ("Topic:*", "Pub", "Deny")), on("x"), DENIED),
        # the default policy only where the custom one is silent
        (acl(("Topic:a", "Pub", "Deny"), default=(("Topic:*", "Pub", "Allow"),)), on("a"), DENIED),
        (acl(("Topic:a", "Pub", "Deny"), default=(("Topic:*", "Pub", "Allow"),)), on("b"), None),
        (acl(("Topic:a", "Sub", "Allow"), default=(("Topic:*", "Pub", "Allow"),)), on("a"), None),
        # kinds do not mix
        (acl(("Topic:a", "All", "Allow")), on("a", SUB, kind=Kind.GROUP), NO_POLICY),
        (acl(("*", "All", "Allow")), on("c", GET, kind=Kind.CLUSTER), None),
        (Acl(), on("a"), NO_POLICY),
    ],
)
def test_decisions(given: Acl, need: Need, expected: str | None) -> None:
    assert refusal(given, need, "10.0.0.1") == expected


@pytest.mark.parametrize(
    "topic",
    ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_wheel_timer", "rmq_sys_REVIVE_LOG_c"],
)
def test_only_an_entry_that_names_it_reaches_a_system_topic(topic: str) -> None:
    for wide in ("*", "Topic:*", f"Topic:{topic[:8]}*"):
        assert refusal(acl((wide, "All", "Allow")), on(topic, SUB), "10.0.0.1") == NO_POLICY
    assert refusal(acl((f"Topic:{topic}", "Sub", "Allow")), on(topic, SUB), "10.0.0.1") is None


def test_the_groups_of_the_broker_itself_are_guarded_too() -> None:
    need = on("CID_RMQ_SYS_TRANS", SUB, kind=Kind.GROUP)
    assert refusal(acl(("Group:*", "Sub", "Allow")), need, "10.0.0.1") == NO_POLICY


@pytest.mark.parametrize(
    ("sources", "ip", "expected"),
    [
        (("10.0.0.1",), "10.0.0.1", None),
        (("10.0.0.1",), "10.0.0.2", NO_POLICY),
        (("192.168.0.0/16",), "192.168.3.4", None),
        (("192.168.0.7/16",), "192.168.3.4", None),
        (("192.168.0.0/16", "::1"), "::1", None),
        (("2001:db8::/32",), "2001:db8::5", None),
        (("0.0.0.0/0",), "", NO_POLICY),
        (("0.0.0.0/0",), "::1", NO_POLICY),
    ],
)
def test_source_addresses(sources: tuple[str, ...], ip: str, expected: str | None) -> None:
    entry = PolicyEntryInfo("Topic:a", ("Pub",), sources, "Allow")
    assert refusal(parse_policies([PolicyInfo(None, (entry,))]), on("a"), ip) == expected


def test_the_entry_that_decides_can_be_named() -> None:
    given = acl(("Topic:*", "Pub", "Allow"), ("Topic:ord*", "Pub", "Deny"), ("Topic:orders", "Sub", "Allow"))
    entry = deciding_entry(given, on("orders"), "10.0.0.1")
    assert entry is not None and str(entry.resource) == "Topic:ord*"
    assert deciding_entry(given, on("orders", kind=Kind.GROUP), "10.0.0.1") is None
