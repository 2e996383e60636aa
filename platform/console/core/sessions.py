"""Sessions of browsers for the REST API: Django's cookie, with the CSRF token on every unsafe method."""

from __future__ import annotations

from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request


class ConsoleSessionAuthentication(SessionAuthentication):
    def authenticate_header(self, request: Request) -> str:
        """With it an anonymous call is answered 401, not 403."""
        return "Session"

    def enforce_csrf(self, request: Request) -> None:
        # Read whole, and kept: looking for a token in a form would use the stream up, and the digest of an
        # idempotency key is made of the bytes.
        _ = getattr(request, "_request", request).body
        super().enforce_csrf(request)
