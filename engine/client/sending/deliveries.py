"""Getting sends to their brokers: dialling, answers, refusals, retries on another broker, time-outs.

One `Deliveries` per producer. It decides how a send that did not succeed goes on: another try while the
time budget and the number of retries allow, and the error that its caller sees otherwise. A send with a fixed
queue is never tried elsewhere. Loop thread only.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING

from engine.client.instance.answers import peer_error
from engine.client.instance.instance import ClientInstance
from engine.client.instance.periodic import Periodic
from engine.client.messages import SendResult, SendStatus
from engine.client.options import ProducerOptions
from engine.client.sending.drafts import Draft
from engine.client.sending.latency_faults import HARMLESS_LATENCY_MS, LatencyFaults
from engine.client.sending.pending_sends import SWEEP_S, Send, SendWindow
from engine.client.sending.send_plans import SendPlan, SendTarget, TopicPlans
from engine.errors import EngineError, PeerTimeout, PeerUnreachable
from engine.protocol.codes import ResponseCode
from engine.protocol.commands import Command

if TYPE_CHECKING:
    from engine.client.tracing.trace_writer import SendTracing

RETRIED_CODES = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
        ResponseCode.GO_AWAY,
    }
)
"""Refusals that another broker may not repeat."""

MAX_BYTES_IN_FLIGHT = 64 * 1024 * 1024


class Deliveries:
    """`launch` (answered) and `hand_over` (one-way), while `is_running`. The producer chooses the targets by
    `plans` and `faults`."""

    def __init__(self, instance: ClientInstance, group: str, options: ProducerOptions) -> None:
        self.plans = TopicPlans(group, instance.routes, options, instance.options.credentials)
        self.faults = LatencyFaults()
        self.is_running = False
        self._instance = instance
        self._requester = instance.requester
        self._tracing: SendTracing | None = None
        self._retries = options.retries
        self._avoids_slow_brokers = options.avoids_slow_brokers
        self._timeout_s = options.send_timeout_ms / 1000.0
        self._sweeping = Periodic("send time-outs", SWEEP_S, self._sweep)
        self._tasks: set[asyncio.Task[None]] = set()
        self._oneway_opaques = itertools.count(1)
        self.window = SendWindow(options.max_in_flight, MAX_BYTES_IN_FLIGHT)

    def start(self, tracing: SendTracing | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._tracing = tracing
        self._sweeping.start()
        self._instance.listen_to_routes(self.plans.on_route_changed)
        self.is_running = True

    async def close(self) -> None:
        """Wait for what is in flight; each send has its own time-out."""
        self.is_running = False
        await self.window.drained()
        await self._sweeping.stop()
        self.plans.close()
        self._instance.stop_listening_to_routes(self.plans.on_route_changed)

    async def plan_of(self, topic: str) -> SendPlan:
        return self.plans.known(topic) or await self.plans.make(topic)

    def launch(
        self, ready: Draft, plan: SendPlan, target: SendTarget, now_ms: int, *, is_batch: bool, is_fixed: bool
    ) -> asyncio.Future[SendResult]:
        now = self._loop.time()
        future: asyncio.Future[SendResult] = self._loop.create_future()
        send = Send(self, future, ready, plan, target, now_ms, now + self._timeout_s, is_batch, is_fixed)
        self.window.enter(send)
        self._start(send, now)
        return future

    async def hand_over(
        self, ready: Draft, target: SendTarget, now_ms: int, *, is_batch: bool
    ) -> asyncio.Future[SendResult]:
        """One-way. Waits while the connection takes no more data, so that the message is not lost
        silently."""
        deadline = self._loop.time() + self._timeout_s
        connection = self._requester.connected(target.address) or await self._requester.connect(
            target.address
        )
        while not connection.is_writable:
            if connection.is_closed or self._loop.time() > deadline:
                raise PeerUnreachable(f"{target.address} does not read: its connection is full")
            await asyncio.sleep(0.005)
        connection.send(target.frame(ready, now_ms, next(self._oneway_opaques), is_batch, True))
        future: asyncio.Future[SendResult] = self._loop.create_future()
        future.set_result(SendResult(SendStatus.HANDED_OVER, ready.msg_id, "", target.queue, -1))
        return future

    # -- called by sends ------------------------------------------------------------------------------------

    def on_answer(self, send: Send, answer: Command) -> None:
        self.window.leave(send)
        latency_ms = (self._loop.time() - send.started_at) * 1000.0
        if self._tracing is not None:
            self._tracing.sent(send, answer.code, answer.fields, latency_ms)
        if (self.faults or latency_ms >= HARMLESS_LATENCY_MS) and self._avoids_slow_brokers:
            self.faults.record(send.target.broker_name, latency_ms, time.time() * 1000)
        if send.plan.is_provisional and send.plan.was_answered_by(send.target.broker_name):
            self.plans.refresh_soon(send.plan.topic)

    def on_refusal(self, send: Send, answer: Command) -> None:
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            self.plans.refresh_soon(send.plan.topic)
        self._retry_or_fail(send, peer_error(answer), may_retry=answer.code in RETRIED_CODES)

    def on_lost(self, send: Send, error: EngineError) -> None:
        self.plans.refresh_soon(send.plan.topic)
        # A time-out has used up the budget of all tries.
        self._retry_or_fail(send, error, may_retry=not isinstance(error, PeerTimeout))

    # -- inside ---------------------------------------------------------------------------------------------

    def _retry_or_fail(self, send: Send, error: EngineError, *, may_retry: bool) -> None:
        now_ms = time.time() * 1000
        failed_broker = send.target.broker_name
        if self._avoids_slow_brokers:
            self.faults.record_failure(failed_broker, now_ms)
        now = self._loop.time()
        if not may_retry or send.is_fixed or send.tries > self._retries or send.deadline <= now:
            error.data["tries"] = send.tries
            self.window.leave(send)
            send.fail(error)
            return
        send.tries += 1
        plan = self.plans.known(send.plan.topic) or send.plan
        send.target = plan.choose(self.faults, now_ms, failed_broker)
        self._start(send, now)

    def _start(self, send: Send, now: float) -> None:
        connection = self._requester.connected(send.target.address)
        if connection is not None:
            send.start(connection, now)
        else:
            task = self._loop.create_task(self._dial_and_start(send))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _dial_and_start(self, send: Send) -> None:
        try:
            connection = await self._requester.connect(send.target.address)
        except PeerUnreachable as error:
            if not send.is_settled:
                self.on_lost(send, error)
            return
        if not send.is_settled:
            send.start(connection, self._loop.time())

    async def _sweep(self) -> None:
        self.window.sweep(self._loop.time(), self.on_lost)
