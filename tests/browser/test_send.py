"""Sending from the form: what was typed is what the broker has, and it is found again by its key."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = pytest.mark.timeout(300)

TOPIC, KEY = "counter-orders", "counter-order-4711"
BODY = '{"order": 9007199254740993, "to": "Ann <b>Smith</b>"}'


def fill(page: Page, topic: str) -> None:
    page.get_by_role("combobox", name="Topic").fill(topic)
    page.get_by_label("Body", exact=True).fill(BODY)


def test_a_message_is_sent_from_the_form_and_found_by_its_key(console: Console, open_page: OpenPage) -> None:
    console.topic(TOPIC, 2)
    page = open_page("/clusters/local/messages?tab=send")
    send = page.get_by_role("button", name="Send", exact=True)
    expect(send).to_be_disabled()
    fill(page, TOPIC)
    page.get_by_label("Tag", exact=True).fill("walk-in")
    page.get_by_label("Keys", exact=True).fill(f"{KEY} till-3")
    page.get_by_label("Properties").fill("shop north")
    expect(page.get_by_text("Line 1 is not name=value")).to_be_visible()
    expect(send).to_be_disabled()
    page.get_by_label("Properties").fill("shop=north\nclerk=<i>Bo</i>")
    send.click()
    told = page.get_by_role("status").filter(has_text="SEND_OK")
    expect(told).to_contain_text("Sent")
    expect(told).to_be_in_viewport(ratio=0.9)
    check_accessible(page)
    shoot(page, "messages-sent")

    page.get_by_role("tab", name="Search", exact=True).click()
    page.get_by_text("Key", exact=True).first.click()
    page.get_by_role("combobox", name="Topic").fill(TOPIC)
    page.get_by_role("textbox", name="Key").fill(KEY)
    page.get_by_role("button", name="Find", exact=True).click()
    rows = page.get_by_role("table", name="Messages found").locator("tbody tr[data-at]")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("walk-in")
    rows.click()
    body = page.get_by_role("region", name="Body of the message")
    expect(body).to_contain_text("9007199254740993")
    expect(body).to_contain_text("Ann <b>Smith</b>")
    page.get_by_role("tab", name="Properties").click()
    expect(page.get_by_role("row", name="clerk")).to_contain_text("<i>Bo</i>")
    expect(page.get_by_role("row", name="shop")).to_contain_text("north")
    [found] = console.rest.get(console.path(f"messages/?topic={TOPIC}&key={KEY}"))["messages"]
    assert json.loads(found["body"]["text"]) == json.loads(BODY)
    assert found["keys"] == [KEY, "till-3"]


def test_what_the_broker_refuses_is_not_called_sent(
    console: Console, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(404, 409, 422)
    page = open_page("/clusters/local/messages?tab=send", size=NARROW, dark=True)
    fill(page, "no-such-counter")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("no-such-counter").last).to_be_visible()
    expect(page.get_by_text("SEND_OK")).to_have_count(0)
    assert console.rest.call("GET", console.path("topics/no-such-counter/"))[0] == 404, "no topic was made"
    check_accessible(page)
    shoot(page, "messages-refused-dark-narrow")
