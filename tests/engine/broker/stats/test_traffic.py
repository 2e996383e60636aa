"""Who sends to a topic, from the sends alone."""

from __future__ import annotations

from engine.broker.stats.traffic import KEPT_MS, LOOK_EVERY_MS, MOST_GROUPS, Senders

NOW_MS = 1_700_000_000_000


def test_groups_are_named_by_topic_and_told_once() -> None:
    senders = Senders()
    for group in ("shop", "app", "shop"):
        senders.note("orders", group, NOW_MS)
    assert senders.names("orders") == ["app", "shop"]
    assert senders.names("unknown") == []
    assert senders.take_changed(NOW_MS) == {"orders"}
    senders.note("orders", "shop", NOW_MS + 1)
    assert senders.take_changed(NOW_MS + 1) == set()


def test_who_has_stopped_is_forgotten_and_that_is_told() -> None:
    senders = Senders()
    senders.note("orders", "shop", NOW_MS)
    senders.note("orders", "app", NOW_MS + KEPT_MS)
    senders.note("mail", "shop", NOW_MS)
    senders.take_changed(NOW_MS)
    assert senders.take_changed(NOW_MS + LOOK_EVERY_MS) == set()
    assert senders.take_changed(NOW_MS + KEPT_MS + 1) == {"orders", "mail"}
    assert (senders.names("orders"), senders.names("mail")) == (["app"], [])


def test_what_strangers_call_themselves_is_bounded() -> None:
    senders = Senders()
    senders.note("orders", "", NOW_MS)
    senders.note("orders", "x" * 256, NOW_MS)
    for number in range(2 * MOST_GROUPS):
        senders.note("orders", f"group-{number}", NOW_MS)
    assert len(senders.names("orders")) == MOST_GROUPS


def test_a_deleted_topic_has_no_senders() -> None:
    senders = Senders()
    senders.note("orders", "shop", NOW_MS)
    senders.forget_topic("orders")
    assert senders.names("orders") == []
