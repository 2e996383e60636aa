"""May a user do that, where only changes are guarded?"""

from __future__ import annotations

import pytest

from clusters.selectors.access_decisions import explain, is_open_action, needs_of

ALICE = {"status": "enable", "kind": "Normal"}


@pytest.mark.parametrize("action", ["pub", "sub", "get", "list"])
def test_sending_and_reading_are_open_to_every_known_user(action: str) -> None:
    is_open = is_open_action("administration", action)
    needs = needs_of(action, "orders", "", "c")
    assert explain(ALICE, (), needs, "10.0.0.1", is_open=is_open)["code"] == "open"
    # A request that names somebody must be theirs.
    assert explain(None, (), needs, "10.0.0.1", is_open=is_open)["code"] == "no_user"
    assert explain({**ALICE, "status": "disable"}, (), needs, "", is_open=is_open)["code"] == "disabled"


@pytest.mark.parametrize("action", ["create", "update", "delete"])
def test_changes_take_a_right(action: str) -> None:
    is_open = is_open_action("administration", action)
    answer = explain(ALICE, (), needs_of(action, "orders", "", "c"), "10.0.0.1", is_open=is_open)
    assert not answer["is_allowed"] and answer["code"] == "no_entry"


def test_nothing_is_open_where_access_control_is_on() -> None:
    assert not is_open_action("on", "pub") and not is_open_action("off", "pub")
