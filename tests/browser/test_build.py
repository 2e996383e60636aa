"""What a browser loads: nothing large at first, nothing from elsewhere, kept for as long as it may be."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Response, expect

from tests.browser.conftest import OpenPage
from tests.browser.running import Console

ROOT = Path(__file__).parents[2]
PAGES = Path(os.environ.get("SIGNALBOX_PAGES") or ROOT / "build" / "frontend")
LARGEST = 250_000
"""Of one file, compressed."""
FIRST_LOAD = 420_000
"""Of all that the fleet needs together, compressed."""


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    return json.loads((PAGES / "manifest.json").read_text())


def _size(name: str) -> int:
    return len(gzip.compress((PAGES / name).read_bytes(), 9))


def _with_imports(manifest: dict[str, Any], *entries: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(entries)
    while waiting:
        entry = waiting.pop()
        if entry not in seen:
            seen.add(entry)
            waiting.extend(manifest[entry].get("imports", []))
    return seen


def test_no_file_is_larger_than_250_kb(manifest: dict[str, Any]) -> None:
    sizes = {each["file"]: _size(each["file"]) for each in manifest.values()}
    too_large = {name: size for name, size in sizes.items() if size > LARGEST}
    print(dict(sorted(sizes.items(), key=lambda pair: -pair[1])[:8]))
    assert sizes and not too_large


def test_the_first_page_loads_little(manifest: dict[str, Any]) -> None:
    entries = _with_imports(manifest, "index.html", "src/features/fleet/FleetScreen.tsx")
    files = {manifest[entry]["file"] for entry in entries}
    sheets = {sheet for entry in entries for sheet in manifest[entry].get("css", [])}
    size = sum(map(_size, files | sheets))
    print(f"{len(files)} files, {size} bytes")
    assert size < FIRST_LOAD
    assert not any("xyflow" in name or "TimeSeries" in name for name in files)


def test_files_come_compressed_from_here_and_are_kept(console: Console, open_page: OpenPage) -> None:
    answers: list[Response] = []
    page = open_page("/sign-in", user=None)
    page.context.on("response", lambda answer: answers.append(answer))
    page.reload()
    expect(page.get_by_label("User name")).to_be_visible()
    assert {answer.url.split("/")[2] for answer in answers} == {console.address.split("/")[2]}
    document = next(answer for answer in answers if answer.url.endswith("/sign-in"))
    assert document.headers["cache-control"] == "no-store"
    assert "unsafe-eval" not in document.headers["content-security-policy"]
    assets = [answer for answer in answers if "/assets/" in answer.url]
    assert assets and all("immutable" in answer.headers["cache-control"] for answer in assets)
    large = [answer for answer in assets if "index-" in answer.url]
    assert all(answer.headers.get("content-encoding") in ("br", "gzip") for answer in large)
