"""Requests by route, method and status, counted by a middleware. Routes, not paths: they are bounded."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Histogram

REGISTRY = CollectorRegistry()
_seconds = Histogram(
    "signalbox_http_request_seconds",
    "Time to an answer (to its first byte, for streams).",
    ["method", "route", "status"],
    registry=REGISTRY,
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class CountRequests:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        response = self._get_response(request)
        match = request.resolver_match
        method = request.method if request.method in _METHODS else "other"
        labels = (method, match.route if match else "none", str(response.status_code))
        _seconds.labels(*labels).observe(time.perf_counter() - started)
        return response
