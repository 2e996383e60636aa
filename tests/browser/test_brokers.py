"""Brokers: members and their groups, settings side by side, write permission, logs."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import LOCAL, Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = pytest.mark.timeout(300)

BASE = f"/clusters/{LOCAL}/brokers"


def test_members_are_listed_with_one_request(open_page: OpenPage, watch: Watch) -> None:
    page = open_page(BASE)
    expect(page.get_by_role("link", name="broker-a-0")).to_be_visible()
    expect(page.get_by_text("running").first).to_be_visible()
    asked = [each for each in watch.requests if f"/clusters/{LOCAL}/brokers/" in each]
    assert asked and all(each.endswith("/brokers/") for each in asked), "none is asked for by itself"
    expect(page.get_by_text("may delete unexpired").first).to_be_visible()
    check_accessible(page)
    shoot(page, "brokers")
    page.keyboard.press("Tab")
    page.get_by_role("link", name="broker-a-0").click()
    expect(page.get_by_role("heading", name="broker-a-0")).to_be_visible()
    kept = page.get_by_role("region", name="Messages kept")
    expect(kept).to_contain_text("Deletes messages that have not expired at 85%, refuses writes at 90%.")
    expect(kept).to_contain_text("None since it started")
    expect(kept).to_contain_text("None found")
    check_accessible(page)
    shoot(page, "broker")


def test_settings_stand_side_by_side(open_page: OpenPage) -> None:
    page = open_page(f"{BASE}?tab=config&search=maxMessageSize")
    row = page.locator("[data-key='maxMessageSize']")
    expect(row).to_contain_text("4194304")
    check_accessible(page)
    shoot(page, "brokers-settings")
    page.get_by_role("button", name="Change maxMessageSize").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("New value").fill("4000000")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("What will be done")).to_be_visible()
    check_accessible(page)


def test_a_group_refuses_writes_and_takes_them_again(console: Console, open_page: OpenPage) -> None:
    page = open_page(f"{BASE}/broker-a-0")
    for button, badge in (("Refuse writes", 1), ("Allow writes", 0)):
        page.get_by_role("button", name=button).click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name=button).click()
        expect(dialog.get_by_text("Done, and read back from every broker.")).to_be_visible()
        dialog.get_by_role("button", name="Close", exact=True).last.click()
        expect(page.locator("header").get_by_text("refuses writes")).to_have_count(badge)


@pytest.mark.nightly
def test_the_log_is_for_operators(console: Console, open_page: OpenPage) -> None:
    page = open_page(f"{BASE}/broker-a-0?tab=log", user=console.operator())
    expect(page.get_by_role("log")).to_contain_text("ready on")
    check_accessible(page)
    shoot(page, "broker-log")
    page = open_page(f"{BASE}/broker-a-0?tab=log", user=console.viewer())
    expect(page.get_by_text("Logs are for operators")).to_be_visible()
    expect(page.get_by_role("button", name="Refuse writes")).to_have_count(0)


@pytest.mark.nightly
def test_in_chinese_in_the_dark_and_on_a_narrow_window(open_page: OpenPage) -> None:
    page = open_page(f"{BASE}/broker-a-0?tab=replication", language="zh", dark=True)
    expect(page.get_by_role("tab", name="主从复制")).to_be_visible()
    check_accessible(page)
    shoot(page, "broker-replication-dark-zh")
    page = open_page(BASE, size=NARROW)
    expect(page.get_by_role("link", name="broker-a-0")).to_be_visible()
    check_accessible(page)
    shoot(page, "brokers-narrow")
