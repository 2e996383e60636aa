"""Whose word counts about a request's origin: the peer's own address, unless the peer is a proxy that
SIGNALBOX_TRUSTED_PROXIES names. Against the console as `manage.py up` serves it, and value by value."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.asgi import ASGIHandler

from console.core.models import AuditEntry
from console.core.models.people import Role
from console.core.throttles import PER_ACCOUNT
from console.trusted_proxies import ProxyHeaders, client_address, parse_networks, request_scheme
from tests.console.live.sockets import opened, session_of
from tests.platform_fixtures import make_user
from tests.platform_processes import serving

SESSION = "/api/v1/session/"
GUESSES = 12


# -- against a real server ----------------------------------------------------------------------------------


@contextmanager
def _serving(**environment: str) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        with serving() as address:
            yield address


class Browser:
    """Plain HTTP with headers of one's own choice, from 127.0.0.1."""

    def __init__(self, server: str, **always: str) -> None:
        self._server, self._always = server, always
        answer, _ = self.ask("GET", SESSION, {})
        self._token = SimpleCookie(answer.getheader("Set-Cookie"))["csrftoken"].value

    def ask(self, method: str, path: str, headers: dict[str, str], body: Any = None) -> Any:
        connection = http.client.HTTPConnection(self._server, timeout=30)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(
                method, path, text, {"Content-Type": "application/json"} | self._always | headers
            )
            answer = connection.getresponse()
            return answer, answer.read()
        finally:
            connection.close()

    def guess(self, **headers: str) -> int:
        csrf = {"Cookie": f"csrftoken={self._token}", "X-CSRFToken": self._token}
        said = {"username": "ann", "password": "wrong"}
        answer, _ = self.ask("POST", SESSION, csrf | headers, said)
        return int(answer.status)


def _forged(number: int) -> dict[str, str]:
    address = f"203.0.113.{number}"
    return {"X-Forwarded-For": address, "X-Real-IP": address, "Forwarded": f"for={address}"}


@pytest.mark.django_db(transaction=True)
def test_forged_headers_do_not_get_around_the_sign_in_throttle(redis: str) -> None:
    _prepare()
    with _serving() as server:
        browser = Browser(server)
        answers = [browser.guess(**_forged(number)) for number in range(GUESSES)]
    assert answers == [401] * PER_ACCOUNT + [429] * (GUESSES - PER_ACCOUNT)
    assert _audited() == {"127.0.0.1"}


@pytest.mark.django_db(transaction=True)
async def test_a_named_proxy_is_believed_up_to_the_first_address_that_it_saw_itself(redis: str) -> None:
    """Behind a TLS proxy each visitor is throttled alone, whatever visitors wrote into the header themselves,
    and websockets of its pages open."""
    session = await sync_to_async(_prepare)()
    with _serving(SIGNALBOX_TLS="yes", SIGNALBOX_TRUSTED_PROXIES="10.0.0.0/8, 127.0.0.1") as server:
        browser = Browser(server, **{"X-Forwarded-Proto": "https", "Referer": f"https://{server}/"})
        guesses = [
            browser.guess(**{"X-Forwarded-For": f"192.0.2.{number}, 198.51.100.7, 10.1.2.3"})
            for number in range(GUESSES)
        ]
        assert guesses == [401] * PER_ACCOUNT + [429] * (GUESSES - PER_ACCOUNT)
        assert browser.guess(**{"X-Forwarded-For": "198.51.100.8"}) == 401
        headers = {"Cookie": f"sessionid={session}", "X-Forwarded-Proto": "https"}
        async with opened(server, session, origin=f"https://{server}", additional_headers=headers):
            pass
    assert await sync_to_async(_audited)() == {"198.51.100.7", "198.51.100.8"}


def _prepare() -> str:
    cache.clear()
    make_user("ann")
    return session_of(make_user("watcher", Role.VIEWER))


def _audited() -> set[str]:
    return {entry.address for entry in AuditEntry.objects.all()}


