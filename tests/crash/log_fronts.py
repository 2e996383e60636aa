"""What befalls the front of a member's log: segments that become old, and segments that are missing."""

from __future__ import annotations

import os
import time
from typing import Any

import orjson

from engine.broker.failover.group_state import GROUP_FILE
from tests.crash.checker.events import EXPIRE, Event
from tests.crash.checker.replica_equality import log_start
from tests.crash.conftest import MakeGroup
from tests.crash.drain import drain
from tests.crash.full_members import LOAD, SETTINGS
from tests.crash.group import Group, Member, until
from tests.crash.group_campaign import GroupCampaign
from tests.crash.load import TOPIC

AT_ANY_HOUR = {"deleteWhen": ";".join(map(str, range(24)))}
OLD_S = 100 * 3600
"""Older than fileReservedTime, 72 hours."""
SEGMENT_BYTES = int(SETTINGS["mappedFileSizeCommitLog"])
QUIET_S = 2.0
"""Ten rounds of cleaning."""


def age(member: Member, below: int, *, by_s: float = OLD_S) -> None:
    """As if these segments had been written long ago."""
    then = time.time() - by_s
    for path in member.commit_log.iterdir():
        if path.name.isdigit() and int(path.name) + SEGMENT_BYTES <= below:
            os.utime(path, (then, then))


def starts(group: Group) -> set[int]:
    return {log_start(member.commit_log) for member in group.members}


def decided_start(member: Member) -> int:
    """As its group file says."""
    content = orjson.loads((member.store / "config" / GROUP_FILE).read_bytes())
    return int(content["startOffset"])


def allow_expiry(campaign: GroupCampaign, below: int) -> None:
    """Everything that lies in the log below this offset may go from now on."""
    last: dict[int, int] = {}
    for stored in drain(campaign.master.address, campaign.history, node=campaign.node):
        if stored.commit_log_offset < below:
            last[stored.queue_id] = max(stored.queue_offset, last.get(stored.queue_id, 0))
    now = time.monotonic()
    campaign.history.add(
        *(
            Event(EXPIRE, "nemesis", now, now, topic=TOPIC, queue=queue, offset=offset + 1)
            for queue, offset in last.items()
        )
    )


def started(make_group: MakeGroup, size: int, seed: int, **options: Any) -> GroupCampaign:
    """Eight segments at least."""
    campaign = GroupCampaign(make_group(size, **options), seed, windows=LOAD, readers=1)
    campaign.start()
    until(lambda: campaign.load_for(0.5) and campaign.group.master()[1].log_end > 8 * SEGMENT_BYTES, "load")
    campaign.group.await_in_sync()
    return campaign


def lose_front(member: Member, below: int) -> None:
    """What a release before this rule did on a full disk, while the member was alone."""
    member.kill()
    for path in member.commit_log.iterdir():
        if path.name.isdigit() and int(path.name) < below:
            path.unlink()
    member.start()


def is_left_out(group: Group, member: Member) -> bool:
    found = group.find_master()
    status = group.status(member)
    return (
        found is not None
        and status is not None
        and member.number not in found[1].in_sync.ids
        and "have not expired" in (status.trouble or "")
    )
