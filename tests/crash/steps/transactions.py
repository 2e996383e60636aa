"""The broker kills itself at a step of a transaction: `DIE_AT` names the step, `DIE_AFTER` which time.

    half        the half message is stored, its sender not answered
    real        the real message is stored, the op message not
    op          the op message is stored, the group's offsets are not committed
    copy        a half message that is asked about has its copy, the question is not sent
    given-up    the message lies in the topic of those given up, the op message is not stored

`DIE_FILE` exists once it has happened, so that the same broker can be started again and live.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.broker.handlers.transactions import TransactionHandlers
from engine.broker.main import main
from engine.broker.transaction_checks import TransactionChecks
from engine.broker.transaction_log import TransactionLog
from engine.broker.transactions import TransactionTable

STEPS: dict[str, tuple[type, str, str]] = {
    "half": (TransactionLog, "note", "before"),
    "real": (TransactionHandlers, "_append", "after"),
    "op": (TransactionTable, "op_written", "before"),
    "copy": (TransactionChecks, "_copy", "after"),
    "given-up": (TransactionChecks, "_give_up", "after"),
}


def _die() -> None:
    Path(os.environ["DIE_FILE"]).touch()
    os.kill(os.getpid(), signal.SIGKILL)


def install(step: str, times: int) -> None:
    cls, name, moment = STEPS[step]
    original: Callable[..., Any] = getattr(cls, name)
    left = times

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0 and moment == "before":
            _die()
        result = original(*args, **kwargs)
        if left == 0:
            _die()
        return result

    setattr(cls, name, dying)


if __name__ == "__main__":
    if not Path(os.environ["DIE_FILE"]).exists():
        install(os.environ["DIE_AT"], int(os.environ["DIE_AFTER"]))
    sys.exit(main())
