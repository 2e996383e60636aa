"""F1, F2: kill -9 at a random moment under load, restart, drain: nothing acknowledged is lost, doubled or
reordered.
"""

from __future__ import annotations

import pytest

from tests.crash.campaign import Campaign
from tests.crash.cluster import ASYNC, SYNC
from tests.crash.conftest import MakeBroker

READY_S = 3.0


def kill_rounds(make_broker: MakeBroker, flush: str, rounds: int, seed: int) -> None:
    campaign = Campaign(make_broker(flush=flush), seed)
    campaign.start()
    for number in range(1, rounds + 1):
        campaign.crash_under_load(campaign.random.uniform(0.4, 1.8))
        took_s = campaign.restart()
        campaign.verify(at_least=100 * number)
        assert took_s <= READY_S, f"ready only {took_s:.1f} s after start"


@pytest.mark.parametrize("chain", [1, 2])
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_kill_9_loses_nothing(make_broker: MakeBroker, flush: str, chain: int, seed: int) -> None:
    kill_rounds(make_broker, flush, rounds=5, seed=seed + chain)


@pytest.mark.crash_long
@pytest.mark.parametrize("chain", range(10))
@pytest.mark.parametrize("flush", [SYNC, ASYNC])
def test_kill_9_two_hundred_times(make_broker: MakeBroker, flush: str, chain: int, seed: int) -> None:
    kill_rounds(make_broker, flush, rounds=10, seed=seed + chain)


def test_a_kill_while_starting_does_no_harm(make_broker: MakeBroker, seed: int) -> None:
    """Recovery itself is killed, three times, before it is let through."""
    campaign = Campaign(make_broker(flush=ASYNC), seed)
    campaign.start()
    campaign.crash_under_load(1.0)
    for _ in range(3):
        campaign.broker.launch()
        campaign.random_pause()
        campaign.broker.kill()
    campaign.restart()
    campaign.verify()
