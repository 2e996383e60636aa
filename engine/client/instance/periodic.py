"""A step that runs at an interval, and at once when it is woken. Loop thread only.

A step that fails is logged and tried again at the next turn: a client goes on while its servers are away.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from engine.errors import EngineError

log = logging.getLogger(__name__)

END_ATTEMPTS = 20
END_ATTEMPT_S = 0.5


async def end_task(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait until it has ended.

    More than once if need be: application code in the task may swallow a cancellation.
    """
    for _ in range(END_ATTEMPTS):
        if task.done():
            return
        task.cancel()
        await asyncio.wait((task,), timeout=END_ATTEMPT_S)
    log.error("task %s does not end after %d cancellations", task.get_name(), END_ATTEMPTS)


class Periodic:
    """`start`, `wake`, `stop`. Wakes that come while the step runs lead to exactly one more run."""

    def __init__(
        self, name: str, interval_s: float, step: Callable[[], Awaitable[object]], min_interval_s: float = 0.0
    ) -> None:
        self._name = name
        self._interval_s = interval_s
        self._min_interval_s = min_interval_s
        self._step = step
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)

    def wake(self) -> None:
        self._woken.set()

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            await end_task(task)

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._interval_s):
                    await self._woken.wait()
            self._woken.clear()
            await self._run_step()
            if self._min_interval_s:
                await asyncio.sleep(self._min_interval_s)

    async def _run_step(self) -> None:
        # gather returns the exception, so that one failed turn does not end the later ones.
        (failure,) = await asyncio.gather(self._step(), return_exceptions=True)
        if isinstance(failure, EngineError):
            log.warning("%s: %s", self._name, failure.text)
        elif isinstance(failure, BaseException):
            log.error("%s failed", self._name, exc_info=failure)
