"""F23: name servers die and come back empty. Brokers go on serving, and find their way back by themselves."""

from __future__ import annotations

import time
from pathlib import Path

import orjson

from tests.crash import requests as rq
from tests.crash.campaign import Campaign
from tests.crash.checker.events import INFO, SEND
from tests.crash.cluster import Broker, Daemon, NameServer
from tests.crash.load import TOPIC
from tests.crash.wire import Address, Link

ROUTES_BACK_S = 30.0


def route_addresses(name_server: Address) -> list[str]:
    """Where the topic's brokers are, as this name server knows it."""
    with Link(name_server) as link:
        answer = link.call(rq.GET_ROUTE, {"topic": TOPIC, "acceptStandardJsonOnly": "true"})
    if answer.code != rq.SUCCESS:
        return []
    return [
        address
        for data in orjson.loads(answer.body)["brokerDatas"]
        for address in data["brokerAddrs"].values()
    ]


def wait_for_route(name_server: Address, broker: Address, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while route_addresses(name_server) != [f"{broker[0]}:{broker[1]}"]:
        assert time.monotonic() < deadline, f"no route after {within_s} s"
        time.sleep(0.1)


def test_killed_name_servers_cost_no_send_and_learn_the_routes_again(
    tmp_path: Path, daemons: list[Daemon], seed: int
) -> None:
    name_servers = [NameServer(tmp_path, f"namesrv-{number}") for number in range(2)]
    daemons.extend(name_servers)
    for name_server in name_servers:
        name_server.start()
    broker = Broker(
        tmp_path,
        name_servers=[name_server.address for name_server in name_servers],
        settings={"registerNameServerPeriod": "10000"},
    )
    daemons.append(broker)
    campaign = Campaign(broker, seed)
    campaign.start()
    for name_server in name_servers:
        wait_for_route(name_server.address, broker.address, 5.0)
    campaign.begin_load()
    for name_server in name_servers:
        name_server.kill()
    time.sleep(1.0)
    for name_server in name_servers:
        name_server.start()
    for name_server in name_servers:
        wait_for_route(name_server.address, broker.address, ROUTES_BACK_S)
    codes = campaign.end_load()
    assert codes.keys() <= {rq.SUCCESS, rq.SYSTEM_BUSY}, codes
    assert codes[rq.SUCCESS] >= 0.8 * sum(codes.values()), codes
    assert not [e for e in campaign.history.events() if e.op == SEND and e.status == INFO]
    campaign.look()
    campaign.verify()


def test_a_killed_broker_loses_its_route_at_once_and_gets_it_back(
    tmp_path: Path, daemons: list[Daemon], seed: int
) -> None:
    name_server = NameServer(tmp_path)
    daemons.append(name_server)
    name_server.start()
    broker = Broker(tmp_path, name_servers=[name_server.address])
    daemons.append(broker)
    campaign = Campaign(broker, seed)
    campaign.start()
    wait_for_route(name_server.address, broker.address, 5.0)
    broker.kill()
    deadline = time.monotonic() + 2.0
    while route_addresses(name_server.address):
        assert time.monotonic() < deadline, "the route of a dead broker is still given"
        time.sleep(0.02)
    broker.start()
    wait_for_route(name_server.address, broker.address, 5.0)
    broker.stop()
    assert route_addresses(name_server.address) == [], "a clean stop unregisters"
