"""Dead letters: why they died, sent again edited, redriven by a canary first, with the outcome of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from engine.client import Message
from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot

pytestmark = pytest.mark.timeout(300)

TOPIC, GROUP, LETTERS = "invoices-to-print", "invoice-printing", 12


def fail(message: Any) -> None:
    raise ValueError("no paper")


@pytest.fixture(scope="module")
def buried(console: Console) -> Iterator[Console]:
    """Real dead letters: a consumer that fails, of a group without a second try."""
    console.topic(TOPIC, 1)
    console.group(GROUP, retry_max_times=0)
    made = [
        Message(TOPIC, b'{"invoice": %d}' % n, tags="late" if n % 3 == 0 else "plain", keys=[f"invoice-{n}"])
        for n in range(LETTERS)
    ]
    console.send(TOPIC, *made)
    with console.consuming(GROUP, TOPIC, listener=fail, trace=True, max_reconsume_times=0):
        console.seen(
            console.path("dlq/"),
            lambda page: any(
                row["group"] == GROUP and row["messages"] == str(LETTERS) for row in page["results"]
            ),
            "all of them are dead",
            90,
        )
    yield console


def test_dead_letters_are_listed_by_group_and_by_reason(buried: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local/dead-letters")
    row = page.get_by_role("table", name="Groups with dead letters").locator("tbody tr", has_text=GROUP)
    expect(row).to_contain_text(str(LETTERS))
    check_accessible(page)
    shoot(page, "dead-letters")
    row.click()
    letters = page.get_by_role("table", name=f"Dead letters of {GROUP}").locator("tbody tr[data-at]")
    expect(letters).to_have_count(LETTERS)
    expect(letters.filter(has_text="EXCEPTION")).to_have_count(LETTERS)
    shoot(page, "dead-letters-group")
    page.get_by_role("tab", name="By reason").click()
    table = page.get_by_role("table", name="Dead letters by what they have in common")
    reasons = table.locator("tbody tr[data-at]")
    expect(reasons).to_have_count(2)
    expect(reasons.first).to_contain_text("EXCEPTION")
    check_accessible(page)
    shoot(page, "dead-letters-reasons")


def test_a_letter_is_edited_and_resent_to_its_group_alone(buried: Console, open_page: OpenPage) -> None:
    got: list[Any] = []
    page = open_page(f"/clusters/local/dead-letters/{GROUP}?key=invoice-5")
    page.get_by_role("table", name=f"Dead letters of {GROUP}").get_by_text("invoice-5").click()
    page.get_by_role("dialog", name="Dead letter").get_by_role("button", name="Edit and resend").click()
    dialog = page.get_by_role("dialog", name="Edit and resend")
    expect(dialog.get_by_label("Body", exact=True)).to_have_value('{"invoice": 5}')
    dialog.get_by_label("Body", exact=True).fill('{"invoice": 5, "paper": "A4"}')
    check_accessible(page)
    shoot(page, "dead-letters-edit")
    dialog.get_by_role("button", name=f"Resend to {GROUP}").click()
    expect(dialog.get_by_text("SEND_OK")).to_be_visible()
    with buried.consuming(GROUP, TOPIC, listener=got.append):
        buried.seen(buried.path("dlq/"), lambda _: any(b"A4" in one.body for one in got), "it came", 60)


def test_a_redrive_begins_with_a_canary_and_tells_every_outcome(buried: Console, open_page: OpenPage) -> None:
    got: set[bytes] = set()
    page = open_page(f"/clusters/local/dead-letters/{GROUP}")
    page.get_by_role("button", name="Redrive all").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("First only").fill("3")
    dialog.get_by_label("Then watch for (s)").fill("2")
    shoot(page, "dead-letters-redrive")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text(f"{LETTERS} dead letters", exact=True)).to_be_visible()
    expect(dialog.get_by_text("the first 3, then wait 2 s")).to_be_visible()
    check_accessible(page)
    with buried.consuming(GROUP, TOPIC, listener=lambda message: got.add(message.body)):
        dialog.get_by_role("button", name="Start the redrive").click()
        expect(page.get_by_text("12 of 12").first).to_be_visible(timeout=90_000)
        expect(page.get_by_text("done", exact=True).first).to_be_visible(timeout=60_000)
        outcomes = page.get_by_role("table", name="Outcome of every letter").locator("tbody tr[data-at]")
        expect(outcomes).to_have_count(LETTERS)
        expect(outcomes.filter(has_text="sent")).to_have_count(LETTERS)
        buried.seen(buried.path("dlq/"), lambda _: len(got) >= LETTERS, "all came again", 60)
    check_accessible(page)
    shoot(page, "dead-letters-outcomes")


@pytest.mark.nightly
def test_narrow_dark_and_chinese(buried: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/local/dead-letters/{GROUP}", size=NARROW, dark=True, language="zh")
    letters = page.get_by_role("table", name=f"{GROUP} 的死信").locator("tbody tr[data-at]")
    expect(letters.first).to_be_visible()
    check_accessible(page)
    shoot(page, "dead-letters-dark-zh-narrow")


def test_a_viewer_sees_letters_and_no_way_to_send_them(buried: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/local/dead-letters/{GROUP}", user=buried.viewer())
    letters = page.get_by_role("table", name=f"Dead letters of {GROUP}")
    expect(letters.locator("tbody tr[data-at]").first).to_contain_text("invoice")
    expect(page.get_by_role("button", name="Redrive all")).to_have_count(0)
    expect(letters.get_by_role("checkbox")).to_have_count(0)
    letters.locator("tbody tr[data-at]").first.click()
    drawer = page.get_by_role("dialog", name="Dead letter")
    expect(drawer.get_by_role("link", name="Trace and details")).to_be_visible()
    expect(drawer.get_by_role("button", name="Edit and resend")).to_have_count(0)
