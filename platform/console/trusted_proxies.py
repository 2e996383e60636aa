"""Where a request really comes from: its address and scheme, when a proxy stands in front of the console.

`X-Forwarded-For` and `X-Forwarded-Proto` are text that anybody can send. They count only when the peer of the
connection is in SIGNALBOX_TRUSTED_PROXIES (addresses and CIDR networks); the default trusts nobody. Each
proxy appends the address that it saw, so the list is read from the right: trusted proxies are passed over,
and the first other address is the client. Anything that is no address makes the whole header worthless, and
the peer's own address counts. `X-Forwarded-Host`, `Forwarded` and `X-Real-IP` are never read.

This wraps the ASGI application, for REST, pages and websockets alike. The server in front of it must leave
these headers alone (uvicorn: `--no-proxy-headers`, console/serving.py); uvicorn's own handling believes
loopback by default and takes any text for an address. The sign-in throttle and the audit rows depend on it.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from django.core.exceptions import ImproperlyConfigured

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Application = Callable[[dict[str, Any], Any, Any], Awaitable[None]]

log = logging.getLogger(__name__)
_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
_LONGEST_HOP = 64


class ProxyHeaders:
    """`is_tls`: the operator said that visitors come over TLS (SIGNALBOX_TLS)."""

    def __init__(self, application: Application, networks: Sequence[Network], *, is_tls: bool) -> None:
        self._application, self._networks, self._is_tls = application, tuple(networks), is_tls
        if is_tls and not networks:
            log.warning(
                "SIGNALBOX_TLS=yes, but SIGNALBOX_TRUSTED_PROXIES names no proxy: all visitors share the "
                "proxy's address in the sign-in throttle and in audit rows"
            )

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket"):
            scope = {**scope, **self._origin(scope)}
        await self._application(scope, receive, send)

    def _origin(self, scope: dict[str, Any]) -> dict[str, Any]:
        peer, port = scope.get("client") or ("", 0)
        address = client_address(peer, _header(scope, b"x-forwarded-for"), self._networks)
        scheme = _SCHEMES[scope["scheme"]]
        if not self._networks and self._is_tls:
            # Nobody is named who could say it, but TLS is what the operator says is in front.
            scheme = "https"
        elif is_trusted(peer, self._networks):
            scheme = request_scheme(scheme, _header(scope, b"x-forwarded-proto"))
        if scope["type"] == "websocket":
            scheme = scheme.replace("http", "ws")
        client = (address, port if address == peer else 0) if address else scope.get("client")
        return {"client": client, "scheme": scheme}


def parse_networks(text: str) -> tuple[Network, ...]:
    """Of SIGNALBOX_TRUSTED_PROXIES: addresses and networks, separated by commas."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        try:
            found.append(ipaddress.ip_network(part))
        except ValueError as error:
            raise ImproperlyConfigured(
                f"SIGNALBOX_TRUSTED_PROXIES: {part!r} is neither an address nor a network such as 10.0.0.0/8 "
                f"({error})"
            ) from None
    return tuple(found)


def client_address(peer: str, forwarded_for: str | None, networks: Sequence[Network]) -> str:
    """The client's address as text; the peer's own where nobody trusted says otherwise."""
    nearest = _address(peer)
    if nearest is None:
        return peer
    client = nearest
    for hop in reversed(forwarded_for.split(",") if forwarded_for else []):
        if not _is_within(client, networks):
            break
        named = _address(_without_port(hop.strip()))
        if named is None:
            return str(nearest)
        client = named
    return str(client)


def request_scheme(scheme: str, forwarded_proto: str | None) -> str:
    """What the nearest proxy saw; it appends to a list, as for addresses."""
    named = (forwarded_proto or "").rpartition(",")[2].strip().lower()
    return _SCHEMES.get(named, scheme)


def is_trusted(peer: str, networks: Sequence[Network]) -> bool:
    address = _address(peer)
    return address is not None and _is_within(address, networks)


def _is_within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


def _address(text: str) -> Address | None:
    """One form for each address: that of IPv4 also where it is written as IPv6."""
    if len(text) > _LONGEST_HOP or "%" in text:
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _without_port(hop: str) -> str:
    """Some proxies write the port, too: `192.0.2.1:4711`, `[2001:db8::1]:4711`."""
    if hop.startswith("["):
        inner, bracket, port = hop[1:].partition("]")
        is_port = not port or (port.startswith(":") and port[1:].isdecimal())
        return inner if bracket and is_port else ""
    host, colon, port = hop.partition(":")
    return host if colon and port.isdecimal() else hop


def _header(scope: dict[str, Any], name: bytes) -> str | None:
    """Several lines of one header are one list."""
    values = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    return ",".join(values) if values else None
