"""Declarative documents: planned, applied, asked what differs, and refused with the field."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(300)]

TEXT = """name: bakery
clusters:
  - name: local
    topics:
      - {name: bakery-orders, read_queues: 4, write_queues: 4}
    groups:
      - {name: bakery-ovens, retry_max_times: 5}
"""


def test_a_document_is_planned_applied_and_its_drift_shown(console: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local/documents?tab=plan")
    page.get_by_label("The document, as YAML or JSON").fill(TEXT)
    page.get_by_role("button", name="Plan", exact=True).click()
    plan = page.get_by_role("table", name="What would be done")
    expect(plan).to_contain_text("bakery-orders")
    expect(plan).to_contain_text("bakery-ovens")
    check_accessible(page)
    shoot(page, "documents-plan")
    page.get_by_role("button", name="Apply", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Apply", exact=True).click()
    link = dialog.get_by_role("link", name="Follow operation")
    expect(link).to_be_visible()
    operation = (link.get_attribute("href") or "").rsplit("/", 1)[-1]
    console.seen(f"operations/{operation}/", lambda row: row["state"] == "succeeded", "it is applied", 90)
    change = {"read_queues": 7, "write_queues": 7}
    status, answer = console.rest.call("PATCH", console.path("topics/bakery-orders/"), change)
    assert status == 200, answer
    page.goto("/clusters/local/documents?name=bakery")
    expect(page.get_by_text("There is drift")).to_be_visible()
    expect(page.get_by_role("table", name="What would be done")).to_contain_text("read_queues")
    check_accessible(page)
    shoot(page, "documents-drift")


def test_a_document_that_is_wrong_names_its_field(open_page: OpenPage, watch: Watch) -> None:
    watch.allow(400)
    page = open_page("/clusters/local/documents?tab=plan", dark=True, language="zh")
    page.get_by_label("文档（YAML 或 JSON）").fill(TEXT.replace("read_queues", "read_queue"))
    page.get_by_role("button", name="生成计划").click()
    expect(page.get_by_role("alert")).to_contain_text("clusters[0].topics[0].read_queue")
    check_accessible(page)
    shoot(page, "documents-wrong-dark-zh")


def test_documents_are_for_administrators(console: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local/documents", user=console.operator())
    expect(page.get_by_text("Documents are for administrators of all clusters")).to_be_visible()
    check_accessible(page)
