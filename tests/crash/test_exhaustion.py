"""F13: descriptors or address space run out: what needs them is refused, nothing is torn, all resumes."""

from __future__ import annotations

import re
import resource
import socket
import time
from pathlib import Path

import pytest

from tests.crash import requests as rq
from tests.crash.campaign import PERSIST_INTERVAL_S, Campaign
from tests.crash.cluster import ASYNC, SYNC, Broker, Daemon
from tests.crash.conftest import MakeBroker
from tests.crash.load import TOPIC
from tests.crash.test_full_disk import resumes
from tests.crash.wire import Link

ACCEPT_AGAIN_S = 2.0
_NEWCOMERS = 30
_FEW_BYTES = 256 << 10
"""Less than a segment of 1 MiB."""


class Limit:
    """A limit of a running process, set and lifted."""

    def __init__(self, broker: Broker, kind: int) -> None:
        self._pid = broker.pid
        self._kind = kind
        self._before = resource.prlimit(self._pid, kind)
        self._set_at = 0.0

    def set(self, value: int) -> None:
        self._set_at = time.monotonic()
        resource.prlimit(self._pid, self._kind, (value, self._before[1]))

    def lift(self) -> float:
        """How long it was there: meanwhile offsets, which take a new file, could not be saved."""
        resource.prlimit(self._pid, self._kind, self._before)
        return time.monotonic() - self._set_at


def open_descriptors(broker: Broker) -> int:
    return len(list(Path(f"/proc/{broker.pid}/fd").iterdir()))


def address_space(broker: Broker) -> int:
    status = Path(f"/proc/{broker.pid}/status").read_text()
    found = re.search(r"^VmSize:\s+(\d+) kB", status, re.M)
    assert found
    return int(found[1]) << 10


def accept_rounds(broker: Broker, rounds: int, seed: int) -> None:
    """No descriptor for newcomers; those who are there already are served."""
    campaign = Campaign(broker, seed)
    campaign.start()
    held_s = 0.0
    for number in range(1, rounds + 1):
        campaign.begin_load()
        time.sleep(0.5)
        limit = Limit(broker, resource.RLIMIT_NOFILE)
        limit.set(open_descriptors(broker) + 2)
        newcomers = [socket.create_connection(broker.address, 2) for _ in range(_NEWCOMERS)]
        time.sleep(1.0)
        assert broker.is_alive, broker.tail()
        held_s = limit.lift()
        for newcomer in newcomers:
            newcomer.close()
        begun = time.monotonic()
        with Link(broker.address) as link:
            assert link.call(rq.GET_MAX_OFFSET, rq.queue_fields(TOPIC, 0)).code == rq.SUCCESS
        assert time.monotonic() - begun <= ACCEPT_AGAIN_S
        campaign.end_load()
        campaign.look()
        campaign.verify(at_least=100 * number)
    campaign.crash()
    campaign.restart()
    campaign.verify(persist_interval_s=PERSIST_INTERVAL_S + held_s)


def roll_rounds(broker: Broker, rounds: int, kind: int, seed: int) -> None:
    """The next segment cannot be had: sends are refused with 14 until it can."""
    campaign = Campaign(broker, seed, readers=1)
    campaign.start()
    held_s = 0.0
    for number in range(1, rounds + 1):
        campaign.load_for(0.7)
        limit = Limit(broker, kind)
        campaign.begin_load()
        time.sleep(0.3)
        limit.set(
            open_descriptors(broker) if kind == resource.RLIMIT_NOFILE else address_space(broker) + _FEW_BYTES
        )
        deadline = time.monotonic() + 30.0
        while not campaign.refused(rq.SERVICE_NOT_AVAILABLE):
            assert time.monotonic() < deadline, "the log never had to roll"
            assert broker.is_alive, broker.tail()
            time.sleep(0.05)
        held_s = limit.lift()
        resumes(broker.address, within_s=ACCEPT_AGAIN_S)
        codes = campaign.end_load()
        assert codes.keys() <= {rq.SUCCESS, rq.SYSTEM_BUSY, rq.SERVICE_NOT_AVAILABLE}, codes
        campaign.look()
        campaign.verify(at_least=100 * number)
    campaign.crash()
    campaign.restart()
    campaign.verify(persist_interval_s=PERSIST_INTERVAL_S + held_s)


def let_off(daemons: list[Daemon], kind: int) -> None:
    """Without memory a request may fail anywhere, with a traceback in the log: that is the fault itself."""
    if kind == resource.RLIMIT_AS:
        for daemon in daemons:
            daemon.kill()
        daemons.clear()


def test_running_out_of_descriptors_hurts_only_newcomers(make_broker: MakeBroker, seed: int) -> None:
    accept_rounds(make_broker(flush=ASYNC), 1, seed)


@pytest.mark.parametrize("kind", [resource.RLIMIT_NOFILE, resource.RLIMIT_AS], ids=["files", "memory"])
def test_a_roll_without_a_segment_is_refused(
    make_broker: MakeBroker, daemons: list[Daemon], kind: int, seed: int
) -> None:
    roll_rounds(make_broker(flush=ASYNC), 1, kind, seed)
    let_off(daemons, kind)


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
@pytest.mark.parametrize("chain", range(2))
def test_twenty_times_no_descriptor_for_newcomers(
    make_broker: MakeBroker, flush: str, chain: int, seed: int
) -> None:
    accept_rounds(make_broker(flush=flush), 5, seed + chain)


@pytest.mark.crash_long
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
@pytest.mark.parametrize("chain", range(2))
@pytest.mark.parametrize("kind", [resource.RLIMIT_NOFILE, resource.RLIMIT_AS], ids=["files", "memory"])
def test_twenty_times_no_segment(
    make_broker: MakeBroker, daemons: list[Daemon], kind: int, flush: str, chain: int, seed: int
) -> None:
    roll_rounds(make_broker(flush=flush), 5, kind, seed + chain)
    let_off(daemons, kind)
