"""Addresses of the site."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from console import schema  # noqa: F401 (drf-spectacular finds extensions by their being imported)
from console.docs_page import DocsPage
from console.front_page import front_page
from console.health import healthz, readyz
from console.metrics.page import metrics

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/v1/docs/", DocsPage.as_view(url_name="schema"), name="docs"),
    path("api/v1/", include("console.api.urls")),
    path("api/v1/", include("clusters.api.urls")),
    path("api/v1/", include("reports.api.urls")),
    path("", front_page, name="front"),
    # Last: whatever nobody else has answered is an address of the page.
    path("<path:page>", front_page),
]

handler400 = "console.error_pages.bad_request"
handler403 = "console.error_pages.forbidden"
handler404 = "console.error_pages.not_found"
handler500 = "console.error_pages.failed"
