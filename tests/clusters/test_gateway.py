"""The way to brokers: kept connections, one deadline, never inside a transaction, never to a stranger."""

from __future__ import annotations

import ipaddress

import pytest
from django.db import transaction

from clusters.gateway.addressing import address_of
from clusters.gateway.connections import ask, each
from clusters.gateway.dialing import may_dial, may_dial_outside
from clusters.models import Cluster
from console.core.problems import Problem


def test_a_real_cluster_answers(attached: Cluster) -> None:
    brokers = ask(address_of(attached), lambda admin: admin.cluster.brokers())
    assert brokers == attached.broker_addresses


def test_asking_inside_a_transaction_is_refused(attached: Cluster) -> None:
    address = address_of(attached)
    with transaction.atomic(), pytest.raises(AssertionError, match="inside a database transaction"):
        ask(address, lambda admin: admin.cluster.info())


def test_a_broker_that_was_not_registered_is_not_dialled(attached: Cluster) -> None:
    [stranger], attached.broker_addresses = attached.broker_addresses, []
    with pytest.raises(Problem, match="cannot be reached") as caught:
        ask(address_of(attached), lambda admin: admin.brokers.runtime_info(stranger))
    assert caught.value.status == 503


def test_an_error_of_one_broker_is_that_brokers_answer(attached: Cluster) -> None:
    live = attached.broker_addresses[0]
    asked = ask(
        address_of(attached),
        lambda admin: each([live, "127.0.0.1:1"], admin.brokers.runtime_info),
    )
    assert isinstance(asked[live], dict)
    assert "cannot be reached" in str(asked["127.0.0.1:1"])


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "0.0.0.0", "224.0.0.1", "::ffff:127.0.0.1", "fe80::1"]
)
def test_what_no_broker_can_have_is_never_dialled(address: str) -> None:
    assert not may_dial(ipaddress.ip_address(address), [])


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "192.168.1.1", "169.254.1.1"])
def test_a_webhook_does_not_reach_inside_unless_listed(address: str) -> None:
    assert not may_dial_outside(ipaddress.ip_address(address), [])
    assert may_dial_outside(ipaddress.ip_address("127.0.0.1"), ["127.0.0.0/8"])
