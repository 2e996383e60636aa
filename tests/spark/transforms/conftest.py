"""What the checks of any world start from."""

from __future__ import annotations

import random

import pytest

_KNOWN = 25
_NEW = 25


@pytest.fixture
def seeds() -> list[int]:
    """Of fifty worlds, which go through Spark in one pass, because a pass costs the same for one: half of
    them are the same in every run, half are new. A failure names the world, which its seed makes again."""
    return [*range(_KNOWN), *random.sample(range(_KNOWN, 2**32), _NEW)]
