"""Calling the application's listener, and what its result means.

A listener is an async function, or a plain one that runs in a pool of threads. It takes one message, or a
list of them when the consumer was given a batch size. It succeeds by returning (None or CONSUME_SUCCESS) and
fails by returning RECONSUME_LATER or SUSPEND_CURRENT_QUEUE_A_MOMENT, by raising, or by returning anything
else. It is the application's code: its errors are results here, logged once, never ours.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.client.messages import ReceivedMessage

if TYPE_CHECKING:
    from engine.client.tracing.trace_points import ConsumeTracing

log = logging.getLogger(__name__)


class ConsumeStatus(Enum):
    """What a listener may return; None counts as success."""

    CONSUME_SUCCESS = "CONSUME_SUCCESS"
    RECONSUME_LATER = "RECONSUME_LATER"
    SUSPEND_CURRENT_QUEUE_A_MOMENT = "SUSPEND_CURRENT_QUEUE_A_MOMENT"


Listener = Callable[[Any], Awaitable["ConsumeStatus | None"] | ConsumeStatus | None]
"""Takes a ReceivedMessage, or a list of them when `consume_batch_size` is set."""


class Outcome(NamedTuple):
    """How a call ended; `error` is what it raised."""

    is_success: bool
    elapsed_ms: float
    error: BaseException | None = None


class ListenerCalls:
    """`call(messages)` runs the listener once and never raises for it."""

    def __init__(
        self, listener: Listener, *, takes_list: bool, threads: int, tracing: ConsumeTracing | None = None
    ) -> None:
        self._listener = listener
        self._tracing = tracing
        self._takes_list = takes_list
        self._is_async = inspect.iscoroutinefunction(listener) or inspect.iscoroutinefunction(
            getattr(listener, "__call__", None)  # noqa: B004
        )
        self._pool = None if self._is_async else ThreadPoolExecutor(threads, thread_name_prefix="listener")

    async def call(self, messages: Sequence[ReceivedMessage]) -> Outcome:
        if self._tracing is None:
            return await self._call(messages)
        request_id = self._tracing.before(messages)
        outcome = await self._call(messages)
        self._tracing.after(request_id, messages, outcome)
        return outcome

    async def _call(self, messages: Sequence[ReceivedMessage]) -> Outcome:
        argument = list(messages) if self._takes_list else messages[0]
        begun = time.monotonic()
        # gather hands whatever the listener raises over as a value.
        (result,) = await asyncio.gather(self._start(argument), return_exceptions=True)
        elapsed_ms = (time.monotonic() - begun) * 1000.0
        if result is None or result is ConsumeStatus.CONSUME_SUCCESS:
            return Outcome(True, elapsed_ms)
        if isinstance(result, BaseException):
            log.warning("the listener raised on %s", messages, exc_info=result)
            return Outcome(False, elapsed_ms, result)
        if not isinstance(result, ConsumeStatus):
            log.warning("the listener returned %r on %s, which counts as a failure", result, messages)
        return Outcome(False, elapsed_ms)

    def _start(self, argument: object) -> Awaitable[object]:
        if self._pool is None:
            started = self._listener(argument)
            assert inspect.isawaitable(started)
            return started
        return asyncio.get_running_loop().run_in_executor(self._pool, self._listener, argument)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
