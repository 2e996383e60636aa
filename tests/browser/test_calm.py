"""What goes wrong is told calmly: a dead socket, a right that was taken away, two operations at once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.conftest import OpenPage
from tests.browser.running import LOCAL, Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = pytest.mark.timeout(300)

POLLED_MS = 40_000
"""A page without a socket asks every ten seconds; the collector has its cycle, and retries grow rarer."""


@dataclass
class Line:
    """The socket between a page and the console, cut and mended by hand."""

    is_cut: bool = False
    _carried: list[WebSocketRoute] = field(default_factory=list)

    def carry(self, socket: WebSocketRoute) -> None:
        if self.is_cut:
            socket.close(code=1011)
            return
        socket.connect_to_server()
        self._carried.append(socket)

    def cut(self) -> None:
        self.is_cut = True
        for socket in self._carried:
            socket.close(code=1011)
        self._carried.clear()

    def mend(self) -> None:
        self.is_cut = False


def live_badge(page: Page, word: str) -> Any:
    return page.get_by_role("banner").get_by_role("status").filter(has_text=word)


def test_a_dead_socket_is_told_and_the_page_asks_until_it_lives(
    console: Console, open_page: OpenPage
) -> None:
    console.topic("quay-crates", 1)
    console.seen(console.path("topics/quay-crates/"), lambda topic: topic["messages"] == "0", "it is known")
    line = Line()
    page = open_page("about:blank")
    page.route_web_socket("**/ws/v1/", line.carry)
    page.goto(f"/clusters/{LOCAL}/topics?search=quay-crates")
    written = page.get_by_role("row").filter(has_text="quay-crates").get_by_role("cell").nth(2)
    expect(live_badge(page, "Live")).to_be_visible()
    expect(written).to_have_text("0")
    # Told by the socket: what it said last must not outlive it.
    console.send("quay-crates", "crate-1")
    expect(written).to_have_text("1")

    line.cut()
    badge = live_badge(page, "Every 10 s")
    expect(badge).to_be_visible()
    console.send("quay-crates", "crate-2", "crate-3")
    expect(written).to_have_text("3", timeout=POLLED_MS)
    badge.hover()
    expect(page.get_by_role("tooltip")).to_contain_text("The live connection is lost")
    check_accessible(page)
    shoot(page, "not-live")
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    alerts = page.locator("dl > div").filter(has_text="Alerts")
    # Known though nobody tells it; without either it would be a dash.
    expect(alerts.locator("dd").first).to_have_text(re.compile(r"\d"), timeout=POLLED_MS)
    page.go_back()

    line.mend()
    expect(live_badge(page, "Live")).to_be_visible(timeout=POLLED_MS)
    console.send("quay-crates", "crate-4")
    expect(written).to_have_text("4")


def test_a_right_that_was_taken_away_meanwhile_is_told_where_it_is_missed(
    console: Console, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(403)
    name = console.person("oskar", ("viewer", "*", "*"), ("operator", LOCAL, "*"))
    page = open_page(f"/clusters/{LOCAL}/topics", user=name)
    page.get_by_role("button", name="New topic").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=False).first.fill("oskars-topic")
    [bound] = [one for one in console.rest.get(f"users/{name}/")["bindings"] if one["role"] == "operator"]
    assert console.rest.call("DELETE", f"users/{name}/bindings/{bound['id']}/")[0] == 204
    dialog.get_by_role("button", name="Preview").click()
    told = dialog.get_by_role("alert")
    expect(told).to_contain_text("You may not do this")
    expect(told).to_be_in_viewport(ratio=0.9)
    expect(told).to_contain_text("An administrator can bind another role to you")
    expect(dialog.get_by_label("Name", exact=False).first).to_have_value("oskars-topic")
    check_accessible(page)
    shoot(page, "refused-403")
    page.reload()
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    expect(page.get_by_role("button", name="New topic")).to_have_count(0)


def test_a_second_operation_at_once_is_told_to_wait(
    console: Console, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(409)
    wish = {"groups": None, "name_servers": False, "needs_approval": True}
    waiting = console.rest.post(console.path("restart/"), wish)
    page = open_page(f"/clusters/{LOCAL}", language="zh")
    page.get_by_role("button", name="变更").click()
    page.get_by_role("menuitem", name="滚动重启").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="预览").click()
    told = dialog.get_by_role("alert")
    expect(told).to_contain_text("暂时不能执行")
    expect(told).to_contain_text("已有其他操作正在进行")
    expect(told.locator("[lang=en]")).to_contain_text("one operation at a time")
    check_accessible(page)
    shoot(page, "busy-409-zh")
    console.rest.post(f"operations/{waiting['id']}/cancel/")
    dialog.get_by_role("button", name="预览").click()
    expect(dialog.get_by_role("button", name="重启", exact=True)).to_be_visible()
