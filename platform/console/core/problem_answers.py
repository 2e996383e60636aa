"""Errors as application/problem+json (RFC 9457), each with a machine code. The one border of the REST API.

    {"type": "about:blank", "title": "Conflict", "status": 409, "code": "cluster_busy",
     "detail": "create-cluster is under way on orders", "errors": [{"field": …, "code": …, "detail": …}]}

Problems are what actions and selectors raised; DRF's and Django's own exceptions become problems here, and
so do full disks. What nobody foresaw is logged with its traceback and answered without it.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from console.core.problems import Problem
from console.core.storage_errors import storage_problem

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"


def handle(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's EXCEPTION_HANDLER."""
    headers = _headers(error)
    body = describe(error)
    if body["status"] >= 500:
        log.exception("%s %s", context["request"].method, context["request"].path, exc_info=error)
    return Response(body, body["status"], headers=headers, content_type=MEDIA_TYPE)


def describe(error: Exception) -> dict[str, Any]:
    if isinstance(error, Problem):
        return _body(error.status, error.code, error.detail, error.errors, **error.extra)
    if isinstance(error, exceptions.ValidationError):
        return _body(400, "invalid", "the request is not valid", list(_flat(error.get_full_details())))
    if isinstance(error, exceptions.APIException):
        code = error.get_codes()
        return _body(error.status_code, code if isinstance(code, str) else "error", str(error.detail))
    if isinstance(error, Http404):
        return _body(404, "not_found", "there is nothing at this address")
    if isinstance(error, PermissionDenied):
        return _body(403, "permission_denied", "you may not do this")
    if isinstance(error, RequestDataTooBig):
        return _body(413, "too_large", "the request is larger than the console takes")
    if isinstance(error, SuspiciousOperation):
        return _body(400, "invalid", "the request is not valid")
    if (problem := storage_problem(error)) is not None:
        return describe(problem)
    return _body(500, "internal", "the console failed; its log says why")


def _body(
    status: int, code: str, detail: str, errors: list[Any] | None = None, **extra: object
) -> dict[str, Any]:
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail, **extra}
    return body | ({"errors": errors} if errors else {})


def _flat(details: Any, path: str = "") -> Any:
    """DRF's nested details as one list with paths like `members[0].host`."""
    if isinstance(details, dict) and set(details) == {"message", "code"}:
        yield {"field": path or None, "code": details["code"], "detail": str(details["message"])}
    elif isinstance(details, dict):
        for name, inner in details.items():
            yield from _flat(inner, _joined(path, name))
    else:
        is_leaf = all(isinstance(each, dict) and set(each) == {"message", "code"} for each in details)
        for number, inner in enumerate(details):
            yield from _flat(inner, path if is_leaf else f"{path}[{number}]")


def _joined(path: str, name: str | int) -> str:
    if name == "non_field_errors":
        return path
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else str(name)


def _headers(error: Exception) -> dict[str, str]:
    found = {}
    if isinstance(error, exceptions.APIException) and getattr(error, "auth_header", None):
        found["WWW-Authenticate"] = error.auth_header
    if isinstance(error, exceptions.Throttled) and error.wait:
        found["Retry-After"] = str(int(error.wait) + 1)
    if isinstance(error, Problem) and "retry_after_s" in error.extra:
        found["Retry-After"] = str(error.extra["retry_after_s"])
    return found
