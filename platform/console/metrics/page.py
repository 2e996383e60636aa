"""GET /metrics, for a token or from this machine itself.

A proxy on this machine would make everybody look local, so a request that was forwarded needs a token.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from console.core.tokens import TokenAuthentication
from console.metrics import requests
from console.metrics.state import StateCollector

_LOCAL = ("127.0.0.1", "::1")
_FORWARDED = ("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-Ip", "Forwarded", "Via")

ProcessCollector(registry=requests.REGISTRY)
_state = CollectorRegistry()
_state.register(StateCollector())


def metrics(request: HttpRequest) -> HttpResponse:
    if not (_is_local(request) or _has_token(request)):
        refusal = HttpResponse("a token is needed\n", status=401, content_type="text/plain")
        refusal["WWW-Authenticate"] = "Bearer"
        return refusal
    body = generate_latest(requests.REGISTRY) + generate_latest(_state)
    return HttpResponse(body, content_type=CONTENT_TYPE_LATEST)


def _is_local(request: HttpRequest) -> bool:
    is_forwarded = any(name in request.headers for name in _FORWARDED)
    return request.META.get("REMOTE_ADDR") in _LOCAL and not is_forwarded


def _has_token(request: HttpRequest) -> bool:
    try:
        return TokenAuthentication().authenticate(Request(request)) is not None
    except AuthenticationFailed:
        return False
