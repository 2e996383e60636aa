"""F9: no room on the disk, for all of the store or for a part: writes are refused with 14 and nothing else
happens; reads and offset commits go on; everything resumes by itself.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash import requests as rq
from tests.crash.campaign import PERSIST_INTERVAL_S, Campaign, Windows, sends_after
from tests.crash.checker.events import FAIL, History
from tests.crash.checker.replica_equality import log_start
from tests.crash.cluster import ASYNC, SYNC, Daemon
from tests.crash.conftest import MakeBroker
from tests.crash.faults import Faults
from tests.crash.load import GROUP, QUEUES, TOPIC, create_topic, fetch_offsets
from tests.crash.small_disk import BRIM, FORCE, MB, REFUSE, SmallDisk, take_room
from tests.crash.wire import Address, Link

RESUME_S = 5.0
PERSIST_S = 2.0
"""Offsets are saved every 500 ms here; the rest is for a machine that is busy."""
FULL_DISK_GROUP = "FullDisk"


def commit(address: Address, offset: int) -> None:
    with Link(address) as link:
        for queue in range(QUEUES):
            fields = rq.commit_fields(TOPIC, FULL_DISK_GROUP, queue, offset)
            assert link.call(rq.UPDATE_OFFSET, fields).code == rq.SUCCESS


def committed(address: Address) -> set[int]:
    return set(fetch_offsets(address, History(), group=FULL_DISK_GROUP).values())


def reads_and_commits_go_on(address: Address, offset: int = 7) -> None:
    with Link(address) as link:
        for queue in range(QUEUES):
            assert link.call(rq.PULL, rq.pull_fields(TOPIC, GROUP, queue, 0)).code == rq.SUCCESS
    commit(address, offset)
    assert committed(address) == {offset}


def resumes(address: Address, within_s: float = RESUME_S) -> None:
    """Sends succeed again without a restart."""
    deadline = time.monotonic() + within_s
    with Link(address) as link:
        # Sent to another topic: its values are not part of the campaign.
        while (answer := link.call(rq.SEND_V2, rq.send_fields("Resumed", 0, "k"), b"x")).code != rq.SUCCESS:
            assert time.monotonic() < deadline, (
                f"still refused after {within_s} s: {answer.code} {answer.remark}"
            )
            time.sleep(0.05)


def only_refused_with_14(campaign: Campaign, seconds: float = 1.0) -> None:
    """Once the disk is known to be full, nobody is told anything else, however busy the machine is."""
    codes = campaign.load_for(seconds)
    assert codes.keys() == {rq.SERVICE_NOT_AVAILABLE}, codes
    assert campaign.broker.is_alive, campaign.broker.tail()


@pytest.mark.parametrize("flush", [SYNC, ASYNC])
@pytest.mark.parametrize("part", ["/store/", "prepared-"])
def test_a_full_disk_refuses_writes_and_nothing_else(
    make_broker: MakeBroker, tmp_path: Path, part: str, flush: str, seed: int
) -> None:
    """`prepared-`: the room ends exactly where the log would roll, everything smaller still fits."""
    faults = Faults(tmp_path, part)
    broker = make_broker(flush=flush, environment=faults.environment)
    campaign = Campaign(broker, seed)
    campaign.start()
    campaign.load_for(1.0)
    full_at = faults.begin("enospc")
    fill_what_was_ready(campaign)
    only_refused_with_14(campaign)
    reads_and_commits_go_on(broker.address)
    faults.end()
    resumes(broker.address)
    campaign.load_for(0.5)
    assert sends_after(campaign.history.events(), full_at, FAIL)
    campaign.look()
    campaign.verify()
    campaign.crash()
    campaign.restart()
    campaign.verify()


def fill_what_was_ready(campaign: Campaign) -> None:
    """A segment at hand and one prepared, 1 MB each, are used up first."""
    deadline = time.monotonic() + 30.0
    while rq.SERVICE_NOT_AVAILABLE not in (codes := campaign.load_for(1.0)):
        assert codes.keys() <= {rq.SUCCESS, rq.SYSTEM_BUSY}, codes
        assert time.monotonic() < deadline, "the disk is full and all is taken"


def test_a_full_folder_of_configuration_hurts_changes_only(
    make_broker: MakeBroker, tmp_path: Path, seed: int
) -> None:
    faults = Faults(tmp_path, "/config/")
    broker = make_broker(environment=faults.environment)
    campaign = Campaign(broker, seed)
    campaign.start()
    commit(broker.address, 3)
    time.sleep(PERSIST_S)
    campaign.load_for(0.5)
    full_at = faults.begin("enospc")
    codes = campaign.load_for(1.0)
    assert codes[rq.SUCCESS] > 100, codes
    assert codes.keys() <= {rq.SUCCESS, rq.SYSTEM_BUSY}, codes
    reads_and_commits_go_on(broker.address)
    with Link(broker.address) as link:
        for code, fields in (
            (rq.CREATE_TOPIC, rq.topic_fields("New", 1)),
            (rq.SEND_V2, rq.send_fields("Other", 0, "k")),
        ):
            assert link.call(code, fields, b"").code == rq.SERVICE_NOT_AVAILABLE
    # A crash now: what was saved before is there, whole.
    unsaved_s = time.monotonic() - full_at
    campaign.crash()
    campaign.restart()
    assert committed(broker.address) == {3}
    commit(broker.address, 8)
    faults.end()
    resumes(broker.address)
    time.sleep(PERSIST_S)
    campaign.crash()
    campaign.restart()
    assert committed(broker.address) == {8}
    campaign.verify(persist_interval_s=unsaved_s + PERSIST_INTERVAL_S)


def test_a_log_line_that_finds_no_room_disturbs_nobody(
    make_broker: MakeBroker, tmp_path: Path, seed: int
) -> None:
    """The broker's own log: its lines are lost while the disk is full, and written again afterwards."""
    faults = Faults(tmp_path, "/logs/")
    broker = make_broker(environment=faults.environment)
    campaign = Campaign(broker, seed)
    campaign.start()
    log = broker.folder / "logs" / "broker.log"
    faults.begin("enospc")
    before = log.read_bytes()
    create_topic(broker.address, "Unheard")  # the broker writes a line about it
    campaign.load_for(0.5)
    assert log.read_bytes() == before, "the fault did not bite"
    faults.end()
    create_topic(broker.address, "Heard")
    assert log.read_bytes().startswith(before)
    assert b"Heard" in log.read_bytes()
    campaign.look()
    campaign.verify()


