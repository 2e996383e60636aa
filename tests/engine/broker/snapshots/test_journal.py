"""A journal tells what changed since a version, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.broker.snapshots import journal
from engine.broker.snapshots.journal import Journal, SectionChange


def named(changes: Iterable[SectionChange]) -> dict[str, bytes | None]:
    return {name: value for _, name, value in changes}


def test_only_what_became_different_is_a_change() -> None:
    kept: Journal = Journal()
    kept.put("s", "a", b"1")
    kept.put("s", "b", b"1")
    seen = kept.version
    kept.put("s", "a", b"1")
    assert list(kept.since(seen)) == []
    kept.put("s", "b", b"2")
    assert list(kept.since(seen)) == [("s", "b", b"2")]
    assert kept.version == seen + 1


def test_a_key_that_goes_is_told_once_and_is_not_present() -> None:
    kept: Journal = Journal()
    kept.put("s", "a", b"1")
    seen = kept.version
    kept.put("s", "a", None)
    kept.put("s", "a", None)
    kept.put("s", "never", None)
    assert list(kept.since(seen)) == [("s", "a", None)]
    assert list(kept.copy().present()) == []


def test_when_too_much_has_gone_an_old_version_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_GONE", 3)
    kept: Journal = Journal()
    for number in range(5):
        kept.put("s", str(number), b"x")
    before = kept.version
    for number in range(4):
        kept.put("s", str(number), None)
    assert not kept.is_known(before)
    assert kept.is_known(kept.version)
    assert not kept.is_known(kept.version + 1)
    assert list(kept.copy().present()) == [("s", "4", b"x")]


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from([b"x", b"y", None]), st.booleans())))
def test_changes_put_onto_what_was_known_give_what_is_there(
    steps: list[tuple[str, bytes | None, bool]],
) -> None:
    kept: Journal = Journal()
    collector: dict[str, bytes | None] = {}
    seen = 0
    for key, value, asks in steps:
        kept.put("s", key, value)
        if asks:
            assert named(kept.copy().since(seen)) == named(kept.since(seen))
            collector.update(named(kept.since(seen)))
            seen = kept.version
            assert {k: v for k, v in collector.items() if v is not None} == named(kept.copy().present())
