"""Consumer groups: lag that falls by itself, members and threads, offsets that are reset and put back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = pytest.mark.timeout(300)

TOPIC, GROUP, BUSY = "till-receipts", "till-printing", "till-archive"
BROKERS, QUEUES, MESSAGES = 2, 4, 48


@pytest.fixture(scope="module")
def till(console: Console) -> Iterator[Console]:
    """A group that is through and offline, and one that is at work, whose listener waits for a gate."""
    console.topic(TOPIC, QUEUES)
    for group in (GROUP, BUSY):
        console.group(group)
    console.send(TOPIC, *(f"receipt-{number}" for number in range(MESSAGES)))
    with console.consuming(GROUP, TOPIC):
        console.seen(console.path(f"groups/{GROUP}/"), lambda group: group["lag"] == "0", "it is through", 40)
    gate = threading.Event()
    with ExitStack() as stack:
        stack.callback(gate.set)
        stack.enter_context(console.consuming(BUSY, TOPIC, listener=lambda message: gate.wait(120)))
        console.seen(
            console.path(f"groups/{BUSY}/members/"),
            lambda found: found["members"] and found["members"][0]["queues"],
            "the member holds queues",
            40,
        )
        yield console


def lag_of(page: Page) -> str:
    return page.get_by_test_id("lag").inner_text()


def test_lag_falls_live_when_a_consumer_starts(till: Console, open_page: OpenPage, watch: Watch) -> None:
    till.send(TOPIC, *(f"live-{number}" for number in range(30)))
    page = open_page(f"/clusters/local/groups/{GROUP}")
    expect(page.get_by_test_id("lag")).to_have_text("30")
    expect(page.get_by_role("definition").filter(has_text="0").first).to_be_visible()
    loads: list[str] = []
    page.on("framenavigated", lambda frame: loads.append(frame.url))
    with till.consuming(GROUP, TOPIC):
        expect(page.get_by_test_id("lag")).to_have_text("0")
        expect(page.get_by_text("clear", exact=True).first).to_be_visible()
    assert loads == [], "the page was not loaded again"
    sockets = page.evaluate("performance.getEntriesByType('navigation').length")
    assert sockets == 1


def test_the_list_of_groups_moves_by_itself(till: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local/groups?search=till-printing")
    row = page.get_by_role("row").filter(has_text=GROUP)
    expect(row.get_by_role("cell").nth(1)).to_have_text("0")
    till.send(TOPIC, *(f"more-{number}" for number in range(9)))
    expect(row.get_by_role("cell").nth(1)).to_have_text("9")
    with till.consuming(GROUP, TOPIC):
        expect(row.get_by_role("cell").nth(1)).to_have_text("0")


@pytest.mark.nightly
def test_the_list_is_fit_to_look_at(till: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local/groups")
    expect(page.get_by_role("link", name=BUSY)).to_be_visible()
    check_accessible(page)
    shoot(page, "groups")
    dark = open_page("/clusters/local/groups", dark=True, language="zh")
    expect(dark.get_by_role("heading", name="消费组")).to_be_visible()
    check_accessible(dark)
    shoot(dark, "groups-dark-zh")
    narrow = open_page("/clusters/local/groups", size=NARROW)
    expect(narrow.get_by_role("link", name=BUSY)).to_be_visible()
    check_accessible(narrow)
    shoot(narrow, "groups-narrow")


def test_offsets_are_reset_with_a_preview_and_put_back(till: Console, open_page: OpenPage) -> None:
    before = int(till.rest.get(till.path(f"groups/{GROUP}/"))["lag"])
    page = open_page(f"/clusters/local/groups/{GROUP}?tab=resets")
    page.get_by_role("button", name="Reset offsets").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("To the oldest message").check()
    check_accessible(page, within="[role=dialog]")
    dialog.get_by_role("button", name="Preview").click()
    table = dialog.get_by_role("table", name="Queues of the reset")
    expect(table.get_by_role("row")).to_have_count(BROKERS * QUEUES + 1)
    replayed = dialog.get_by_role("definition").first.inner_text()
    assert int(replayed.replace(",", "")) >= MESSAGES
    assert int(till.rest.get(till.path(f"groups/{GROUP}/"))["lag"]) == before, "a preview moves nothing"
    check_accessible(page, within="[role=dialog]")
    shoot(page, "group-reset-preview")
    dialog.get_by_role("button", name="Reset now").click()
    expect(dialog.get_by_text("Every queue was moved and read back")).to_be_visible()
    shoot(page, "group-reset-done")
    expect(page.get_by_test_id("lag")).to_have_text(replayed)
    dialog.get_by_role("button", name="Undo").click()
    expect(dialog.get_by_role("columnheader", name="Consumed meanwhile")).to_be_visible()
    shoot(page, "group-undo")
    dialog.get_by_role("button", name="Put the old offsets back").click()
    expect(dialog.get_by_text("Every queue was moved and read back")).to_be_visible()
    dialog.get_by_role("button", name="Close").last.click()
    expect(page.get_by_test_id("lag")).to_have_text(str(before))
    expect(page.get_by_text("undone", exact=True)).to_be_visible()
    check_accessible(page)


@pytest.mark.nightly
def test_the_backlog_is_skipped_and_a_group_is_cloned(
    till: Console, open_page: OpenPage, watch: Watch
) -> None:
    # Whether the other group is there is asked first: it is not.
    watch.allow(404)
    till.send(TOPIC, *(f"skipped-{number}" for number in range(6)))
    page = open_page(f"/clusters/local/groups/{GROUP}?tab=resets")
    expect(page.get_by_test_id("lag")).to_have_text("6")
    page.get_by_role("button", name="Skip the backlog").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_role("definition").nth(1)).to_have_text("6")
    dialog.get_by_role("button", name="Reset now").click()
    expect(dialog.get_by_text("Every queue was moved and read back")).to_be_visible()
    dialog.get_by_role("button", name="Close").last.click()
    expect(page.get_by_test_id("lag")).to_have_text("0")
    page.get_by_role("button", name="Clone into another group").click()
    dialog.get_by_label("Name of the other group").fill("till-printing-blue")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("will be made with the same configuration")).to_be_visible()
    dialog.get_by_role("button", name="Clone", exact=True).click()
    expect(dialog.get_by_text("Every queue was moved and read back")).to_be_visible()
    till.seen(
        till.path("groups/till-printing-blue/"),
        lambda group: group["lag"] == "0" and group["topics"],
        "the clone stands where the other one stood",
    )


def test_members_queues_and_threads_are_told(till: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/local/groups/{BUSY}?tab=members")
    expect(page.get_by_text("PYTHON")).to_be_visible()
    held = page.get_by_role("table", name="Assigned queues").get_by_role("row").filter(has_text=TOPIC)
    expect(held.first).to_contain_text("0–3")
    check_accessible(page)
    shoot(page, "group-members")
    page.get_by_role("button", name="Threads").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Take a thread stack").click()
    expect(dialog.get_by_text("Where its listeners stand")).to_be_visible()
    expect(dialog.get_by_text("wait(", exact=False).first).to_be_visible()
    check_accessible(page, within="[role=dialog]")
    shoot(page, "group-stack")
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Queues").click()
    expect(page.get_by_role("columnheader", name="Held by")).to_be_visible()
    check_accessible(page)
    shoot(page, "group-queues")
    page.get_by_role("tab", name="Rebalances").click()
    expect(
        page.get_by_role("list", name=f"Rebalances of {BUSY}").get_by_role("listitem").first
    ).to_be_visible()
    check_accessible(page)
    shoot(page, "group-rebalances")


def test_a_group_is_diagnosed_and_its_config_shown(till: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/local/groups/{GROUP}?tab=diagnosis")
    finding = page.get_by_role("listitem").filter(has_text="Members are online")
    expect(finding).to_contain_text("No member is online")
    check_accessible(page)
    shoot(page, "group-diagnosis")
    page.get_by_role("tab", name="Configuration").click()
    expect(page.get_by_role("row").filter(has_text="Most retries")).to_contain_text("16")
    check_accessible(page)
    shoot(page, "group-config")


@pytest.mark.nightly
def test_a_groups_page_is_fit_to_look_at(till: Console, open_page: OpenPage) -> None:
    done = threading.Event()

    def slowly(message: object) -> None:
        done.wait(0.4)

    with till.consuming(GROUP, TOPIC, listener=slowly):
        till.send(TOPIC, *(f"slow-{number}" for number in range(6_000)))
        page = open_page(f"/clusters/local/groups/{GROUP}")
        expect(page.get_by_text("at the present pace")).to_be_visible()
        # History is stored once a minute.
        expect(page.locator("figure").first).not_to_contain_text("No figures", timeout=120_000)
        check_accessible(page)
        shoot(page, "group")
        dark = open_page(f"/clusters/local/groups/{GROUP}", dark=True, language="zh", size=NARROW)
        expect(dark.get_by_text("未读消息").first).to_be_visible()
        check_accessible(dark)
        shoot(dark, "group-dark-zh-narrow")
        done.set()
        expect(page.get_by_test_id("lag")).to_have_text("0")


def test_a_viewer_sees_no_write_buttons(till: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/local/groups/{BUSY}?tab=resets", user=till.viewer())
    expect(page.get_by_text("Resets so far")).to_be_visible()
    for name in ("Reset offsets", "Skip the backlog", "Clone into another group", "More actions"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.get_by_role("tab", name="Members").click()
    expect(page.get_by_text("PYTHON")).to_be_visible()
    expect(page.get_by_role("button", name="Threads")).to_have_count(0)
