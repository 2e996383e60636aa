"""The audit log: rows, what changed in one of them, the chain walked, the export taken home."""

from __future__ import annotations

import csv
import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(300)]

NAME, TOPIC = "audrey", "audited-parcels"


@pytest.fixture(scope="module")
def noted(console: Console) -> Console:
    """A person whose team changed, and a topic: rows with a difference, with a pair, with markup."""
    console.person(NAME, ("viewer", "*", "*"))
    assert console.rest.call("PATCH", f"users/{NAME}/", {"team": "<b>freight</b>"})[0] == 200
    console.topic(TOPIC, 1)
    return console


def test_a_row_tells_field_by_field_what_changed(noted: Console, open_page: OpenPage) -> None:
    page = open_page("/audit")
    rows = page.get_by_role("table", name="Audit log").locator("tbody tr[data-at]")
    expect(rows.filter(has_text="topic.create").filter(has_text=TOPIC).first).to_contain_text("succeeded")
    check_accessible(page)
    shoot(page, "audit")
    page.get_by_label("Action").fill("user.update")
    page.get_by_label("On", exact=True).fill(NAME)
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page).to_have_url(re.compile("action=user.update"))
    expect(rows).to_have_count(1)
    rows.click()
    drawer = page.get_by_role("dialog", name=re.compile(r"Audit row \d+"))
    change = drawer.get_by_role("table", name="What changed").get_by_role("row").filter(has_text="team")
    expect(change).to_contain_text("<b>freight</b>")
    expect(change).to_contain_text("empty")
    expect(drawer.get_by_text("Hash before")).to_be_visible()
    check_accessible(page)
    shoot(page, "audit-row")


def test_an_intent_leads_to_how_it_ended(noted: Console, open_page: OpenPage) -> None:
    page = open_page(f"/audit?action=topic.create&target={TOPIC}", size=NARROW, dark=True, language="zh")
    rows = page.get_by_role("table").first.locator("tbody tr[data-at]")
    expect(rows).to_have_count(2)
    rows.last.click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_text("已开始", exact=True).first).to_be_visible()
    check_accessible(page)
    shoot(page, "audit-row-dark-zh-narrow")
    drawer.get_by_role("button", name=re.compile("打开")).click()
    expect(drawer.get_by_text("成功", exact=True).first).to_be_visible()


def test_the_chain_is_walked_and_the_rows_are_exported(noted: Console, open_page: OpenPage) -> None:
    page = open_page("/audit")
    page.get_by_role("button", name="Verify the chain").click()
    verdict = page.get_by_role("dialog", name="Verify the chain").get_by_role("status")
    expect(verdict).to_contain_text("The chain is intact")
    walked = re.search(r"([\d,]+) rows", verdict.inner_text())
    assert walked and int(walked[1].replace(",", "")) >= 4
    check_accessible(page)
    shoot(page, "audit-verified")
    page.keyboard.press("Escape")

    page.goto(f"/audit?target={NAME}")
    expect(page.get_by_role("table", name="Audit log").locator("tbody tr[data-at]").first).to_be_visible()
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as lines:
        page.get_by_role("menuitem", name="As NDJSON").click()
    entries = [json.loads(line) for line in lines.value.path().read_text().splitlines()]
    assert {entry["target"] for entry in entries} == {NAME}
    assert "user.update" in {entry["action"] for entry in entries}
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as sheet:
        page.get_by_role("menuitem", name="As CSV").click()
    table = list(csv.DictReader(sheet.value.path().read_text().splitlines()))
    assert [row["id"] for row in table] == [str(entry["id"]) for entry in entries]


def test_a_viewer_sees_their_own_rows_and_cannot_walk_the_chain(noted: Console, open_page: OpenPage) -> None:
    page = open_page("/audit", user=NAME)
    expect(page.get_by_role("heading", name="Audit")).to_be_visible()
    expect(page.get_by_role("button", name="Verify the chain")).to_have_count(0)
    rows = page.get_by_role("table", name="Audit log").locator("tbody tr[data-at]")
    expect(rows.first).to_contain_text(NAME)
    expect(rows.filter(has_text=TOPIC)).to_have_count(0)
    assert noted.session_of(NAME).call("GET", "audit/verify/")[0] == 403
