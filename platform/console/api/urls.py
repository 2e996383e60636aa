"""Addresses about the console itself, below /api/v1/."""

from __future__ import annotations

from importlib import import_module

MODULES: tuple[str, ...] = ("session", "users", "tokens", "audit", "search")

urlpatterns = [pattern for name in MODULES for pattern in import_module(f"console.api.{name}").urlpatterns]
