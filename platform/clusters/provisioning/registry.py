"""What a kind of step does: a function that runs it and, where it can be undone, one that undoes it.

Functions take a `StepContext` and return what is to be kept as the step's result. They are written so that a
second run after a kill finishes the first one's work: they look before they act. `Later` puts a step back for
some seconds, so that long waits hold no worker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from clusters.models import Cluster, Operation, Step
from clusters.provisioning import steps
from clusters.provisioning.steps import Held, LeaseLost
from clusters.provisioning.undoing import Undone

_LOOK_EVERY_S = 1.0


class Later(Exception):
    """Not yet: look again after that many seconds."""

    def __init__(self, wait_s: float, progress: str) -> None:
        super().__init__(progress)
        self.wait_s, self.progress = wait_s, progress


class Cancelled(Exception):
    """Somebody cancelled the operation: stop here."""


class Stopping(Exception):
    """This worker ends: another one goes on."""


class StepFailed(Exception):
    """It cannot be done; the text says why, to a person."""


class StepContext:
    def __init__(self, step: Step, held: Held, stopping: threading.Event) -> None:
        self.step, self.held = step, held
        self.operation: Operation = step.operation
        self.arguments: Mapping[str, Any] = step.arguments
        self.result: dict[str, Any] = dict(step.result)
        """Kept over runs of the same step."""
        self._stopping = stopping
        self._looked = 0.0
        self.is_lost = threading.Event()

    @property
    def cluster(self) -> Cluster:
        assert self.operation.cluster is not None, "every kind of step is about a cluster"
        return self.operation.cluster

    def now(self) -> datetime:
        return timezone.now()

    def log(self, line: str) -> None:
        steps.add_line(self.held, line, self.now())

    def progress(self, text: str) -> None:
        steps.note(self.held, progress=text[:255])

    def keep(self, **values: Any) -> None:
        """Into the result, at once: a later run of this step sees it."""
        self.result |= values
        steps.note(self.held, result=self.result)

    def check(self, *, at_once: bool = False) -> None:
        """Raises when nothing more is to be done. Cheap enough for loops; `at_once` before a side effect."""
        if self.is_lost.is_set():
            raise LeaseLost
        if self._stopping.is_set():
            raise Stopping
        if not at_once and time.monotonic() - self._looked < _LOOK_EVERY_S:
            return
        state = steps.standing(self.held)
        self._looked = time.monotonic()
        if state is None:
            raise LeaseLost
        if state == Operation.State.CANCELLING:
            raise Cancelled

    def wait(self, seconds: float) -> None:
        self.check()
        self._stopping.wait(seconds)


Run = Callable[[StepContext], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class StepKind:
    name: str
    run: Run
    undo: Run | None = None
    undone: Undone = Undone.IN_TURN


class Registry:
    def __init__(self) -> None:
        self._kinds: dict[str, StepKind] = {}

    def add(self, name: str, run: Run, undo: Run | None = None, *, undone: Undone = Undone.IN_TURN) -> None:
        assert name not in self._kinds, f"two kinds of step are called {name}"
        self._kinds[name] = StepKind(name, run, undo, undone)

    def get(self, name: str) -> StepKind | None:
        return self._kinds.get(name)

    @property
    def undoable(self) -> dict[str, Undone]:
        return {kind.name: kind.undone for kind in self._kinds.values() if kind.undo is not None}


kinds = Registry()
"""Filled when clusters.provisioning.kinds is imported."""
