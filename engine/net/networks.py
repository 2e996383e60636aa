"""Lists of addresses and networks that an operator wrote down: `10.0.0.0/8,192.168.1.7`. Pure."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from engine.errors import BadInput

Networks = tuple[IPv4Network | IPv6Network, ...]


def parse_networks(text: str) -> Networks:
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise BadInput(f"{text:.200} is no list of addresses and networks: {error}") from None


def is_among(ip: str, networks: Networks) -> bool:
    """An IPv4 peer of a dual-stack listener counts as IPv4."""
    address = ip_address(ip.removeprefix("::ffff:").partition("%")[0])
    return any(address.version == network.version and address in network for network in networks)
