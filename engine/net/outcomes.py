"""What a handler may answer: a closed set of values, so that no handler ever waits by itself.

A handler decides and returns one of these; `serving` does the waiting and sends the reply. The waits that
need a daemon's knowledge are asked of what it gives: `Waits` for files, `LogWaits` for flushed offsets and
arrivals too. A daemon without a log answers with `PlainOutcome` alone, and the type checker sees to it.
Callbacks instead of futures: a waiting request costs one small object, not a task.
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
    """Answer now. Not frozen, because freezing doubles the price of making one; nobody changes it."""

    code: int = 0
    remark: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    body: Buffer = b""


class Shared(Protocol):
    @property
    def weight(self) -> int:
        """Of how many polls it takes the room."""


class Poll(Protocol):
    """What a long poll waits for, and how it goes on.

    There may be a hundred thousand of them, so each is one small object that keeps no more than its answer
    needs. Names are interned, so that they are shared; keys are made when they are asked for. As structs with
    gc=False they cost the garbage collector nothing (none is part of a cycle).
    """

    @property
    def shared(self) -> Shared | None:
        """What it keeps beside itself if that is large; other polls may keep the same."""

    def parked_under(self) -> tuple[Hashable, ...]:
        """Its keys; the same each time."""

    def accepts(self, arrival: object, /) -> bool:
        """Whether it goes on with what the waker passes (an arrival)."""

    def resume(self) -> Outcome:
        """The request runs again."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A long poll: park until it is woken with an arrival that it accepts, or for `timeout_ms`."""

    poll: Poll
    timeout_ms: int


class Later(Struct, frozen=True, eq=False):
    """A poll for a few: it goes on with whatever comes under its keys."""

    resume: Callable[[], Outcome]
    waits_for: tuple[Hashable, ...] = ()
    shared: None = None

    def parked_under(self) -> tuple[Hashable, ...]:
        return self.waits_for

    def accepts(self, arrival: object, /) -> bool:
        return True


class HeldRequest(Struct, eq=False, gc=False):
    """A request while its poll waits: whose it is, and what its answer needs of it."""

    poll: Poll
    client: Connection
    finish: Callable[[HeldRequest], None]
    code: int
    opaque: int
    flag: int
    serialize_type: int
    due: int = -1
    """The table's in which it is parked."""

    def done(self) -> None:
        """Call it once: the wait is over."""
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

    A client that leaves takes the rest of its steps with it, so they may not leave a table half changed.
    """

    steps: Iterator[None]
    finish: Callable[[], Outcome]


@dataclass(frozen=True, slots=True)
class Persist:
    """Write the named state to disk, then answer `reply`, or go on with `resume` (which may append)."""

    file: str
    reply: Outcome | None = None
    resume: Callable[[], Outcome] | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """A change that takes several waits of its own and must not be cut off by its asker: a new role in the
    broker's group. Runs as a task; what it raises becomes the answer like a handler's error."""

    run: Callable[[], Coroutine[Any, Any, Reply]]


EncodedReply = bytes
"""A reply that already is a frame, in the header type of its request and with its opaque (docs/adr/0007)."""

Outcome = Reply | EncodedReply | Hold | WaitFlush | WaitReplicas | Relay | ColdRead | Slices | Persist | Work

PlainOutcome = Reply | EncodedReply | Relay | ColdRead | Slices | Persist

Handler = Callable[[Command, "Connection"], Outcome]
PlainHandler = Callable[[Command, "Connection"], PlainOutcome]


class Waits(Protocol):
    """What every daemon waits for: its files. Each wait calls `done` exactly once, on the loop."""

    def when_persisted(self, file: str, done: Callable[[OSError | None], None]) -> None: ...


class LogWaits(Waits, Protocol):
    """What only a daemon with a log waits for besides."""

    def when_woken(self, held: HeldRequest, timeout_ms: int) -> None: ...

    def when_flushed(self, commit_log_offset: int, timeout_ms: int, done: Callable[[bool], None]) -> None: ...

    def when_replicated(
        self, commit_log_offset: int, count: int, timeout_ms: int, done: Callable[[bool], None]
    ) -> None: ...
