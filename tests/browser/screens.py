"""Screens that are kept as pictures, and what axe says about them."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.e2e.running import until

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("SIGNALBOX_SCREENS") or ROOT / "build" / "screens")
"""`make screens` sets it to docs/screens: a plain run of the tests changes no file of the repository."""
_AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_BAD = ("serious", "critical")


_IS_LOADING = """() => document.fonts.status !== 'loaded' ||
    document.querySelector('.mantine-Skeleton-root, [aria-busy=true], .mantine-Loader-root') !== null"""
_STAND_STILL = """async () => {
    const ends = (one) => one.effect?.getTiming().iterations !== Infinity;
    const all = document.getAnimations().filter(ends);
    await Promise.all(all.map((one) => one.finished.catch(() => null)));
}"""


def settle(page: Page) -> None:
    """Until nothing is loading any more, and everything that moves stands still."""
    # Asked again and again from here: playwright's own way of waiting evaluates text inside of the page,
    # which the content policy forbids.
    until(lambda: not page.evaluate(_IS_LOADING), "the page has loaded")
    page.evaluate(_STAND_STILL)


def shoot(page: Page, name: str, *, settled: bool = True) -> Path:
    """Keeps what is seen as <name>.png; names are <area>-<what>[-dark][-zh][-narrow]."""
    if settled:
        settle(page)
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path, animations="disabled", caret="hide")
    return path


@functools.cache
def _axe_source() -> str:
    return _AXE.read_text()


def check_accessible(page: Page, *, within: str = "html", settled: bool = True) -> None:
    """No serious violation of WCAG 2.2 AA."""
    if settled:
        settle(page)
    # Evaluated by the browser's own tools: the content policy would allow no such script in the page.
    page.evaluate(_axe_source())
    found = page.evaluate(
        "([within, tags]) => axe.run(within, {runOnly: tags, resultTypes: ['violations']})", [within, _TAGS]
    )
    bad = [each for each in found["violations"] if each["impact"] in _BAD]
    assert not bad, "\n".join(_told(each) for each in bad)


def _told(violation: dict[str, Any]) -> str:
    places = "\n".join(
        f"    {node['target']}: {node['failureSummary']}\n      {node['html'][:200]}"
        for node in violation["nodes"][:5]
    )
    return f"{violation['impact']} {violation['id']}: {violation['help']}\n{places}"
