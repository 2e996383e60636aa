"""Addresses of the site."""

from __future__ import annotations

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from console.health import healthz, readyz
from console.metrics.page import metrics

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("metrics", metrics),
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="schema"),
    # In two parts, page and script: the content policy allows no script inside a page.
    path("api/v1/docs/", SpectacularSwaggerSplitView.as_view(url_name="schema"), name="docs"),
    path("api/v1/", include("console.api.urls")),
    path("api/v1/", include("clusters.api.urls")),
]
