"""The browsable page of the API at /api/v1/docs/: Swagger UI from our own files, for those who are signed in.

In two parts, page and script: the content policy allows no script inside a page.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.response import Response

_SIGN_IN = (
    "<!DOCTYPE html><title>Signalbox</title><p>Sign in first: this page shows what you may do."
    "<p>With curl: see docs/rest.md."
)


class DocsPage(SpectacularSwaggerSplitView):
    def handle_exception(self, error: Exception) -> Any:
        """A page, for a browser; a problem in JSON would be one that no template can show."""
        if isinstance(error, (NotAuthenticated, AuthenticationFailed)):
            return HttpResponse(_SIGN_IN, status=401, headers={"WWW-Authenticate": "Session"})
        return super().handle_exception(error)

    def finalize_response(self, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(response, Response):
            return super().finalize_response(request, response, *args, **kwargs)
        return response
