"""Sessions of browsers for the REST API: Django's cookie, with the CSRF token on every unsafe method."""

from __future__ import annotations

from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request


class ConsoleSessionAuthentication(SessionAuthentication):
    def authenticate_header(self, request: Request) -> str:
        """With it an anonymous call is answered 401, not 403."""
        return "Session"
