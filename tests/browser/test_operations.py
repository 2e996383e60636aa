"""Operations and hosts: approved by a second person, followed step by step; a host that is to join."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.running import LOCAL, Console
from tests.browser.screens import check_accessible, shoot

pytestmark = pytest.mark.timeout(300)

OPERATION_MS = 120_000


def test_a_restart_waits_for_a_second_person_and_then_runs(console: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/{LOCAL}", user=console.operator())
    page.get_by_role("button", name="Change").click()
    page.get_by_role("menuitem", name="Rolling restart").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("A second person must approve it").check()
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("Somebody else must approve it before it runs.")).to_be_visible()
    check_accessible(page)
    dialog.get_by_role("button", name="Restart", exact=True).click()
    expect(page).to_have_url(re.compile("/operations/"))
    expect(page.get_by_text("Waits for a second person")).to_be_visible()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    check_accessible(page)
    shoot(page, "operation-approval")

    other = open_page(re.sub("^https?://[^/]+", "", page.url))
    other.get_by_role("button", name="Approve").click()
    other.get_by_role("dialog").get_by_role("button", name="Approve").click()
    state = page.locator("header [data-state]").first
    expect(state).to_have_attribute("data-state", "succeeded", timeout=OPERATION_MS)
    page.goto(f"/clusters/{LOCAL}/operations")
    expect(page.get_by_role("row").filter(has_text="olga").first).to_contain_text("done")
    check_accessible(page)
    shoot(page, "operations")


@pytest.mark.nightly
def test_a_token_for_a_host_is_shown_once(console: Console, open_page: OpenPage) -> None:
    page = open_page("/hosts")
    expect(page.get_by_role("row").filter(has_text="local").first).to_contain_text("answers")
    check_accessible(page)
    shoot(page, "hosts")
    page.get_by_role("button", name="Join a host").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name of the host").fill("rack2")
    dialog.get_by_role("button", name="Make a token").click()
    expect(dialog.get_by_text(re.compile("agent --join sbj_"))).to_be_visible()
    expect(dialog.get_by_text("Waiting for rack2")).to_be_visible()
    check_accessible(page, settled=False)
    page = open_page("/hosts", user=console.viewer())
    expect(page.get_by_role("row").filter(has_text="local").first).to_be_visible()
    expect(page.get_by_role("button", name="Join a host")).to_have_count(0)
