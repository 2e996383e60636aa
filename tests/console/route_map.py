"""All addresses of the site as the walking tests see them: one `Route` per method and path, and the table.

The table is tests/console/routes.txt: who gets what answer at every route, and which audit rows it leaves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from console.core.views import PlatformView

TABLE = Path(__file__).with_name("routes.txt")
CALLERS = ("anonymous", "viewer", "operator", "admin", "other")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
SAMPLE_UUID = "00000000-0000-4000-8000-000000000000"
CLUSTER = "attached"
FRONT = "(front)"
"""How the table calls the address without a path."""


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    view: type[PlatformView] | None
    """None: not one of our views (schema, docs, health)."""

    @property
    def key(self) -> str:
        return f"{self.method} {self.path}"

    def address(self) -> str:
        """With something in every place; the cluster is one that all but the other team see."""
        return "/" + re.sub(r"<(?:(\w+):)?(\w+)>", _sample, "" if self.path == FRONT else self.path)


@dataclass(frozen=True, slots=True)
class Row:
    answers: tuple[str, ...]
    audit: str


def routes() -> list[Route]:
    return [
        Route(method, path or FRONT, view)
        for path, callback in _walk(get_resolver().url_patterns, "")
        for view in [_our_view(callback)]
        for method in METHODS
        if (view is None and method == "GET") or (view is not None and hasattr(view, method.lower()))
    ]


def table() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for line in TABLE.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        method, path, *answers, audit = line.split()
        key = f"{method} {path}"
        assert key not in rows, f"twice in {TABLE.name}: {key}"
        assert len(answers) == len(CALLERS), f"{TABLE.name}: {line}"
        rows[key] = Row(tuple(answers), audit)
    return rows


def line(route: Route, answers: tuple[str, ...], audit: str) -> str:
    """As it stands in the table."""
    return f"{route.method:6} {route.path:75} {' '.join(f'{each:4}' for each in answers)} {audit}"


def _walk(patterns: list[Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            yield path, pattern.callback


def _our_view(callback: Any) -> type[PlatformView] | None:
    view = getattr(callback, "view_class", None) or getattr(callback, "cls", None)
    return view if isinstance(view, type) and issubclass(view, PlatformView) else None


def _sample(found: re.Match[str]) -> str:
    kind, name = found[1], found[2]
    if name == "cluster":
        return CLUSTER
    return {"int": "7", "uuid": SAMPLE_UUID}.get(kind or "str", "some-name")
