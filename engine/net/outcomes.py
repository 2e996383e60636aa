"""What a handler may return: a closed set of outcomes, so that no handler ever waits by itself.

    Reply           answer now
    EncodedReply    answer now with a frame that is encoded already
    Hold            park a long poll until a message arrives or its time is up
    WaitFlush       answer when the log is on disk up to an offset
    WaitReplicas    answer when enough replicas have the log up to an offset
    Relay           ask another client, then go on with its answer
    ColdRead        read outside the hot window in a thread, then go on with the bytes
    Slices          work on the loop in steps, then go on
    Persist         write a table to disk, then go on
    Announce        write a table to disk and register with the name servers, then go on
    Work            run a task with waits of its own

A handler is `(request, connection) -> outcome`; `serving` does the waiting and sends the reply. A daemon
implements the waits that it offers: `Waits` for tables, `LogWaits` for what needs a log or name servers. A
daemon without a log returns `PlainOutcome` only, which the type checker enforces. Waits call back instead of
using futures: a waiting request costs one small object, not a task.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from engine.protocol.commands import Buffer, Command

if TYPE_CHECKING:
    from engine.net.connection import Connection


@dataclass(slots=True)
class Reply:
    """Answer now. Never changed after creation; not frozen, because that doubles the cost of creating one."""

    code: int = 0
    remark: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    body: Buffer = b""


class Shared(Protocol):
    @property
    def weight(self) -> int:
        """As how many polls it counts."""


class Poll(Protocol):
    """What a long poll waits for, and how it goes on.

    There may be a hundred thousand of them, so each is one small object that holds no more than its answer
    needs. Names are interned and therefore shared; keys are built on demand. As structs with gc=False they
    cost the garbage collector nothing (none is part of a cycle).
    """

    @property
    def shared(self) -> Shared | None:
        """A large object that it refers to, possibly together with other polls."""

    def parked_under(self) -> tuple[Hashable, ...]:
        """Its keys, the same at every call."""

    def accepts(self, arrival: object, /) -> bool:
        """Whether this arrival ends the wait."""

    def resume(self) -> Outcome:
        """Run the request again."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A long poll: park until it is woken with an arrival that it accepts, or for `timeout_ms`."""

    poll: Poll
    timeout_ms: int


class Later(Struct, frozen=True, eq=False):
    """A poll of which there are few: any arrival under its keys ends the wait."""

    resume: Callable[[], Outcome]
    waits_for: tuple[Hashable, ...] = ()
    shared: None = None

    def parked_under(self) -> tuple[Hashable, ...]:
        return self.waits_for

    def accepts(self, arrival: object, /) -> bool:
        return True


class HeldRequest(Struct, eq=False, gc=False):
    """A parked request: its poll, its client, and the fields that the reply needs."""

    poll: Poll
    client: Connection
    finish: Callable[[HeldRequest], None]
    code: int
    opaque: int
    flag: int
    serialize_type: int
    due: int = -1
    """Owned by the table in which it is parked."""

    def done(self) -> None:
        """The wait is over; called exactly once."""
        self.client.run_step(self._finish, is_costly=True)

    def _finish(self) -> None:
        self.finish(self)


@dataclass(frozen=True, slots=True)
class WaitFlush:
    """Answer `reply` once the log is on disk up to the offset, `late` after the time-out or a failed sync."""

    commit_log_offset: int
    timeout_ms: int
    reply: Reply
    late: Reply


@dataclass(frozen=True, slots=True)
class WaitReplicas:
    """Answer `reply` once `count` replicas hold the log up to the offset, `late` after the time-out."""

    commit_log_offset: int
    count: int
    timeout_ms: int
    reply: Outcome
    late: Reply


@dataclass(frozen=True, slots=True)
class Relay:
    """Ask another client over its own connection, then finish with its answer (None: no answer in time)."""

    client: Connection
    request: Command
    timeout_ms: int
    finish: Callable[[Command | None], Outcome]


@dataclass(frozen=True, slots=True)
class ColdRead:
    """Read in a thread (a page fault must not stall the loop), then finish with the bytes."""

    read: Callable[[], bytes]
    finish: Callable[[bytes], Outcome]


@dataclass(frozen=True, slots=True)
class Slices:
    """Work of many milliseconds on the loop's own tables: one step per turn of the loop, then `finish`.

    The remaining steps are dropped when the client disconnects, so no step may leave a table half changed.
    """

    steps: Iterator[None]
    finish: Callable[[], Outcome]


@dataclass(frozen=True, slots=True)
class Persist:
    """Write the table of this file to disk, then answer `reply`, or run `resume` (which may append)."""

    file: str
    reply: Outcome | None = None
    resume: Callable[[], Outcome] | None = None


@dataclass(frozen=True, slots=True)
class Announce:
    """Like `Persist`, and register with the name servers before the answer: for new and changed topics."""

    file: str
    reply: Outcome | None = None
    resume: Callable[[], Outcome] | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """Runs as a task of its own, which goes on when the client disconnects: a change of the broker's role in
    its group. An error that it raises is answered like a handler's."""

    run: Callable[[], Coroutine[Any, Any, Reply]]


EncodedReply = bytes
"""A complete frame, in the header type of its request and with its opaque (docs/adr/0007)."""

PlainOutcome = Reply | EncodedReply | Relay | ColdRead | Slices | Persist

Outcome = PlainOutcome | Hold | WaitFlush | WaitReplicas | Announce | Work

Handler = Callable[[Command, "Connection"], Outcome]
PlainHandler = Callable[[Command, "Connection"], PlainOutcome]


class Waits(Protocol):
    """The waits of every daemon. Each calls `done` exactly once, on the loop."""

    def when_persisted(self, file: str, done: Callable[[OSError | None], None]) -> None: ...


class LogWaits(Waits, Protocol):
    """The waits of a daemon with a log."""

    def when_announced(self, file: str, done: Callable[[OSError | None], None]) -> None: ...

    def when_woken(self, held: HeldRequest, timeout_ms: int) -> None: ...

    def when_flushed(self, commit_log_offset: int, timeout_ms: int, done: Callable[[bool], None]) -> None: ...

    def when_replicated(
        self, commit_log_offset: int, count: int, timeout_ms: int, done: Callable[[bool], None]
    ) -> None: ...
