"""An event loop in its own thread, so that code without one can use the asyncio client.

The loop belongs to its thread; other threads hand it work and wait. Calls that come from the loop's own
thread (from inside an async listener) would wait for themselves and are refused.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from engine.errors import BadInput

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class LoopThread:
    """`run` waits for a coroutine, `submit` returns its future, `close` ends the thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="signalbox client", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, R]) -> concurrent.futures.Future[R]:
        if not self._thread.is_alive():
            work.close()
            raise BadInput("the client is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        if threading.current_thread() is self._thread:
            work.close()
            raise BadInput("a blocking call from the client's own loop would wait for itself")
        return self.submit(work).result()

    def call(self, function: Callable[[], R]) -> R:
        """A plain function, run on the loop's thread."""

        async def step() -> R:
            return function()

        return self.run(step())

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


class Blocking:
    """What a blocking class is: a loop, and the asyncio object whose methods it calls there."""

    def __init__(self, loop: LoopThread, inner: Any) -> None:
        self._loop = loop
        self._inner = inner


class BlockingClient(Blocking):
    """A producer, consumer or admin; without a `loop` it runs one, and ends it when it is closed."""

    def __init__(self, loop: LoopThread | None, make: Callable[[], Any]) -> None:
        self._owns_loop = loop is None
        running = loop or LoopThread()
        super().__init__(running, running.call(make))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        self._loop.run(self._inner.start())

    def close(self) -> None:
        self._close()

    def _close(self, **arguments: bool) -> None:
        self._loop.run(self._inner.close(**arguments))
        if self._owns_loop:
            self._loop.close()


def waiting(
    method: Callable[Concatenate[T, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Blocking, P], R]:
    """The blocking twin of an async method: same arguments, same documentation, the result itself."""

    @functools.wraps(method)
    def call(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> R:
        # By name, so that a method which a subclass overrides is the one that is called.
        return cast(R, self._loop.run(getattr(self._inner, method.__name__)(*args, **kwargs)))

    return call


def on_loop(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[Blocking, P], R]:
    """A plain method, run where its object lives."""

    @functools.wraps(method)
    def call(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.call(lambda: cast(R, getattr(self._inner, method.__name__)(*args, **kwargs)))

    return call
