"""All addresses of the domain, below /api/v1/: every module of this package says its own."""

from __future__ import annotations

from importlib import import_module

MODULES: tuple[str, ...] = (
    "acl",
    "alerts",
    "broker_settings",
    "brokers",
    "changes",
    "clusters",
    "dead_letters",
    "documents",
    "fleet",
    "groups",
    "hosts",
    "masking",
    "members",
    "messages",
    "operations",
    "redrives",
    "resets",
    "routing",
    "searches",
    "sends",
    "series",
    "topic_usage",
    "topics",
)

urlpatterns = [pattern for name in MODULES for pattern in import_module(f"clusters.api.{name}").urlpatterns]
