from __future__ import annotations

import pytest

from engine.errors import BadInput
from engine.protocol.hosts import Host, pack_host, unpack_host


@pytest.mark.parametrize(
    ("host", "packed"),
    [
        (("127.0.0.1", 10911), "7f000001 00002a9f"),
        (("255.255.255.255", 65535), "ffffffff 0000ffff"),
        (("2001:db8::1", 1), "20010db8000000000000000000000001 00000001"),
    ],
)
def test_a_host_is_its_address_and_port(host: Host, packed: str) -> None:
    assert pack_host(host) == bytes.fromhex(packed)
    assert unpack_host(bytes.fromhex(packed)) == host


def test_an_ipv4_peer_of_a_dual_stack_listener_is_ipv4() -> None:
    assert pack_host(("::ffff:10.0.0.1", 80)) == pack_host(("10.0.0.1", 80))


def test_the_scope_of_a_link_local_address_is_left_out() -> None:
    assert pack_host(("fe80::1%eth0", 80)) == pack_host(("fe80::1", 80))


@pytest.mark.parametrize("host", [("localhost", 1), ("", 1), ("1.2.3", 1), ("127.0.0.1", -1), ("::1", 65536)])
def test_what_is_no_address_is_refused(host: Host) -> None:
    with pytest.raises(BadInput):
        pack_host(host)


@pytest.mark.parametrize("size", [0, 4, 7, 9, 16, 21])
def test_a_packed_host_of_odd_length_is_refused(size: int) -> None:
    with pytest.raises(BadInput):
        unpack_host(bytes(size))
