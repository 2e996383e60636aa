"""Writes traces to the trace topic: behind the application's back, bounded, and never in its way.

A trace is put into a buffer and sent within half a second, many in one message. When the buffer is full, or
the brokers do not take a message, traces are lost and counted (`dropped_count`); a send or a listener call is
never delayed or failed by its trace. Loop thread only.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import random
import time
from collections import deque
from collections.abc import Iterator

from engine.client.instance.instance import ClientInstance
from engine.client.instance.periodic import Periodic
from engine.client.messages import Message, SendResult
from engine.client.options import ProducerOptions
from engine.client.sending.deliveries import Deliveries
from engine.client.sending.drafts import draft
from engine.client.sending.latency_faults import LatencyFaults
from engine.client.sending.message_keys import MessageKeys
from engine.client.sending.topic_plans import TopicPlans
from engine.errors import EngineError
from engine.protocol.traces import MAX_TRACE_BODY_BYTES, Trace, encode_trace, trace_keys

log = logging.getLogger(__name__)

MAX_WAITING = 2_048
FLUSH_S = 0.5
CLOSE_TIMEOUT_S = 3.0
_MAX_TRACES = 100
_MAX_KEYS_BYTES = 24_000
_numbers = itertools.count(1)


class Tracer:
    """`kind` is PRODUCE or CONSUME; `start`, `add` at any time, `close` sends what is left."""

    def __init__(self, instance: ClientInstance, group: str, kind: str, topic: str) -> None:
        self.topic = topic
        self.dropped_count = 0
        self._instance = instance
        self._options = ProducerOptions(send_timeout_ms=5_000)
        inner_group = f"_INNER_TRACE_PRODUCER-{group}-{kind}-{next(_numbers)}"
        self._plans = TopicPlans(inner_group, instance.routes, self._options, instance.options.credentials)
        self._faults = LatencyFaults()
        self._keys = MessageKeys(instance.ip, os.getpid(), random.getrandbits(32))
        self._waiting: deque[Trace] = deque()
        self._flushing = Periodic("traces", FLUSH_S, self._flush)
        self._deliveries: Deliveries | None = None

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._deliveries = Deliveries(
            loop, self._instance.requester, self._plans, self._faults, self._options
        )
        self._instance.listen_to_routes(self._plans.on_route_changed)
        self._flushing.start()

    def add(self, trace: Trace) -> None:
        if len(self._waiting) >= MAX_WAITING or self._deliveries is None:
            self.dropped_count += 1
            return
        self._waiting.append(trace)
        if len(self._waiting) % _MAX_TRACES == 0:
            self._flushing.wake()

    def new_id(self) -> str:
        """For what must be told apart from everything else: a listener call."""
        return self._keys.next(int(time.time() * 1000))

    async def close(self) -> None:
        deliveries = self._deliveries
        if deliveries is None:
            return
        await self._flushing.stop()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._flush()
        except (TimeoutError, EngineError) as error:
            log.info("the last traces are lost: %s", error)
        self._deliveries = None
        await deliveries.close()
        self._plans.close()
        self._instance.stop_listening_to_routes(self._plans.on_route_changed)

    # -- inside ---------------------------------------------------------------------------------------------

    async def _flush(self) -> None:
        if not self._waiting or self._deliveries is None:
            return
        plan = self._plans.known(self.topic) or await self._plans.make(self.topic)
        for message in self._messages():
            if self._deliveries.window.is_full:
                await self._deliveries.window.room()
            now_ms = int(time.time() * 1000)
            ready = draft(message, self._keys.next(now_ms), False, (message.body, 0))
            target = plan.choose(self._faults, now_ms)
            future = self._deliveries.launch(ready, plan, target, now_ms, is_batch=False, is_fixed=False)
            future.add_done_callback(self._sent)

    def _sent(self, future: asyncio.Future[SendResult]) -> None:
        if not future.cancelled() and isinstance(error := future.exception(), EngineError):
            self.dropped_count += 1
            log.info("a message of traces is lost: %s", error.text)

    def _messages(self) -> Iterator[Message]:
        """What waits, in messages within the limits of body and keys."""
        while self._waiting:
            taken = [self._waiting.popleft()]
            size, keys_size = _sizes(taken[0])
            while self._waiting and len(taken) < _MAX_TRACES:
                more, more_keys = _sizes(self._waiting[0])
                if size + more > MAX_TRACE_BODY_BYTES or keys_size + more_keys > _MAX_KEYS_BYTES:
                    break
                size, keys_size = size + more, keys_size + more_keys
                taken.append(self._waiting.popleft())
            if size > MAX_TRACE_BODY_BYTES or keys_size > _MAX_KEYS_BYTES:
                self.dropped_count += 1
                continue
            yield Message(self.topic, "".join(map(encode_trace, taken)).encode(), keys=trace_keys(taken))


def _sizes(trace: Trace) -> tuple[int, int]:
    """Bytes of a trace in the body and, with the blanks between, in the keys."""
    keys = trace_keys([trace])
    return len(encode_trace(trace).encode()), len(" ".join(keys).encode()) + 1
