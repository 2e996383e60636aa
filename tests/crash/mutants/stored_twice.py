"""Mutant: one send in fifty is appended twice."""

from __future__ import annotations

import sys

from engine.broker.main import main
from engine.store.log.message_log import MessageLog
from engine.store.results import MessageDraft, PutResult

_put = MessageLog.put
_EVERY = 50


def _put_twice(self: MessageLog, draft: MessageDraft, now_ms: int) -> PutResult:
    result = _put(self, draft, now_ms)
    if self._stats.put_count % _EVERY == 0:
        _put(self, draft, now_ms)
    return result


MessageLog.put = _put_twice  # type: ignore[method-assign]
# Every send goes through `put` then.
MessageLog.put_plain = lambda *_: None  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.exit(main())
