"""Mutant: one send in fifty is appended twice."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.store.log.writer import Writer
from engine.store.results import MessageDraft, PutResult

_put = Writer.put
_EVERY = 50


def _put_twice(self: Writer, draft: MessageDraft, now_ms: int) -> PutResult:
    result = _put(self, draft, now_ms)
    if self._stats.put_count % _EVERY == 0:
        _put(self, draft, now_ms)
    return result


Writer.put = _put_twice  # type: ignore[method-assign]
# Every send goes through `put` then.
Writer.put_plain = lambda *_: None  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
