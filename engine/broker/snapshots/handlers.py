"""30001, our own: what changed on this broker since a version, for collectors that ask every second.

A version is "run-number": the run identifies this start of the broker. A request without a version, with one
of another run, or with one too old to know all deletions since, gets everything (`isFull`).

Three steps, none of which blocks the loop: the changes are gathered in slices, a thread reads store times,
and a thread encodes answers larger than a slice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.admin.table_pages import gathered
from engine.broker.snapshots.broker_snapshot import SLICE, Snapshots
from engine.broker.snapshots.journal import encode_changes
from engine.net.connection import Connection
from engine.net.outcomes import ColdRead, Handler, Outcome, Reply
from engine.protocol.codes import RequestCode
from engine.protocol.commands import Command
from engine.protocol.headers.brokers import CollectorSnapshotRequest, CollectorSnapshotResponse


@dataclass(eq=False, repr=False)
class SnapshotHandlers:
    snapshots: Snapshots
    run_id: int
    now_ms: Callable[[], int]

    def routes(self) -> dict[int, Handler]:
        return {RequestCode.SIGNALBOX_COLLECTOR_SNAPSHOT: self.snapshot}

    def snapshot(self, request: Command, client: Connection) -> Outcome:
        since = self._read_version(CollectorSnapshotRequest.decode(request.fields).since)
        return gathered(self.snapshots.refresh(self.now_ms()), lambda: self._read_times(since))

    def _read_times(self, since: int | None) -> Outcome:
        """The store times that are missing, as many as one round reads; then the answer."""
        wanted = self.snapshots.times.take_wanted()
        if wanted is None:
            return self._answer(since)
        plan, pairs = wanted
        times_ms: list[int] = []

        def read() -> bytes:
            times_ms.extend(plan.run())
            return b""

        def finish(nothing: bytes) -> Outcome:
            self.snapshots.times.note(plan, times_ms)
            return gathered(self.snapshots.put_pairs(pairs), lambda: self._answer(since))

        return ColdRead(read, finish)

    def _read_version(self, text: str | None) -> int | None:
        """None: everything is wanted."""
        run, _, number = (text or "").partition("-")
        if run != str(self.run_id) or not number.isdecimal() or len(number) > 18:
            return None
        return int(number)

    def _answer(self, since: int | None) -> Outcome:
        journal = self.snapshots.journal
        is_full = since is None or not journal.is_known(since)
        fields = CollectorSnapshotResponse(f"{self.run_id}-{journal.version}", is_full).encode()
        if since is not None and not is_full and journal.version - since <= SLICE:
            return Reply(fields=fields, body=encode_changes(journal.since(since)))
        copied = journal.copy()

        def encode() -> bytes:
            return encode_changes(copied.present() if is_full else copied.since(since or 0))

        return ColdRead(encode, lambda body: Reply(fields=fields, body=body))
