"""How a broker kills itself at a step: `DIE_AT` names the step, `DIE_AFTER` says which time.

A step is a method of the engine, before or after which the broker dies, and what counts as one time.
`DIE_FILE` exists once it has happened, so that the same broker can be started again and live.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from engine.broker.main import main


def always(*args: Any, **kwargs: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Step:
    cls: type
    name: str
    moment: Literal["before", "after"]
    counts: Callable[..., bool] = always
    """Asked with the arguments of each call."""


def run(steps: Mapping[str, Step]) -> None:
    if not Path(os.environ["DIE_FILE"]).exists():
        _install(steps[os.environ["DIE_AT"]], int(os.environ["DIE_AFTER"]))
    sys.exit(main())


def _install(step: Step, times: int) -> None:
    original: Callable[..., Any] = getattr(step.cls, step.name)
    left = times

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= step.counts(*args, **kwargs)
        if left == 0 and step.moment == "before":
            _die()
        result = original(*args, **kwargs)
        if left == 0:
            _die()
        return result

    setattr(step.cls, step.name, dying)


def _die() -> None:
    Path(os.environ["DIE_FILE"]).touch()
    os.kill(os.getpid(), signal.SIGKILL)
