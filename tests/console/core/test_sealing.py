"""Secrets at rest: nothing readable, old keys still open."""

from __future__ import annotations

import pytest

from console.core.problems import Problem
from console.core.sealing import reseal, seal, unseal


def test_what_is_sealed_opens_and_does_not_show() -> None:
    sealed = seal("canary")
    assert "canary" not in sealed and unseal(sealed) == "canary"
    assert seal("canary") != sealed


def test_a_former_key_still_opens_and_resealing_moves_to_the_new_one(settings) -> None:
    sealed = seal("canary")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 40, [settings.SECRET_KEY]
    moved = reseal(sealed)
    assert unseal(sealed) == unseal(moved) == "canary"
    settings.SECRET_KEY_FALLBACKS = []
    assert unseal(moved) == "canary"
    with pytest.raises(Problem, match="no longer has"):
        unseal(sealed)
