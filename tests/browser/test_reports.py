"""Reports: asked for from the form, followed while Spark works, seen as figures, charts and tables."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = pytest.mark.timeout(900)

SPARK_MS = 600_000
"""A JVM, a session and a first query in Python on two cores that are all in use."""


@pytest.fixture(scope="module")
def kept(console: Console) -> Console:
    console.topic("report-orders", 2)
    console.send("report-orders", *(f"order-{number}" for number in range(30)))
    return console


def test_a_report_is_run_and_its_chart_seen(kept: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local/reports")
    page.get_by_role("button", name="Run a report").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("combobox", name="Report")).to_have_value("Retention")
    shoot(page, "reports-form")
    check_accessible(page)
    dialog.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("status", name="Progress")).to_be_visible()
    shoot(page, "reports-progress", settled=False)
    # Without a reload: the websocket tells.
    over = page.locator("header").locator("[data-state=done], [data-state=failed]")
    expect(over).to_be_visible(timeout=SPARK_MS)
    expect(over).to_have_attribute("data-state", "done")
    expect(page.get_by_role("figure").or_(page.get_by_role("table")).first).to_be_visible()
    expect(page.get_by_text("report-orders").first).to_be_visible()
    shoot(page, "reports-results")
    check_accessible(page)
    page.get_by_role("tab", name="Tables").click()
    expect(page.get_by_role("link", name="Download Parquet")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    assert download.value.suggested_filename.endswith(".csv")
    shoot(page, "reports-tables")
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_role("region", name="What Spark printed")).to_be_visible()


def test_a_schedule_says_when_it_runs(kept: Console, open_page: OpenPage, watch: Watch) -> None:
    watch.allow(400)  # an expression that is none
    page = open_page("/clusters/local/reports?tab=schedules")
    expect(page.get_by_text("No schedules yet")).to_be_visible()
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill("every-monday")
    dialog.get_by_label("Cron expression").fill("61 * * * *")
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_label("Cron expression").fill("0 6 * * MON")
    expect(dialog.get_by_text("When this would run")).to_be_visible()
    dialog.get_by_role("button", name="Create").click()
    row = page.get_by_role("row").filter(has_text="every-monday")
    expect(row).to_contain_text("0 6 * * MON")
    shoot(page, "reports-schedules")
    check_accessible(page)


def test_a_viewer_sees_runs_and_cannot_ask_for_one(kept: Console, open_page: OpenPage) -> None:
    viewer = kept.viewer()
    page = open_page("/clusters/local/reports", user=viewer, dark=True, language="zh", size=NARROW)
    expect(page.get_by_role("heading", name="报表")).to_be_visible()
    expect(page.get_by_role("button", name="运行报表")).to_have_count(0)
    shoot(page, "reports-dark-zh-narrow")
    check_accessible(page)
    status, _ = kept.session_of(viewer).call("POST", kept.path("reports/runs/"), {"report": "retention"})
    assert status == 403