SAFE_ALONE = {
    "signalboxProfile": "safe",
    "minInSyncReplicas": "1",
    "allAckInSyncStateSet": "false",
    "authenticationEnabled": "false",
    "authorizationEnabled": "false",
    "autoCreateTopicEnable": "true",
    "autoCreateSubscriptionGroup": "true",
    "cleanResourceInterval": "200",
    "mappedFileSizeCommitLog": "262144",
    "maxMessageSize": "16384",
}


def test_a_safe_master_on_a_full_disk_deletes_nothing(
    make_broker: MakeBroker, tmp_path: Path, seed: int
) -> None:
    """What has not expired stays, at every level of fullness and through a crash: only room helps."""
    small = SmallDisk(tmp_path / "disk", tmp_path / "store")
    broker = make_broker(flush=SYNC, settings=SAFE_ALONE, environment=small.environment)
    campaign = Campaign(broker, seed, readers=1)
    campaign.start()
    campaign.load_for(0.5)
    small.fill(FORCE)
    assert campaign.load_for(1.0)[rq.SUCCESS] > 100, "writes go on while there is room"
    for level in (REFUSE, BRIM):
        small.fill(level)
        fill_what_was_ready(campaign)
        only_refused_with_14(campaign, 0.2)
        reads_and_commits_go_on(broker.address)
    campaign.crash()
    campaign.restart()  # on the full disk
    small.free()
    resumes(broker.address)
    campaign.load_for(0.3)
    campaign.look()
    campaign.verify(at_least=500)
    assert log_start(broker.store / "commitlog") == 0


def test_a_start_without_room_names_the_file_and_what_to_do(make_broker: MakeBroker, tmp_path: Path) -> None:
    small = SmallDisk(tmp_path / "disk", tmp_path / "store")
    broker = make_broker(environment=small.environment)
    small.fill(BRIM)
    with pytest.raises(AssertionError, match="ended with 1"):
        broker.start()
    last = broker.tail(1)
    assert last.startswith(f"error: {broker.store}/") and "No space left on device" in last
    assert last.endswith("Free space on the disk of that file, then start again")
    small.free()
    broker.start()


@pytest.fixture
def small_disk(tmp_path: Path, daemons: list[Daemon]) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(folder)], check=True)
    yield folder
    for daemon in daemons:
        daemon.kill()
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.crash_long
@pytest.mark.needs_mounts
def test_thirty_times_a_disk_fills_up_and_is_freed(
    make_broker: MakeBroker, small_disk: Path, seed: int
) -> None:
    """With the ordinary interval of cleaning; offsets are saved even when not a byte is left."""
    broker = make_broker(store=small_disk / "store", settings={"cleanFileForciblyEnable": "false"})
    campaign = Campaign(broker, seed, windows=Windows((1, 8), rate_per_s=100), readers=1)
    campaign.start()
    campaign.load_for(1.0)
    commit(broker.address, 0)
    for number in range(1, 31):
        with (small_disk / "ballast").open("wb") as ballast:
            take_room(ballast.fileno(), leave_bytes=campaign.random.choice((0, 4096, MB + 5000)))
        campaign.load_for(1.0)
        assert broker.is_alive, broker.tail()
        reads_and_commits_go_on(broker.address, number)
        if number % 10 == 0:
            time.sleep(PERSIST_S)
            campaign.crash()
            campaign.restart()  # on the full disk
            assert committed(broker.address) == {number}
        (small_disk / "ballast").unlink()
        resumes(broker.address)
        if number % 10 == 0:
            campaign.look()
            campaign.verify()
