"""Calls of the application's listener: what its result means, and how many per second succeed and fail.

A listener is an async function, or a plain one that runs in a pool of threads. It takes one message, or a
list of them when the consumer was given a batch size. It succeeds by returning (None or CONSUME_SUCCESS) and
fails by returning RECONSUME_LATER or SUSPEND_CURRENT_QUEUE_A_MOMENT, by raising, or by returning anything
else. What it raises is a result here, logged once.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.client.messages import ReceivedMessage
from engine.protocol.bodies.clients import ConsumeStatus as ConsumeRateStatus

if TYPE_CHECKING:
    from engine.client.tracing.trace_writer import ConsumeTracing

log = logging.getLogger(__name__)

WINDOW_S = 60.0
_SLICE_S = 10.0


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


@dataclass(slots=True)
class _Slice:
    begun_at: float
    ok: int = 0
    failed: int = 0
    calls: int = 0
    elapsed_ms: float = 0.0


class ConsumeRates:
    """Rates per topic over the last minute, for the running info (307). Memory is a few slices of ten seconds
    per topic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._slices: dict[str, deque[_Slice]] = {}
        self._failed: dict[str, int] = {}

    def record(self, topic: str, messages: int, outcome: Outcome) -> None:
        now = self._clock()
        slices = self._slices.setdefault(topic, deque())
        if not slices or now - slices[-1].begun_at >= _SLICE_S:
            slices.append(_Slice(now))
            while now - slices[0].begun_at > WINDOW_S:
                slices.popleft()
        current = slices[-1]
        current.calls += 1
        current.elapsed_ms += outcome.elapsed_ms
        if outcome.is_success:
            current.ok += messages
        else:
            current.failed += messages
            self._failed[topic] = self._failed.get(topic, 0) + messages

    def status(self) -> dict[str, ConsumeRateStatus]:
        return {topic: self._status_of(topic, slices) for topic, slices in self._slices.items()}

    def _status_of(self, topic: str, slices: deque[_Slice]) -> ConsumeRateStatus:
        now = self._clock()
        recent = [part for part in slices if now - part.begun_at <= WINDOW_S]
        span_s = max(now - recent[0].begun_at, _SLICE_S) if recent else WINDOW_S
        calls = sum(part.calls for part in recent)
        return ConsumeRateStatus(
            consume_rt=sum(part.elapsed_ms for part in recent) / calls if calls else 0.0,
            consume_ok_tps=sum(part.ok for part in recent) / span_s,
            consume_failed_tps=sum(part.failed for part in recent) / span_s,
            consume_failed_msgs=self._failed.get(topic, 0),
        )


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a function, or an object that is called like one, returns something to be awaited."""
    call = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


class ListenerCalls:
    """`call(messages)` runs the listener once and returns its failure; `rates` counts these calls."""

    def __init__(
        self, listener: Listener, *, takes_list: bool, threads: int, tracing: ConsumeTracing | None = None
    ) -> None:
        self._listener = listener
        self._tracing = tracing
        self._takes_list = takes_list
        self._is_async = is_async(listener)
        self._pool = None if self._is_async else ThreadPoolExecutor(threads, thread_name_prefix="listener")
        self.rates = ConsumeRates()

    async def call(self, messages: Sequence[ReceivedMessage]) -> Outcome:
        outcome = await self.call_uncounted(messages)
        self.rates.record(messages[0].topic, len(messages), outcome)
        return outcome

    async def call_uncounted(self, messages: Sequence[ReceivedMessage]) -> Outcome:
        """For a message that an operator sends to the listener (309)."""
        if self._tracing is None:
            return await self._call(messages)
        request_id = self._tracing.before(messages)
        outcome = await self._call(messages)
        self._tracing.after(request_id, messages, outcome)
        return outcome

    async def _call(self, messages: Sequence[ReceivedMessage]) -> Outcome:
        argument = list(messages) if self._takes_list else messages[0]
        begun = time.monotonic()
        # gather returns what the listener raises.
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
