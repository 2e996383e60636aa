"""The steps of popped messages at which a broker may die.

back        the message lies in its retry topic, the pop that is over is not acknowledged
renewed     a changed invisible time has its checkpoint, the one that it replaces is not acknowledged
"""

from __future__ import annotations

from typing import Any

from engine.broker.pop.revive_log import ReviveLog
from engine.broker.pop.revive_task import Revival
from tests.crash.steps.dying import Step, run


def is_renewal(*args: Any, first_pop_ms: int | None = None, **kwargs: Any) -> bool:
    return first_pop_ms is not None


STEPS = {
    "back": Step(Revival, "_close", "before"),
    "renewed": Step(ReviveLog, "checkpoint", "after", is_renewal),
}

if __name__ == "__main__":
    run(STEPS)
