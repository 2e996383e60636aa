"""Mutant: the dispatcher forgets one record in a hundred: its queue gets a blank unit instead."""

from __future__ import annotations

import sys
from typing import Any

from engine.broker.main import main
from engine.store.dispatch import Dispatcher

_apply = Dispatcher.apply
_QUEUE_OFFSET, _EVERY = 4, 100


def _apply_most(self: Dispatcher, rows: list[Any], **options: Any) -> Any:
    return _apply(self, [row for row in rows if row[_QUEUE_OFFSET] % _EVERY != _EVERY // 2], **options)


Dispatcher.apply = _apply_most  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
