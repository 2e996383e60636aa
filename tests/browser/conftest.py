"""Fixtures of the browser tests: one platform and one chromium per worker, pages as somebody wants them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any, Protocol

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.running import Console, running_console
from tests.browser.watching import Watch
from tests.requirements_probe import need_package

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
SLOW_MS = 20_000
"""Two cores, several browsers and brokers: a slow machine is no failure."""
WIDE, NARROW = (1360, 860), (360, 740)


class OpenPage(Protocol):
    def __call__(
        self,
        path: str = "/",
        *,
        user: str | None = "admin",
        dark: bool = False,
        language: str = "en",
        size: tuple[int, int] = WIDE,
    ) -> Page: ...


@pytest.fixture(scope="session")
def console(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Console]:
    """After the browser: where there is none, no platform is started for nothing."""
    with running_console(tmp_path_factory.mktemp("pages") / "data") as running:
        yield running


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    # Without its own window, which costs more than our pages: a third of the time.
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        need_package(BROWSERS[0])
    expect.set_options(timeout=SLOW_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def watch() -> Iterator[Watch]:
    """What pages of this test did wrong; checked when it is over."""
    found = Watch()
    yield found
    found.check()


@pytest.fixture
def open_page(console: Console, chromium: Browser, watch: Watch) -> Iterator[OpenPage]:
    contexts = []

    def open_(
        path: str = "/",
        *,
        user: str | None = "admin",
        dark: bool = False,
        language: str = "en",
        size: tuple[int, int] = WIDE,
    ) -> Page:
        context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            locale="zh-CN" if language == "zh" else "en-GB",
            timezone_id="UTC",
            base_url=console.address,
        )
        contexts.append(context)
        context.set_default_timeout(SLOW_MS)
        watch.follow(context)
        if user is not None:
            cookies: Any = console.cookies_of(user)
            context.add_cookies(cookies)
        page = context.new_page()
        page.goto(path)
        return page

    yield open_
    for context in contexts:
        context.close()
