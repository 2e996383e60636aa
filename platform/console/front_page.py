"""The console in the browser: one page for every address that is not the API's; which screen it shows is the
page's own business (frontend/src/app/router.tsx).

The page itself is never kept by browsers, its files are hashed and kept for ever (settings.py). As long as
nothing is built, a plain page says how; the API works without it.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.data_root import FRONTEND

NOT_OURS = ("api/", "static/", "ws/")
"""What is not found below these is not found; a page would hide that from programs."""


@require_safe
def front_page(request: HttpRequest, page: str = "") -> HttpResponse:
    if f"{page}/".startswith(NOT_OURS):
        raise Http404
    try:
        html = (FRONTEND / "index.html").read_bytes()
    except OSError:
        return render(request, "not_built.html", status=503)
    return HttpResponse(html, headers={"Cache-Control": "no-store"})
