"""Answers to what never reached a view: as problems, like everything else that goes wrong here.

Nothing of the request stands in them, so nothing of it can be run by a browser.
"""

from __future__ import annotations

import sys
from typing import Any

from django.http import Http404, HttpRequest, JsonResponse

from console.core.problem_answers import MEDIA_TYPE, describe
from console.core.problems import Problem


def bad_request(request: HttpRequest, exception: Any) -> JsonResponse:
    return _answer(Problem("invalid", "the request is not valid", 400))


def forbidden(request: HttpRequest, exception: Any) -> JsonResponse:
    return _answer(Problem("permission_denied", "you may not do this", 403))


def not_found(request: HttpRequest, exception: Any) -> JsonResponse:
    return _answer(Http404())


def failed(request: HttpRequest) -> JsonResponse:
    """Django has logged the traceback, and calls this while it handles the error."""
    error = sys.exc_info()[1]
    return _answer(error if isinstance(error, Exception) else RuntimeError("no error is known"))


def _answer(error: Exception) -> JsonResponse:
    body = describe(error)
    return JsonResponse(body, status=body["status"], content_type=MEDIA_TYPE)
