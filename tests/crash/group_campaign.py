"""A broker group under load, its members killed, promoted and restarted, with one history of it all."""

from __future__ import annotations

import time

from engine.errors import EngineError
from engine.protocol.bodies.brokers import Promotion
from tests.crash import requests as rq
from tests.crash.campaign import Campaign, Windows, assert_kept
from tests.crash.checker.events import CROWN, OK, PULL, Event
from tests.crash.checker.violations import Violation
from tests.crash.drain import crashing, first_offset, read_queue
from tests.crash.group import WAIT_S, Group, Member, until
from tests.crash.load import (
    GROUP,
    QUEUES,
    TOPIC,
    Producer,
    assign_event,
    create_topic,
    front_event,
    stored_value,
)
from tests.crash.wire import Link, Stored

LIGHT = Windows((1, 1, 8, 16), rate_per_s=150.0)
SYNC_PERIOD_S = 3.0
"""How often slaves ask for offsets."""
OFFSETS_BACK_S = 2 * SYNC_PERIOD_S + 3.0
PROMOTE_TRIES = 20


class GroupCampaign(Campaign):
    def __init__(self, group: Group, seed: int, *, windows: Windows | None = None, readers: int = 2) -> None:
        super().__init__(group.members[0], seed, windows=windows or LIGHT, readers=readers)
        self.group = group
        # A master that stops being one sends its readers away.
        self.reader_troubles |= {rq.SYSTEM_ERROR, rq.SERVICE_NOT_AVAILABLE}
        self._probes = 0
        self.outages_s: list[float] = []

    def start(self, *numbers: int) -> None:
        self.group.start(*numbers)
        self.meet_master()
        create_topic(self.broker.address)
        for member in filter(lambda member: member.is_alive, self.group.members):
            until(lambda at=member: self.knows_topic(at), f"{member.name} knows the topic")  # type: ignore[misc]

    def knows_topic(self, member: Member) -> bool:
        with Link(member.address) as link:
            return link.call(rq.PULL, rq.pull_fields(TOPIC, GROUP, 0, 0)).code in rq.PULL_CODES

    def meet_master(self) -> None:
        """From now on the load goes to whoever reigns; the history is told."""
        member, status = self.group.master()
        if (status.epoch, f"member-{status.member_id}") != (self.epoch, self.node):
            now = time.monotonic()
            self.epoch, self.node = status.epoch, f"member-{status.member_id}"
            self.history.add(Event(CROWN, "nemesis", now, now, node=self.node, epoch=self.epoch))
        self.broker = member

    @property
    def master(self) -> Member:
        assert isinstance(self.broker, Member)
        return self.broker

    def kill(self, *members: Member) -> None:
        """At once, with whatever load there is."""
        with crashing(self.history):
            for member in members:
                member.kill()

    def promote(self, by: Member, *, wanted: int | None = None, unclean: bool = False) -> Promotion:
        """As an operator would: again when a member was busy with something else."""
        for _ in range(PROMOTE_TRIES):
            try:
                return self.group.promote(by, wanted=wanted, unclean=unclean)
            except EngineError as error:
                trouble = error
                time.sleep(0.2)
        raise trouble

    def first_ack(self, since: float, seconds: float = WAIT_S) -> float:
        """Sends until one is acknowledged; seconds since the outage began."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.meet_master()
            probe = Producer(
                "probe",
                self.master.address,
                self.history,
                first_seq=self._probes,
                count=1,
                node=self.node,
                epoch=self.epoch,
            )
            probe.run()
            self._probes = probe.next_seq
            if probe.codes.get(rq.SUCCESS):
                self.outages_s.append(time.monotonic() - since)
                return self.outages_s[-1]
            time.sleep(0.02)
        raise AssertionError(f"no send was acknowledged within {seconds} s: {self.group.statuses()}")

    def read_member(self, member: Member) -> None:
        """What this member shows of every queue; no drain, since a slave may be a little behind."""
        now = time.monotonic()
        proc = f"at-{member.name}-{now:.3f}"
        with Link(member.address) as link:
            for queue in range(QUEUES):
                least = first_offset(link, TOPIC, queue)
                found = list(read_queue(link, TOPIC, queue, offset=least))
                first = found[0].queue_offset if found else least
                self.history.add(assign_event(proc, queue, first))
                self.history.add(front_event(proc, queue, first, node=member.name))
                self.history.add(*(self._shown(member, proc, queue, stored, now) for stored in found))

    def _shown(self, member: Member, proc: str, queue: int, stored: Stored, now: float) -> Event:
        value, offset = stored_value(stored), stored.queue_offset
        return Event(PULL, proc, now, now, OK, TOPIC, queue, "", value, offset, member.name)

    def look(self) -> None:
        """Every slave first, then the master: what was read anywhere must be there."""
        self.meet_master()
        for member in self.group.members:
            if member.is_alive and member is not self.broker:
                self.read_member(member)
        super().look()

    def settle(self, *numbers: int) -> None:
        """All back and in sync, every queue read on every member."""
        self.group.await_in_sync(*numbers)
        self.meet_master()
        try:
            until(self._all_visible, "the slaves show what the master shows")
        except AssertionError:
            raise AssertionError(f"slaves show less than the master: {self.group.statuses()}") from None
        self.look()

    def _all_visible(self) -> bool:
        statuses = self.group.statuses()
        ends = {status.confirmed_offset for status in statuses.values()}
        return len(ends) == 1

    def verify_group(self, *, at_least: int = 100) -> None:
        violations: list[Violation] = self.violations(persist_interval_s=OFFSETS_BACK_S)
        violations += self.group.check_equality()
        assert_kept(violations, self.history, self.group.folder)
        assert self.acknowledged() >= at_least, f"only {self.acknowledged()} acknowledged"
