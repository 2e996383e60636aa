"""Mutant: a full disk costs unexpired segments in a safe group, too (RocketMQ's default)."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from engine.broker.main import main
from engine.broker.settings import options


def _nothing(given: Mapping[str, str]) -> dict[str, str]:
    return {}


options.forced_deletion_default = _nothing  # type: ignore[attr-defined]

if __name__ == "__main__":
    sys.exit(main())
