"""Quotas before the handlers of sends and reads: a request over its quota is delayed, and then served.

Delayed and not refused, because official clients give up an asynchronous send on its first refusal and retry
a synchronous one at once, while a late answer slows all of them down (docs/adr/0009). A request that would
wait too long, or exceed the limit of held bytes, is refused before anything is done. Without quotas, `gated`
returns the table of handlers as it is. Loop thread only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import Struct

from engine.broker.quotas.quota_table import Charge, Quotas
from engine.broker.settings.options import LiveOptions
from engine.errors import Refused
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Hold, Later, Outcome, Poll, Reply, Shared
from engine.protocol.codes import RequestCode, ResponseCode
from engine.protocol.commands import Command
from engine.protocol.names import is_retry_topic

LONGEST_SEND_S = 2.0
"""RocketMQ's clients wait 3 s for the answer to a send."""
LONGEST_READ_S = 10.0
AGAIN_S = 0.05
"""The least delay before a read checks its quota again: with a thousand reads waiting, each one served would
otherwise wake all others."""
MOST_HELD_BYTES = 64 * 1024 * 1024

_CLOCK_STEP_S = 0.005
"""Holds end by whole milliseconds."""

_SENDS = {
    RequestCode.SEND_MESSAGE: "topic",
    RequestCode.SEND_REPLY_MESSAGE: "topic",
    RequestCode.SEND_MESSAGE_V2: "b",
    RequestCode.SEND_BATCH_MESSAGE: "b",
    RequestCode.SEND_REPLY_MESSAGE_V2: "b",
}
"""The field that holds the topic."""
_READS = (
    RequestCode.PULL_MESSAGE,
    RequestCode.LITE_PULL_MESSAGE,
    RequestCode.POP_MESSAGE,
    RequestCode.PEEK_MESSAGE,
)
QUOTA_OPTIONS = frozenset(
    f"signalbox_{subject}_{what}_per_second"
    for subject in ("client", "topic", "group")
    for what in ("requests", "bytes")
)


_WATCHED = "broker.quotas_watched"


@dataclass(slots=True)
class _Held:
    """What one client has waiting."""

    until_s: float = 0.0
    count: int = 0
    size_bytes: int = 0


class _PayingPoll(Struct, frozen=True, eq=False, gc=False):
    """A long poll that pays when it is answered."""

    poll: Poll
    gate: QuotaGate
    client: Connection
    group: str

    @property
    def shared(self) -> Shared | None:
        return self.poll.shared

    def parked_under(self) -> tuple[Hashable, ...]:
        return self.poll.parked_under()

    def accepts(self, arrival: object, /) -> bool:
        return self.poll.accepts(arrival)

    def resume(self) -> Outcome:
        return self.gate.paying(self.poll.resume(), self.client, self.group)


