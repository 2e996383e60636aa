"""Beat as a thread: sends the wake-ups of console/schedule.py. Losing one costs time, nothing else."""

from __future__ import annotations

import threading
from types import TracebackType

from celery.beat import Scheduler, Service

from console.celery import app


class Beat:
    """Runs while it is entered. Keeps nothing on disk: every entry is due again after its period."""

    def __init__(self) -> None:
        self._service = Service(app, max_interval=5, scheduler_cls=Scheduler)
        self._thread = threading.Thread(target=self._service.start, name="beat", daemon=True)

    def __enter__(self) -> Beat:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._service.stop(wait=False)
