"""Topics: made from the form, seen live, changed and deleted with what that would hit."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = pytest.mark.timeout(300)

LONG = "settlement-" + "of-partially-captured-authorisations-" * 3
LONG = LONG[:127].rstrip("-")


@pytest.fixture(scope="module")
def shop(console: Console) -> Console:
    """Topics that are written to and read; a long name, and one that may only be read."""
    for topic, queues in (("shop-orders", 4), ("shop-payments", 2), (LONG, 1), ("shop-archive", 1)):
        console.topic(topic, queues)
    console.rest.call("PATCH", console.path("topics/shop-archive/"), {"perm": 4})
    console.rest.call("PATCH", console.path("topics/shop-orders/"), {"owner": "ann", "team": "shop"})
    console.group("shop-billing")
    console.send("shop-orders", *(f"order-{number}" for number in range(40)))
    with console.consuming("shop-billing", "shop-orders"):
        console.seen(
            console.path("groups/shop-billing/"), lambda group: group["lag"] == "0", "billing is through", 40
        )
    console.send("shop-orders", *(f"late-{number}" for number in range(7)))
    console.seen(
        console.path("topics/shop-orders/"),
        lambda topic: (topic["messages"], topic["lag"]) == ("47", "7"),
        "the collector has seen what was sent",
    )
    return console


def test_a_topic_is_made_from_the_form_and_appears(shop: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local/topics?search=made-here")
    expect(page.get_by_text("Nothing fits")).to_be_visible()
    page.get_by_role("button", name="New topic").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=False).first.fill("made-here")
    dialog.get_by_label("Queues per broker").fill("3")
    dialog.get_by_label("Owner").fill("ann")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("read_queues").first).to_be_visible()
    assert shop.rest.call("GET", shop.path("topics/made-here/"))[0] == 404, "a preview writes nothing"
    shoot(page, "topics-create")
    dialog.get_by_role("button", name="Make it").click()
    expect(dialog.get_by_text("Done, and read back")).to_be_visible()
    dialog.get_by_role("button", name="Close").last.click()
    row = page.get_by_role("row").filter(has_text="made-here")
    expect(row).to_be_visible(timeout=40_000)
    row.get_by_role("link", name="made-here").click()
    expect(page.get_by_role("heading", name="made-here")).to_be_visible()
    assert shop.rest.get(shop.path("topics/made-here/config/"))["brokers"][0]["read_back"]["read_queues"] == 3


def test_a_name_that_is_taken_is_told_calmly(shop: Console, open_page: OpenPage, watch: Watch) -> None:
    watch.allow(409)
    page = open_page("/clusters/local/topics")
    page.get_by_role("button", name="New topic").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=False).first.fill("shop-orders")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Not now")


def test_the_list_moves_by_itself(shop: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local/topics?search=shop-payments")
    row = page.get_by_role("row").filter(has_text="shop-payments")
    expect(row.get_by_role("cell").nth(2)).to_have_text("0")
    shop.send("shop-payments", *(f"paid-{number}" for number in range(5)))
    expect(row.get_by_role("cell").nth(2)).to_have_text("5")
    expect(row).to_contain_text("ago")


@pytest.mark.nightly
def test_the_list_is_fit_to_look_at(shop: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local/topics")
    expect(page.get_by_role("link", name=LONG)).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="shop-archive")).to_contain_text("read only")
    check_accessible(page)
    shoot(page, "topics")
    dark = open_page("/clusters/local/topics?sort=-lag", dark=True, language="zh")
    expect(dark.get_by_role("heading", name="主题")).to_be_visible()
    check_accessible(dark)
    shoot(dark, "topics-dark-zh")
    narrow = open_page("/clusters/local/topics", size=NARROW)
    expect(narrow.get_by_role("link", name="shop-orders")).to_be_visible()
    check_accessible(narrow)
    shoot(narrow, "topics-narrow")


@pytest.mark.nightly
def test_sorting_and_searching_are_the_servers_and_in_the_address(shop: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local/topics?kind=all")
    page.get_by_role("button", name="Lag").click()
    expect(page).to_have_url(f"{shop.address}/clusters/local/topics?sort=-lag&kind=all")
    expect(page.get_by_role("row").nth(1)).to_contain_text("shop-orders")
    page.get_by_label("Search", exact=True).fill("shop-")
    expect(page).to_have_url(f"{shop.address}/clusters/local/topics?search=shop-&sort=-lag&kind=all")
    page.reload()
    expect(page.get_by_label("Search", exact=True)).to_have_value("shop-")
    expect(page.get_by_role("columnheader", name="Lag")).to_have_attribute("aria-sort", "descending")


def test_a_topics_page_tells_queues_readers_producers_and_config(shop: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local/topics/shop-orders")
    expect(page.get_by_role("definition").filter(has_text="47")).to_be_visible()
    expect(page.get_by_role("figure").first).to_be_visible()
    check_accessible(page)
    shoot(page, "topic")
    page.get_by_role("tab", name="Queues").click()
    expect(page.get_by_role("row")).not_to_have_count(1)
    check_accessible(page)
    shoot(page, "topic-queues")
    page.get_by_role("tab", name="Groups").click()
    expect(page.get_by_role("row").filter(has_text="shop-billing")).to_contain_text("7")
    check_accessible(page)
    page.get_by_role("tab", name="Producers").click()
    expect(page.get_by_text("sent to it in the last ten minutes")).to_be_visible()
    check_accessible(page)
    page.get_by_role("tab", name="Configuration").click()
    expect(page.get_by_role("row").filter(has_text="read and write").first).to_be_visible()
    check_accessible(page)
    shoot(page, "topic-config")


def test_a_delete_shows_what_it_hits_and_can_be_taken_back(shop: Console, open_page: OpenPage) -> None:
    shop.topic("short-lived", 1)
    shop.send("short-lived", "one", "two")
    shop.seen(shop.path("topics/short-lived/"), lambda topic: topic["messages"] == "2", "both are seen")
    page = open_page("/clusters/local/topics/short-lived")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Messages that are gone for good")).to_be_visible()
    button = dialog.get_by_role("button", name="Delete", exact=True)
    expect(button).to_be_disabled()
    dialog.get_by_label("Type short-lived", exact=False).fill("short-lived")
    check_accessible(page, within="[role=dialog]")
    shoot(page, "topic-delete")
    button.click()
    expect(dialog.get_by_text("Done, and read back")).to_be_visible()
    assert shop.rest.call("GET", shop.path("topics/short-lived/config/"))[0] == 404
    dialog.get_by_role("button", name="Make it again").click()
    expect(page.get_by_text("there again")).to_be_visible()
    assert shop.rest.get(shop.path("topics/short-lived/config/"))["is_complete"]


def test_a_viewer_sees_no_write_buttons_and_is_refused(
    shop: Console, open_page: OpenPage, watch: Watch
) -> None:
    page = open_page("/clusters/local/topics", user=shop.viewer())
    expect(page.get_by_role("link", name="shop-orders")).to_be_visible()
    expect(page.get_by_role("button", name="New topic")).to_have_count(0)
    page.goto("/clusters/local/topics/shop-orders")
    expect(page.get_by_role("tab", name="Queues")).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="47")).to_be_visible()
    expect(page.get_by_role("button", name="More actions")).to_have_count(0)
    expect(page.get_by_role("button", name="Edit")).to_have_count(0)
    watch.allow(403)
    status = page.evaluate(
        """async () => (await fetch("/api/v1/clusters/local/topics/shop-orders/?confirm=shop-orders", {
            method: "DELETE",
            headers: {"X-CSRFToken": /csrftoken=([^;]+)/.exec(document.cookie)[1]},
        })).status"""
    )
    assert status == 403


def test_a_topic_that_is_not_there_is_told_calmly(
    console: Console, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(404)
    page = open_page("/clusters/local/topics/no-such-topic")
    expect(page.get_by_role("alert")).to_contain_text("Not found")
    check_accessible(page)
