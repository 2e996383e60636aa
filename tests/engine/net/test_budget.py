"""Who may hold how many bytes: the tables of receiving and sending, with a fake clock."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import cast

import pytest

from engine.net.budget import BudgetLimits, ByteBudget, Closings, Lack
from engine.net.intake import CHECK_S, PROGRESS_BYTES, Intake, ReceiveRoom
from engine.net.outgo import Outgo
from engine.net.shares import MemoryLimits

A, B = ("10.0.0.1", False), ("10.0.0.2", False)
SIGNED = ("10.0.0.1", True)
LIMITS = BudgetLimits(100, 50, 100)


class Clock:
    """A loop whose time stands still; timers run when `pass_time` says so."""

    def __init__(self):
        self.now = 0.0
        self.timers = []

    def time(self):
        return self.now

    def call_later(self, delay, callback, *arguments):
        timer = [self.now + delay, callback, arguments]
        self.timers.append(timer)
        return _Handle(self, timer)

    def pass_time(self, seconds):
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer[0] > self.now]
        for _, callback, arguments in due:
            callback(*arguments)


class _Handle:
    def __init__(self, clock, timer):
        self._clock, self._timer = clock, timer

    def cancel(self):
        if self._timer in self._clock.timers:
            self._clock.timers.remove(self._timer)


class Client:
    def __init__(self, peer=A):
        self.peer = peer
        self.peer_name = f"{peer[0]}:1"
        self.frame_progress = 0
        self.is_received = False
        self.is_aborted = False

    def may_receive(self):
        self.is_received = True

    def abort(self):
        self.is_aborted = True


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def room() -> ReceiveRoom:
    return ReceiveRoom(memoryview(bytearray(1000)), 10)


def intake_of(clock: Clock, room: ReceiveRoom, limits: BudgetLimits = LIMITS) -> Intake:
    return Intake(cast(asyncio.AbstractEventLoop, clock), room, limits, Closings(clock.time))


def test_the_total_an_address_and_the_unverified_are_bounded():
    budget = ByteBudget(BudgetLimits(100, 50, 60))
    budget.take(A, 50)
    assert budget.lack(A, 1) is Lack.ADDRESS
    assert budget.lack(B, 11) is Lack.UNVERIFIED
    assert budget.lack(SIGNED, 50) is None
    budget.take(SIGNED, 50)
    assert budget.lack(B, 1) is Lack.TOTAL
    budget.give(A, 50)
    budget.give(SIGNED, 50)
    assert budget.held_bytes == 0
    assert budget.lack(B, 1000) is None, "one thing of any size passes where nothing is held"


def test_half_of_the_total_is_an_addresss_share_and_the_unverifieds():
    limits = MemoryLimits(receiving_bytes=100, sending_bytes=200, sending_bytes_per_address=500)
    assert limits.receiving() == BudgetLimits(100, 50, 100)
    limits = replace(limits, clients_sign=True)
    assert limits.receiving() == BudgetLimits(100, 50, 50)
    assert limits.sending() == BudgetLimits(200, 200, 100)


def test_frames_wait_until_there_is_room_and_reads_are_small_meanwhile(clock, room):
    intake = intake_of(clock, room)
    first, second = Client(), Client()
    assert intake.take(first, 40)
    assert not intake.take(second, 40)
    assert len(room.view) == 10
    intake.give_back(first)
    assert second.is_received
    assert len(room.view) == 1000
    intake.give_back(second)
    assert (intake.held_bytes, intake.waiting_count) == (0, 0)


def test_one_address_cannot_take_the_room_of_another(clock, room):
    intake = intake_of(clock, room)
    assert [intake.take(Client(A), 25) for _ in range(4)] == [True, True, False, False]
    assert intake.take(Client(B), 50)


def test_addresses_take_turns_and_smaller_frames_come_first(clock, room):
    intake = intake_of(clock, room, BudgetLimits(100, 100, 100))
    holder = Client()
    intake.take(holder, 100)
    large, small, other = Client(), Client(), Client(B)
    for client, size in ((large, 90), (small, 20), (other, 70)):
        assert not intake.take(client, size)
    intake.give_back(holder)
    assert (small.is_received, other.is_received, large.is_received) == (True, True, False)


def test_who_makes_no_progress_is_closed_while_others_wait(clock, room, caplog):
    intake = intake_of(clock, room)
    stalled, working, waiting = Client(), Client(), Client()
    assert intake.take(stalled, 30)
    assert intake.take(working, 20)
    assert not intake.take(waiting, 30)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert not stalled.is_aborted
            working.frame_progress += PROGRESS_BYTES
            clock.pass_time(CHECK_S)
    assert (stalled.is_aborted, working.is_aborted, waiting.is_received) == (True, False, True)
    assert "its frame of 30 bytes made no progress while 1 connections waited" in caplog.text


def test_nobody_is_closed_while_nobody_waits_or_for_those_whom_it_would_not_help(clock, room):
    intake = intake_of(clock, room)
    stalled, elsewhere = Client(), Client(B)
    intake.take(stalled, 40)
    intake.take(elsewhere, 40)
    for _ in range(4):
        clock.pass_time(CHECK_S)
    assert not stalled.is_aborted
    assert not intake.take(Client(B), 20)
    for _ in range(4):
        clock.pass_time(CHECK_S)
    assert (stalled.is_aborted, elsewhere.is_aborted) == (False, True)


def test_what_we_keep_waiting_ourselves_is_no_stalled_frame(clock, room):
    intake = intake_of(clock, room)
    ours = Client()
    ours.frame_progress = None
    intake.note(ours, 60)
    assert len(room.view) == 10, "more than half is taken"
    assert not intake.take(Client(), 50)
    for _ in range(4):
        clock.pass_time(CHECK_S)
    assert not ours.is_aborted
    intake.close()
    assert not clock.timers


def test_a_connection_that_left_waits_no_more(clock, room):
    intake = intake_of(clock, room)
    holder, gone, next_one = Client(), Client(), Client()
    intake.take(holder, 50)
    intake.take(gone, 20)
    intake.take(next_one, 20)
    intake.give_back(gone)
    intake.give_back(holder)
    assert (gone.is_received, next_one.is_received) == (False, True)


def test_beyond_the_sending_budget_the_longest_waiting_bytes_go(clock, caplog):
    outgo = Outgo(clock.time, BudgetLimits(1000, 400, 1000), closings := Closings(clock.time))
    old, small, young = Client(), Client(), Client()
    outgo.hold(old, 150)
    outgo.hold(small, 10)
    clock.now = 5.0
    outgo.hold(young, 200)
    assert not closings.count
    with caplog.at_level(logging.WARNING):
        outgo.hold(young, 100)
    assert (old.is_aborted, small.is_aborted, young.is_aborted) == (True, False, False)
    assert "150 bytes wait for it to read for 5.0 s" in caplog.text
    assert outgo.held_bytes == 310
    outgo.sent(young, 300)
    outgo.forget(small)
    assert (outgo.held_bytes, outgo.waiting_count) == (0, 0)


def test_another_address_is_not_closed_for_what_one_address_holds(clock):
    outgo = Outgo(clock.time, BudgetLimits(1000, 400, 1000), Closings(clock.time))
    neighbour, greedy = Client(B), Client(A)
    outgo.hold(neighbour, 300)
    clock.now = 60.0
    outgo.hold(greedy, 350)
    outgo.hold(greedy, 60)
    assert (neighbour.is_aborted, greedy.is_aborted) == (False, True)


def test_the_log_gets_one_line_a_second(clock, caplog):
    closings = Closings(clock.time)
    with caplog.at_level(logging.WARNING):
        for _ in range(100):
            closings.close(Client(), "why")
        clock.now = 1.5
        closings.close(Client(), "why")
    assert closings.count == 101
    assert len(caplog.records) == 2
    assert "99 more were closed" in caplog.text
