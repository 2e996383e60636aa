"""What is bound and what is advertised."""

from __future__ import annotations

import pytest

from engine.broker.process.ports import Addresses, choose_addresses
from engine.errors import BadInput


@pytest.mark.parametrize(
    ("bind_address", "broker_ip", "expected"),
    [
        ("", "", Addresses("127.0.0.1", "127.0.0.1")),
        ("", "127.0.0.1", Addresses("127.0.0.1", "127.0.0.1")),
        ("", "10.1.2.3", Addresses("0.0.0.0", "10.1.2.3")),
        ("10.1.2.4", "", Addresses("10.1.2.4", "10.1.2.4")),
        ("0.0.0.0", "10.1.2.3", Addresses("0.0.0.0", "10.1.2.3")),
        ("127.0.0.1", "10.1.2.3", Addresses("127.0.0.1", "10.1.2.3")),
    ],
)
def test_bind_and_advertise(bind_address: str, broker_ip: str, expected: Addresses) -> None:
    assert choose_addresses(bind_address, broker_ip) == expected


def test_a_wildcard_is_never_advertised() -> None:
    assert choose_addresses("0.0.0.0", "").advertised_host != "0.0.0.0"


def test_a_name_that_nobody_knows_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot be resolved"):
        choose_addresses("", "no-such-host.invalid")
