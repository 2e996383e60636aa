"""The fleet: every cluster with its health, moving by itself; the search over everything."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import LOCAL, Console
from tests.browser.screens import check_accessible, settle, shoot

pytestmark = pytest.mark.timeout(300)


def test_the_fleet_shows_every_cluster_and_moves_by_itself(console: Console, open_page: OpenPage) -> None:
    console.topic("fleet-orders")
    group = console.group("fleet-billing")
    with console.consuming(group, "fleet-orders"):
        # Enough for every queue: lag is known of queues that a group has read from.
        console.send("fleet-orders", *(f"first-{number}" for number in range(40)))
        console.seen(console.path(f"groups/{group}/"), _is_all_read, "everything is read")
    page = open_page("/")
    row = page.get_by_role("row").filter(has_text=LOCAL)
    expect(row.get_by_text("healthy")).to_be_visible()
    expect(row.get_by_text("managed")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    lag = int(console.rest.get("fleet/")["clusters"][0]["lag"])
    console.send("fleet-orders", *(f"unread-{number}" for number in range(7)))
    expect(row.get_by_role("cell", name=str(lag + 7), exact=True)).to_be_visible()
    check_accessible(page)
    shoot(page, "fleet")


def _is_all_read(group: dict[str, Any]) -> bool:
    queues = [queue for topic in group["topics"] for queue in topic["queues"]]
    return group["lag"] == "0" and len(queues) == 8 and all(queue["lag"] == "0" for queue in queues)


def test_the_fleet_in_the_dark_in_chinese_and_narrow(console: Console, open_page: OpenPage) -> None:
    page = open_page("/", dark=True, language="zh")
    expect(page.get_by_role("heading", name="集群总览")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    check_accessible(page)
    shoot(page, "fleet-dark-zh")
    narrow = open_page("/", size=NARROW)
    expect(narrow.get_by_role("row").filter(has_text=LOCAL)).to_be_visible()
    settle(narrow)
    assert narrow.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is too wide"
    check_accessible(narrow)
    shoot(narrow, "fleet-narrow")


def test_a_viewer_sees_no_write_buttons_and_the_api_refuses_anyway(
    console: Console, open_page: OpenPage
) -> None:
    viewer = console.viewer()
    page = open_page("/", user=viewer)
    expect(page.get_by_role("row").filter(has_text=LOCAL)).to_be_visible()
    expect(page.get_by_role("link", name="New cluster")).to_have_count(0)
    wish = {"name": "hers", "name_servers": 1, "groups": 1, "slaves": 0, "profile": "safe"}
    assert console.session_of(viewer).call("POST", "clusters/", wish)[0] == 403
    admin = open_page("/")
    expect(admin.get_by_role("link", name="New cluster")).to_be_visible()


def test_filters_and_order_are_in_the_address(console: Console, open_page: OpenPage) -> None:
    page = open_page("/?health=down")
    expect(page.get_by_text("Nothing fits these filters")).to_be_visible()
    page.get_by_role("button", name="Clear filters").click()
    expect(page).to_have_url(f"{console.address}/")
    page.get_by_role("button", name="Lag").click()
    expect(page).to_have_url(f"{console.address}/?sort=-lag")
    page.get_by_label("Search", exact=True).fill("no such cluster")
    expect(page).to_have_url(f"{console.address}/?search=no+such+cluster&sort=-lag")
    page.reload()
    expect(page.get_by_text("Nothing fits these filters")).to_be_visible()


def test_everything_is_found_by_its_name(console: Console, open_page: OpenPage) -> None:
    name = console.topic("findable-topic")
    page = open_page("/")
    console.seen(f"search/?q={name}", lambda found: found["results"], "the search knows the topic")
    expect(page.get_by_role("button", name="Search")).to_be_visible()
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Search everything")
    expect(box).to_be_focused()
    box.fill("findable")
    expect(page.get_by_role("option", name=name)).to_be_visible()
    check_accessible(page, within="[role=dialog]")
    shoot(page, "search")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{console.address}/clusters/{LOCAL}/topics/{name}")


def test_a_row_is_opened_by_keyboard(console: Console, open_page: OpenPage) -> None:
    page = open_page("/")
    row = page.get_by_role("row").filter(has_text=LOCAL)
    row.focus()
    page.keyboard.press("End")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{console.address}/clusters/{LOCAL}")


def test_language_and_theme_are_kept(console: Console, open_page: OpenPage) -> None:
    page = open_page("/", user=console.viewer())
    page.get_by_role("button", name="Account of").click()
    page.get_by_text("中文").click()
    page.get_by_title("深色").click()
    page.reload()
    expect(page.get_by_role("heading", name="集群总览")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")


def test_an_address_that_is_nowhere_says_so(open_page: OpenPage) -> None:
    page = open_page("/no/such/page")
    expect(page.get_by_text("There is no such page")).to_be_visible()
    page.get_by_role("link", name="To the fleet").click()
    expect(page.get_by_role("heading", name="Fleet")).to_be_visible()
