"""A console whose disk is full: the page says so in the console's own sentence, and it goes on afterwards."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(300)]


@contextmanager
def no_room(console: Console) -> Iterator[None]:
    """The console's own process may not write to files any more; its brokers go on."""
    assert console.platform.process is not None
    children = psutil.Process(console.platform.process.pid).children(recursive=True)
    [server] = [child for child in children if "uvicorn" in child.cmdline()]
    before = server.rlimit(resource.RLIMIT_FSIZE)
    server.rlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        server.rlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("language", "title", "sentence"),
    [
        ("en", "The console cannot save", "the console's disk"),
        ("zh", "控制台无法保存", "控制台的磁盘"),
    ],
)
def test_the_page_says_that_nothing_can_be_saved(
    console: Console, open_page: OpenPage, watch: Watch, language: str, title: str, sentence: str
) -> None:
    watch.allow(503, 507)
    page = open_page("/settings?tab=users", language=language)
    page.get_by_role("button", name="New person" if language == "en" else "新建用户").click()
    form = page.get_by_role("dialog")
    form.get_by_role("textbox").first.fill(f"dora-{language}")
    with no_room(console):
        form.get_by_role("button", name="Create" if language == "en" else "创建").click()
        alert = form.get_by_role("alert")
        expect(alert).to_contain_text(title)
        expect(alert).to_contain_text(sentence)
        check_accessible(page)
        shoot(page, f"full-disk{'' if language == 'en' else '-zh'}")
    form.get_by_role("button", name="Create" if language == "en" else "创建").click()
    expect(page.get_by_role("alert")).to_have_count(0)
