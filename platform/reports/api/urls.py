"""All addresses of reports, below /api/v1/: every module of this package says its own."""

from __future__ import annotations

from importlib import import_module

MODULES: tuple[str, ...] = ("catalogue", "runs", "schedules", "stores", "tables")

urlpatterns = [pattern for name in MODULES for pattern in import_module(f"reports.api.{name}").urlpatterns]
