"""F24: the wall clock jumps. Store times never go back, searches by time stay in order, nothing is lost."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

from tests.crash import requests as rq
from tests.crash.campaign import Campaign
from tests.crash.conftest import MakeBroker
from tests.crash.drain import drain
from tests.crash.load import QUEUES, TOPIC
from tests.crash.shims.build import shim
from tests.crash.wire import Address, Link, Stored

HOUR_S = 3600
JUMPS_S = (HOUR_S, -HOUR_S, 24 * HOUR_S, -24 * HOUR_S, -5, -10, 0)


def test_clock_jumps_turn_no_store_time_back(make_broker: MakeBroker, tmp_path: Path, seed: int) -> None:
    control = tmp_path / "clock"
    control.write_text("0")
    broker = make_broker(environment={"LD_PRELOAD": str(shim("clock")), "CLOCK_FILE": str(control)})
    campaign = Campaign(broker, seed)
    campaign.start()
    campaign.begin_load()
    for jump_s in JUMPS_S:
        control.write_text(str(jump_s))
        time.sleep(0.4)
    codes = campaign.end_load()
    assert codes.keys() <= {rq.SUCCESS, rq.SYSTEM_BUSY}, codes
    assert codes[rq.SUCCESS] >= 0.8 * sum(codes.values()), f"a jump of the clock makes nobody busy: {codes}"
    campaign.look()
    campaign.verify()
    check_times(campaign, broker.address)
    # And a machine that comes back with a clock that is an hour behind.
    campaign.crash()
    control.write_text(str(-HOUR_S))
    campaign.restart()
    campaign.load_for(0.5)
    campaign.look()
    campaign.verify()
    check_times(campaign, broker.address)


def check_times(campaign: Campaign, address: Address) -> None:
    messages = sorted(drain(address, campaign.history), key=lambda stored: stored.commit_log_offset)
    for before, after in itertools.pairwise(messages):
        assert before.store_timestamp <= after.store_timestamp, f"{before} was stored before {after}"
    for queue in range(QUEUES):
        check_search(address, queue, [stored for stored in messages if stored.queue_id == queue])


def check_search(address: Address, queue: int, messages: list[Stored]) -> None:
    """A search answers with the first message that is not older than the time asked for."""
    sample = messages[:: max(1, len(messages) // 20)]
    with Link(address) as link:
        for stored in sample:
            fields = {**rq.queue_fields(TOPIC, queue), "timestamp": str(stored.store_timestamp)}
            found = int(link.call(rq.SEARCH_OFFSET, fields).fields["offset"])
            first = next(m for m in messages if m.store_timestamp >= stored.store_timestamp)
            assert found == first.queue_offset