# -- TLS: what a named proxy says, and nobody else ----------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "networks", "forwarded", "expected"),
    [
        (SESSION, "192.0.2.1", "https", 301),
        (SESSION, "127.0.0.1", "https", 200),
        (SESSION, "127.0.0.1", "http", 301),
        # No proxy is named: TLS is what the operator said, and nothing runs in circles.
        (SESSION, "", None, 200),
        # Whoever watches the console asks it directly.
        ("/healthz", "127.0.0.1", None, 200),
    ],
)
@pytest.mark.django_db(transaction=True)
async def test_tls_is_what_a_named_proxy_says(
    settings: Any, path: str, networks: str, forwarded: str | None, expected: int
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    application = ProxyHeaders(ASGIHandler(), parse_networks(networks), is_tls=True)
    headers = [(b"host", b"localhost")]
    if forwarded is not None:
        headers.append((b"x-forwarded-proto", forwarded.encode()))
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "scheme": "http"}
    scope |= {"headers": headers, "client": ("127.0.0.1", 4711), "http_version": "1.1"}
    asked = ApplicationCommunicator(application, scope)
    await asked.send_input({"type": "http.request", "body": b""})
    assert (await asked.receive_output(timeout=10))["status"] == expected


# -- value by value -----------------------------------------------------------------------------------------

TRUSTED = parse_networks("127.0.0.1, 10.0.0.0/8, fd00::/8")


@pytest.mark.parametrize(
    ("peer", "header", "expected"),
    [
        ("198.51.100.1", "203.0.113.9", "198.51.100.1"),
        ("127.0.0.1", None, "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "192.0.2.1, 203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "203.0.113.9, 10.0.0.7, 10.200.0.1", "203.0.113.9"),
        ("127.0.0.1", "10.0.0.7,10.0.0.8", "10.0.0.7"),
        ("127.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("127.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
        ("127.0.0.1", "[2001:db8::1]", "2001:db8::1"),
        ("127.0.0.1", "2001:DB8:0::1", "2001:db8::1"),
        ("fd00::1", "::ffff:203.0.113.9", "203.0.113.9"),
        ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("::ffff:198.51.100.1", "203.0.113.9", "198.51.100.1"),
        ("127.0.0.1", "not an address", "127.0.0.1"),
        ("127.0.0.1", "203.0.113.9, unknown, 10.0.0.7", "127.0.0.1"),
        ("127.0.0.1", "203.0.113.9,", "127.0.0.1"),
        ("127.0.0.1", "203.0.113.9:port", "127.0.0.1"),
        ("127.0.0.1", "1" * 5000, "127.0.0.1"),
        ("127.0.0.1", "fe80::1%eth0\x00", "127.0.0.1"),
        ("127.0.0.1", "_hidden, 203.0.113.9", "203.0.113.9"),
        ("testclient", "203.0.113.9", "testclient"),
    ],
)
def test_the_address_is_the_first_from_the_right_that_is_no_proxy(
    peer: str, header: str | None, expected: str
) -> None:
    assert client_address(peer, header, TRUSTED) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        *((None, "http"), ("https", "https"), ("HTTPS", "https"), ("http", "http"), ("https, http", "http")),
        *(("wss", "https"), ("javascript", "http"), ("", "http")),
    ],
)
def test_the_scheme_is_the_one_that_the_nearest_proxy_saw(header: str | None, expected: str) -> None:
    assert request_scheme("http", header) == expected


@pytest.mark.parametrize(
    "text", ["*", "localhost", "10.0.0.1/8", "10.0.0.0/33", "1.2.3", "127.0.0.1;10.0.0.1"]
)
def test_what_is_no_network_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="SIGNALBOX_TRUSTED_PROXIES"):
        parse_networks(f"127.0.0.1,{text}")


def test_a_console_with_a_bad_list_of_proxies_does_not_start() -> None:
    environment = {**os.environ, "SIGNALBOX_TRUSTED_PROXIES": "proxy.example"}
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=root, env=environment, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "SIGNALBOX_TRUSTED_PROXIES: 'proxy.example'" in done.stderr
