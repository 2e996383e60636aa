"""Running a redrive: read a few dead letters, note what is about to be sent, send, note what came of it.

The order is what makes it safe to kill: the intents, the cursor behind them and the lease are one transaction
that names the fence; only then is anything sent. Whoever takes the job over asks the broker for the ids of
intents that have no outcome: found is sent, not found is unsure, and neither is sent again. What a send came
to is a fact, so it is written whoever has the lease by then.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from dataclasses import asdict, astuple, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from clusters.actions.redrive_decisions import Decider, LetterPlan, place_of
from clusters.actions.redrives import tally_of, tell
from clusters.gateway.addressing import ClusterAddress, address_of
from clusters.gateway.messages import by_offset_ids, find_stretches, scan_stretches
from clusters.gateway.scanning import Budget, Stretch, Wanted
from clusters.gateway.sends import Fate, Outgoing, Sent, find_sent, new_msg_ids, send_many
from clusters.models import Redrive, RedriveOutcome
from clusters.selectors.masking import Masks
from clusters.selectors.redriving import stop_reason
from console.core import audit
from console.core.actors import Actor
from console.core.job_leases import LeaseLost, release, take, takeable, write
from console.core.problems import Problem
from console.core.standing import standing_of
from engine.protocol.names import dlq_topic

TURN = timedelta(seconds=20)
BATCH = 50
_LOOK_BACK_S = 1.0
_READ_S = 5.0
MOST_FAILURES = 10
_COME_BACK_BATCH = 2_000

Clock = Callable[[], datetime]
Sleep = Callable[[float], None]
State, Outcome = Redrive.State, RedriveOutcome.State


def open_redrives(now: datetime) -> list[uuid.UUID]:
    """Redrives that nobody has, and ended ones with intents that nobody has settled."""
    free = takeable(Redrive.objects.all(), Redrive.ACTIVE, now)
    abandoned = takeable(Redrive.objects.filter(outcomes__state=Outcome.INTENT), tuple(State), now)
    found = [*free.values_list("pk", flat=True), *abandoned.values_list("pk", flat=True)]
    return list(dict.fromkeys(found))


def do_run_redrive(redrive_id: uuid.UUID, *, worker: str, clock: Clock, sleep: Sleep) -> bool:
    """For a turn. Whether there is more to do."""
    rows = Redrive.objects.select_related("cluster", "owner")
    redrive = take(rows, redrive_id, tuple(State), worker, clock())
    if redrive is None:
        return False
    run = _Run(redrive, clock, sleep)
    try:
        return run.turn()
    except LeaseLost:
        return False
    except Problem as problem:
        run.failed(problem.detail)
        return False
    finally:
        release(redrive)


class _Run:
    """One worker's turn with one redrive. Every write goes through `write`, which names the fence."""

    _address: ClusterAddress

    def __init__(self, redrive: Redrive, clock: Clock, sleep: Sleep) -> None:
        self._redrive = redrive
        self._clock = clock
        self._sleep = sleep
        standing = standing_of(redrive.owner, redrive.grants)
        self._decider = Decider(redrive, standing, Masks(redrive.cluster.name, standing))

    def turn(self) -> bool:
        redrive = self._redrive
        self._address = address_of(redrive.cluster)
        self._settle()
        until = self._clock() + TURN
        while redrive.state in Redrive.ACTIVE:
            self._find_come_backs()
            if reason := stop_reason(
                tally_of(redrive), canary=redrive.canary, max_share=redrive.max_failure_share
            ):
                self._write(state=State.STOPPED, resumes_as=redrive.state, reason=reason)
                break
            if self._clock() >= until:
                return True
            self._step()
        return False

    def failed(self, reason: str) -> None:
        """Beat tries again; one that cannot get on at all stops and says why."""
        redrive = self._redrive
        changes: dict[str, Any] = {"attempts": redrive.attempts + 1, "reason": reason[:1000]}
        if redrive.attempts + 1 >= MOST_FAILURES:
            changes |= {"state": State.STOPPED, "resumes_as": redrive.state}
        with contextlib.suppress(LeaseLost):
            self._write(**changes)

    def _step(self) -> None:
        redrive = self._redrive
        if redrive.state == State.WATCHING:
            self._watch()
        elif redrive.state == State.CANARY and redrive.position >= redrive.canary:
            until = self._clock() + timedelta(seconds=redrive.canary_window_s)
            self._write(state=State.WATCHING, canary_until=until)
        elif redrive.position >= redrive.total or not self._send_some():
            self._write(state=State.DONE, finished_at=self._clock())

    def _watch(self) -> None:
        redrive = self._redrive
        left_s = (redrive.canary_until - self._clock()).total_seconds() if redrive.canary_until else 0
        if left_s > 0:
            self._sleep(min(left_s, _LOOK_BACK_S))
            self._write()
        else:
            self._write(state=State.RUNNING)

    # -- sending --------------------------------------------------------------------------------------------

    def _send_some(self) -> bool:
        """A batch. False: nothing is left to read."""
        redrive = self._redrive
        limit = redrive.canary - redrive.position if redrive.state == State.CANARY else BATCH
        most = max(1, min(limit, redrive.rate, BATCH, redrive.total - redrive.position))
        letters, cursor = self._read(most)
        if not letters:
            # The time for reading was over; nothing is left when the cursor says so too.
            return redrive.selection is None and bool(cursor)
        sending = [letter.outgoing for letter in letters if letter.outgoing is not None]
        ids = iter(new_msg_ids(self._address, len(sending)) if sending else [])
        noted = [
            replace(letter, outgoing=replace(letter.outgoing, msg_id=next(ids)))
            if letter.outgoing
            else letter
            for letter in letters
        ]
        self._note_intents(noted, cursor)
        ready = [letter.outgoing for letter in noted if letter.outgoing is not None]
        began = self._clock()
        if ready:
            self._note_outcomes(ready, send_many(self._address, ready))
        tell(redrive)
        took_s = (self._clock() - began).total_seconds()
        self._sleep(max(0.0, len(ready) / redrive.rate - took_s))
        return True

    def _read(self, most: int) -> tuple[list[LetterPlan], list[Any]]:
        redrive = self._redrive
        if redrive.selection is not None:
            at = redrive.cursor[0]
            ids = redrive.selection[at : at + most]
            found = by_offset_ids(self._address, ids)
            letters = [self._decider.judge(*pair) for pair in zip(ids, found, strict=True)]
            return self._decider.without_redriven(letters), [at + len(ids)]
        stretches = [Stretch(*place) for place in redrive.cursor]
        scanned = scan_stretches(self._address, stretches, Wanted(), Budget(most, most, _READ_S))
        if scanned.problems and not scanned.found:
            raise Problem("unreadable", "; ".join(scanned.problems), 503)
        letters = [self._decider.judge(message.offset_id, message) for message in scanned.found]
        return self._decider.without_redriven(letters), [list(astuple(left)) for left in scanned.left]

    def _note_intents(self, letters: list[LetterPlan], cursor: list[Any]) -> None:
        redrive, now = self._redrive, self._clock()
        rows = [
            RedriveOutcome(
                redrive=redrive,
                position=redrive.position + number,
                offset_id=letter.offset_id,
                msg_id=letter.msg_id[:255],
                topic=place_of(letter.outgoing) if letter.outgoing else "",
                new_msg_id=letter.outgoing.msg_id if letter.outgoing else "",
                state=letter.state,
                detail=letter.detail,
                at=now,
            )
            for number, letter in enumerate(letters)
        ]
        with transaction.atomic():
            self._write(cursor=cursor, position=redrive.position + len(letters), attempts=0, reason="")
            RedriveOutcome.objects.bulk_create(rows)

    def _note_outcomes(self, messages: list[Outgoing], sent: list[Sent]) -> None:
        with transaction.atomic():
            for message, fate in zip(messages, sent, strict=True):
                note_fate(self._redrive, message.msg_id, fate, self._clock())

    # -- looking back ---------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """What a worker that is gone had begun."""
        for outcome in self._redrive.outcomes.filter(state=Outcome.INTENT):
            found = find_sent(self._address, outcome.topic, outcome.new_msg_id)
            fate = found or Sent(Fate.UNSURE, detail="its worker ended while it was sent; it was not found")
            note_fate(self._redrive, outcome.new_msg_id, fate, self._clock())

    def _find_come_backs(self) -> None:
        """New dead letters that are ours."""
        redrive = self._redrive
        known = {(broker, queue): following for broker, queue, following in redrive.watch}
        now_there = find_stretches(self._address, [dlq_topic(redrive.group)], 0, None)
        stretches = [
            replace(stretch, low=max(stretch.low, known.get((stretch.broker, stretch.queue), 0)))
            for stretch in now_there
        ]
        budget = Budget(_COME_BACK_BATCH, _COME_BACK_BATCH, _READ_S)
        scanned = scan_stretches(self._address, stretches, Wanted(), budget)
        left = {(stretch.broker, stretch.queue): stretch.low for stretch in scanned.left}
        watch = [
            [stretch.broker, stretch.queue, left.get((stretch.broker, stretch.queue), stretch.high)]
            for stretch in stretches
        ]
        ids = [message.msg_id for message in scanned.found]
        with transaction.atomic():
            self._write(watch=watch)
            redrive.outcomes.filter(new_msg_id__in=ids, state__in=(Outcome.SENT, Outcome.UNSURE)).update(
                state=Outcome.CAME_BACK, detail="it is a dead letter again", at=self._clock()
            )

    def _write(self, **changes: Any) -> None:
        before = self._redrive.state
        write(self._redrive, Redrive.ACTIVE, self._clock(), **changes)
        if self._redrive.state != before:
            tell(self._redrive)
            if self._redrive.state in (State.STOPPED, State.DONE):
                self._note_end()

    def _note_end(self) -> None:
        redrive = self._redrive
        audit.record(
            Actor.system("redrives"),
            f"redrive.{redrive.state}",
            cluster=redrive.cluster.name,
            target=redrive.group,
            details={"redrive": str(redrive.pk), "reason": redrive.reason, **asdict(tally_of(redrive))},
            now=self._clock(),
            is_ok=redrive.state == State.DONE,
        )


def note_fate(redrive: Redrive, new_msg_id: str, sent: Sent, now: datetime) -> None:
    """Once it is known that it was sent, nothing makes it unsure again."""
    rows = redrive.outcomes.filter(new_msg_id=new_msg_id, state__in=(Outcome.INTENT, Outcome.UNSURE))
    rows.update(
        state=sent.fate.value,
        status=sent.status,
        new_offset_id=sent.offset_id,
        queue=f"{sent.broker}:{sent.queue}" if sent.broker else "",
        queue_offset=sent.queue_offset,
        detail=sent.detail,
        at=now,
    )