class QuotaGate:
    """`gated(routes)` is the table to serve by; make it again when a quota or a handler has changed."""

    def __init__(self, live: LiveOptions, clock: Callable[[], float]) -> None:
        self._live = live
        self._clock = clock
        self._quotas = Quotas()
        self._routes: Mapping[int, Handler] = {}
        self._held: dict[Connection, _Held] = {}
        self._held_bytes = 0
        self.held = self.refused = 0
        """How many requests so far."""

    def gated(self, routes: Mapping[int, Handler]) -> dict[int, Handler]:
        self._routes = routes
        gated = dict(routes)
        if any(getattr(self._live, name) for name in QUOTA_OPTIONS):
            gated |= {code: self.send for code in _SENDS if code in routes}
            gated |= {code: self.read for code in _READS if code in routes}
        return gated

    def send(self, request: Command, client: Connection) -> Outcome:
        live, size = self._live, len(request.body)
        topic = request.fields.get(_SENDS[RequestCode(request.code)], "")
        charges = [
            *_charges(("client", client.remote), live.signalbox_client_requests_per_second, 1),
            *_charges(("client bytes", client.remote), live.signalbox_client_bytes_per_second, size),
        ]
        if not is_retry_topic(topic):
            charges += _charges(("topic", topic), live.signalbox_topic_requests_per_second, 1)
            charges += _charges(("topic bytes", topic), live.signalbox_topic_bytes_per_second, size)
        return self._admit(request, client, charges, size)

    def read(self, request: Command, client: Connection) -> Outcome:
        live, group = self._live, request.fields.get("consumerGroup", "")
        later = self._charges_of_bytes(client, group, 0)
        charges = [
            *_charges(("client", client.remote), live.signalbox_client_requests_per_second, 1),
            *_charges(("group", group), live.signalbox_group_requests_per_second, 1),
            *later,
        ]
        return self.paying(self._admit(request, client, charges, 0, later), client, group)

    def _charges_of_bytes(self, client: Connection, group: str, size: int) -> list[Charge]:
        """What a read pays when it is answered."""
        live = self._live
        return [
            *_charges(("client bytes", client.remote), live.signalbox_client_bytes_per_second, size),
            *_charges(("group bytes", group), live.signalbox_group_bytes_per_second, size),
        ]

    def _admit(
        self,
        request: Command,
        client: Connection,
        charges: list[Charge],
        size: int,
        later: Sequence[Charge] = (),
    ) -> Outcome:
        is_send = request.code in _SENDS
        has_room = self._held_bytes + size <= MOST_HELD_BYTES
        longest_s = (LONGEST_SEND_S if is_send else LONGEST_READ_S) if has_room else 0.0
        now_s = self._clock()
        wait_s = self._quotas.reserve(charges, longest_s, now_s)
        if wait_s is None:
            self.refused += 1
            raise _over_quota(is_send)
        held = self._held.get(client)
        if held is None:
            if wait_s <= 0.0:
                return self._routes[request.code](request, client)
            held = self._held[client] = _Held()
            if _WATCHED not in client.tags:
                client.tags[_WATCHED] = True
                client.on_close(self._client_left)
        # After the held requests of this client: a client's requests keep their order.
        held.until_s = max(held.until_s, now_s + wait_s)
        held.count += 1
        held.size_bytes += size
        self._held_bytes += size
        self.held += 1
        if later:
            return self._hold_read(request, client, later, held.until_s - now_s, now_s + longest_s)
        return _wait(held.until_s - now_s, lambda: self._resume(request, client, size))

    def _hold_read(
        self, request: Command, client: Connection, later: Sequence[Charge], wait_s: float, deadline_s: float
    ) -> Outcome:
        """Reads served first may have left a debt, so the quota is checked again. A read that is woken before
        its time must not wait any longer (the broker stops, or has no room for it)."""
        due_s = self._clock() + wait_s - _CLOCK_STEP_S

        def resume() -> Outcome:
            now_s = self._clock()
            if now_s < due_s:
                return self._resume(request, client, 0)
            owed_s = self._quotas.reserve(later, max(deadline_s - now_s, 0.0), now_s)
            if owed_s:
                return self._hold_read(request, client, later, max(owed_s, AGAIN_S), deadline_s)
            if owed_s is None:
                self._release(client, 0)
                self.refused += 1
                raise _over_quota(False)
            return self._resume(request, client, 0)

        return _wait(wait_s, resume)

    def _resume(self, request: Command, client: Connection, size: int) -> Outcome:
        """By the current handler: the broker may have become a slave meanwhile."""
        self._release(client, size)
        # The delay was intended: fast failure must not count it as a backlog.
        client.read_at = client.last_read_at = self._clock()
        return self._routes[request.code](request, client)

    def _release(self, client: Connection, size: int) -> None:
        held = self._held[client]
        held.count -= 1
        held.size_bytes -= size
        self._held_bytes -= size
        if not held.count:
            del self._held[client]

    def _client_left(self, client: Connection) -> None:
        """Its held requests are never resumed."""
        held = self._held.pop(client, None)
        if held is not None:
            self._held_bytes -= held.size_bytes

    def paying(self, outcome: Outcome, client: Connection, group: str) -> Outcome:
        """The outcome, extended so that the bytes of its answer are charged."""
        if isinstance(outcome, Reply):
            size = len(outcome.body)
            charges = self._charges_of_bytes(client, group, size) if size else []
            if charges:
                self._quotas.pay(charges, self._clock())
            return outcome
        if isinstance(outcome, Hold):
            return Hold(_PayingPoll(outcome.poll, self, client, sys.intern(group)), outcome.timeout_ms)
        if isinstance(outcome, ColdRead):
            finish = outcome.finish
            return replace(outcome, finish=lambda data: self.paying(finish(data), client, group))
        return outcome


def _charges(key: Hashable, rate: int, cost: float) -> tuple[Charge, ...]:
    return (Charge(key, rate, cost),) if rate else ()


def _wait(seconds: float, resume: Callable[[], Outcome]) -> Hold:
    return Hold(Later(resume), int(seconds * 1000) + 1)


def _over_quota(is_send: bool) -> Refused:
    code = ResponseCode.SYSTEM_BUSY if is_send else ResponseCode.FLOW_CONTROL
    return Refused("[FLOW_CONTROL]over a quota of this broker (signalbox…PerSecond), slow down", code=code)
