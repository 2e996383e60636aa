"""Rounds in which the disk of one member of a group fills up and a promotion follows (F39).

Each round fills the disk of the master or of a slave while messages are sent, promotes somebody, looks at
what the group shows at the front of every queue, makes room, and demands that all members are in sync again
with everything that was acknowledged or read. Nothing expires in these rounds, so every log must begin at 0.

A full member that is behind may be refused as master: that costs an operator a minute and nobody a message. A
healthy member that is in sync may not be.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from tests.crash.campaign import Windows, assert_kept
from tests.crash.checker.replica_equality import log_start
from tests.crash.checker.violations import Violation
from tests.crash.conftest import MakeGroup
from tests.crash.drain import first_offset
from tests.crash.group import Group, Member
from tests.crash.group_campaign import OFFSETS_BACK_S, GroupCampaign
from tests.crash.load import QUEUES, TOPIC, front_event
from tests.crash.small_disk import BRIM, LEVELS, Disk, SmallDisk
from tests.crash.wire import Link

MASTER, SLAVE = "master", "slave"
BY_HAND, TO_OTHER, TO_FULL = "by hand", "--to another", "--to the full one"
SETTINGS = {
    "cleanResourceInterval": "200",
    "mappedFileSizeCommitLog": "262144",
    "maxMessageSize": "16384",
    "mappedFileSizeConsumeQueue": "4000",
    "haMaxTimeSlaveNotCatchup": "2000",
    "slaveTimeout": "1000",
}
"""Segments of a few hundred messages, cleaned five times a second; a slave that hangs leaves the set soon."""
LOAD = Windows((8, 16), rate_per_s=400.0)
ROOMY_S, FULL_S = 0.8, 1.5


@dataclass(frozen=True, slots=True)
class Round:
    full: str = SLAVE
    how: str = BY_HAND
    level: str = LEVELS[0]
    restarts: bool = False
    """The full member is killed and started again while its disk is full."""


def every_round() -> list[Round]:
    """Each role with each promotion at each level."""
    return [
        Round(full, how, level, restarts=(number + number // 3) % 3 == 0)
        for number, (full, how, level) in enumerate(
            itertools.product((MASTER, SLAVE), (BY_HAND, TO_OTHER, TO_FULL), LEVELS)
        )
    ]


class FullMembers(GroupCampaign):
    def __init__(self, group: Group, disks: Mapping[int, Disk], seed: int) -> None:
        super().__init__(group, seed, windows=LOAD, readers=1)
        self.disks = disks
        self.refusals: list[str] = []

    def run(self, rounds: list[Round]) -> None:
        self.start()
        for number, each in enumerate(rounds, 1):
            print(f"round {number}: {each}", flush=True)
            self.play(each)
            self.settle()
            assert_kept(self.judge(), self.history, self.group.folder)
            assert self.acknowledged() >= 100 * number, f"only {self.acknowledged()} acknowledged"

    def play(self, each: Round) -> None:
        self.load_for(ROOMY_S)
        full = self.pick(each.full)
        self.begin_load()
        time.sleep(0.2)
        self.disks[full.number].fill(each.level)
        time.sleep(FULL_S)
        if each.restarts:
            self.restart_full(full, each.level)
        self.change_master(full, each.how)
        self.end_load()
        self.look_at_fronts()
        self.disks[full.number].free()
        begun = time.monotonic()
        for member in self.group.members:
            if not member.is_alive:
                member.start()
        self.first_ack(begun)

    def restart_full(self, full: Member, level: str) -> None:
        """On a disk without a free byte it may have to wait until there is room, and says so."""
        self.kill(full)
        try:
            full.start()
        except AssertionError:
            if level != BRIM or "No space left on device" not in full.tail():
                raise

    def pick(self, role: str) -> Member:
        if role == MASTER:
            return self.master
        return self.random.choice([member for member in self.group.members if member is not self.master])

    def change_master(self, full: Member, how: str) -> None:
        old = self.master
        others = [member for member in self.group.members if member not in (old, full)]
        if how == BY_HAND:
            self.kill(old)
            asked = self.random.choice([member for member in self.group.members if member is not old])
            self.try_promote(asked, None, must=bool(others))
            return
        if others and (how == TO_OTHER or full is old):
            heir = self.random.choice(others)
            self.try_promote(heir, heir.number, must=True)
        if how == TO_FULL or not others:
            self.try_promote(full, full.number, must=False)

    def try_promote(self, by: Member, wanted: int | None, *, must: bool) -> None:
        try:
            answer = self.promote(by, wanted=wanted)
        except EngineError as error:
            if must:
                raise
            self.refusals.append(error.text)
        else:
            assert answer.may_be_lost is None, answer

    # -- judging --------------------------------------------------------------------------------------------

    def look_at_fronts(self) -> None:
        """Of whoever may be read from: the master and the members in sync with it."""
        found = self.group.find_master()
        if found is None:
            return
        in_sync = set(found[1].in_sync.ids)
        for member in self.group.members:
            if member.is_alive and member.number in in_sync:
                self.note_front(member)

    def note_front(self, member: Member) -> None:
        with Link(member.address) as link:
            for queue in range(QUEUES):
                first = first_offset(link, TOPIC, queue)
                self.history.add(front_event("front", queue, first, node=member.name))

    def judge(self) -> list[Violation]:
        """Nothing has expired, so every log begins at 0."""
        starts = {member.name: log_start(member.commit_log) for member in self.group.members}
        return [
            *(
                Violation("log-start", f"the log of {name} begins at {start}")
                for name, start in starts.items()
                if start
            ),
            *self.violations(persist_interval_s=OFFSETS_BACK_S),
            *self.group.check_equality(),
        ]


def make_disks(folder: Path, size: int) -> dict[int, SmallDisk]:
    """One for the store of each member of a group in this folder."""
    return {
        number: SmallDisk(folder / f"disk-{number}", folder / str(number) / "store") for number in range(size)
    }


def make_full_members(
    make_group: MakeGroup, folder: Path, size: int, seed: int, **options: Any
) -> FullMembers:
    disks = make_disks(folder, size)
    environments = {number: disk.environment for number, disk in disks.items()}
    group = make_group(size, settings=SETTINGS, environments=environments, **options)
    return FullMembers(group, disks, seed)
