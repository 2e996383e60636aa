"""Posting to an address that somebody typed: looked up once, checked, dialled as checked, never redirected.

Every way in which an address cannot be reached has the same text: nobody can use a webhook to look around in
the networks that the console stands in. One deadline for all of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import re
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from clusters.gateway.connections import refuse_transaction
from clusters.gateway.dialing import may_dial_outside
from console.core.problems import Problem

DEADLINE_S = 3.0
UNREACHABLE = "the address cannot be reached"
SIGNATURE = "X-Signalbox-Signature"
_LONGEST = 2048
_PLAIN = re.compile(r"[\x21-\x5b\x5d-\x7e]+")
"""Visible ASCII without the backslash, which some servers read as a slash."""
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}|[0-9A-Fa-f:.]{2,45}")


@dataclass(frozen=True, slots=True)
class Target:
    is_tls: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def read_url(url: str) -> Target:
    """Refuses what a server might read otherwise than we do, and passwords, which logs would show."""
    refused = Problem("invalid_url", "a webhook is a plain http:// or https:// address", 400, field="url")
    if len(url) > _LONGEST or not _PLAIN.fullmatch(url):
        raise refused
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise refused from None
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host) or "@" in parts.netloc or port == 0:
        raise refused
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    is_tls = parts.scheme == "https"
    return Target(is_tls, host, port or (443 if is_tls else 80), path)


def signature(secret: str, at_s: int, body: bytes) -> str:
    """As receivers check it: HMAC-SHA256 over the time, a dot and the body."""
    digest = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={digest}"


def post(url: str, body: bytes, secret: str, at_s: int) -> str:
    """ "" when it was taken (2xx), else why not."""
    refuse_transaction()
    return asyncio.run(_post_in_time(read_url(url), body, secret, at_s))


async def _post_in_time(target: Target, body: bytes, secret: str, at_s: int) -> str:
    try:
        async with asyncio.timeout(DEADLINE_S):
            return await _post(target, body, secret, at_s)
    except (TimeoutError, OSError, EOFError, ValueError):
        return UNREACHABLE


async def _post(target: Target, body: bytes, secret: str, at_s: int) -> str:
    address = await _checked(target)
    if address is None:
        return UNREACHABLE
    tls = ssl.create_default_context() if target.is_tls else None
    reader, writer = await asyncio.open_connection(
        address, target.port, ssl=tls, server_hostname=target.host if tls else None
    )
    try:
        writer.write(_request(target, body, secret, at_s))
        await writer.drain()
        line = await reader.readline()
        status = int(line.split(b" ", 2)[1]) if line.startswith(b"HTTP/1.") else 0
    except IndexError:
        status = 0
    finally:
        writer.close()
    return "" if 200 <= status < 300 else f"it answered {status}" if status else UNREACHABLE


def _request(target: Target, body: bytes, secret: str, at_s: int) -> bytes:
    lines = [
        f"POST {target.path} HTTP/1.1",
        f"Host: {target.authority}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "User-Agent: signalbox",
        "Connection: close",
    ]
    if secret:
        lines.append(f"{SIGNATURE}: {signature(secret, at_s, body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def _checked(target: Target) -> str | None:
    """All of a name's addresses must be allowed; the one that was checked is dialled."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    addresses = [ipaddress.ip_address(info[4][0]) for info in found]
    if not addresses or not all(may_dial_outside(address) for address in addresses):
        return None
    return str(addresses[0])
