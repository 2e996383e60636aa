"""Alerts: channel and rule from their forms, a test that arrives, one that fires, a silence, history."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import LOCAL, Console
from tests.browser.screens import check_accessible, shoot
from tests.e2e.running import until

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(300)]

TOPIC, GROUP, LATE = "mail-bags", "mail-sorting", 8
CHANNEL, RULE, SECRET = "on-call", "sorting is behind", "kept-in-the-vault"
PERIOD_MS = 60_000
"""The collector looks, then the rules are judged, then channels are told: each at its own pace."""


@dataclass
class Receiver:
    """Where the webhook goes: this process, on a port of its own."""

    url: str = ""
    heard: list[dict[str, Any]] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)

    def events(self) -> list[str]:
        return [one["event"] for one in self.heard]


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.signatures.append(self.headers.get("X-Signalbox-Signature", ""))
            found.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    server = HTTPServer(("127.0.0.1", 0), Hook)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}/alerts"
    yield found
    server.shutdown()
    thread.join(10)
    server.server_close()


@pytest.fixture(scope="module")
def behind(console: Console) -> Console:
    """A group that is behind: it has read once, and then stopped."""
    console.topic(TOPIC, 1)
    console.group(GROUP)
    console.send(TOPIC, *(f"bag-{number}" for number in range(4)))
    with console.consuming(GROUP, TOPIC):
        console.seen(console.path(f"groups/{GROUP}/"), lambda group: group["lag"] == "0", "it is through", 40)
    console.send(TOPIC, *(f"late-{number}" for number in range(LATE)))
    return console


def test_a_channel_is_made_tried_and_its_address_is_not_shown_again(
    console: Console, open_page: OpenPage, receiver: Receiver
) -> None:
    page = open_page(f"/clusters/{LOCAL}/alerts?tab=channels")
    expect(page.get_by_text("No channels yet")).to_be_visible()
    page.get_by_role("button", name="New channel").click()
    form = page.get_by_role("dialog", name="New channel")
    form.get_by_label("Name").fill(CHANNEL)
    form.get_by_label("Address").fill(receiver.url)
    form.get_by_label("Secret", exact=True).fill(SECRET)
    check_accessible(page)
    shoot(page, "alerts-channel")
    form.get_by_role("button", name="Create").click()
    row = page.get_by_role("table", name="Channels").locator("tbody tr[data-at]").filter(has_text=CHANNEL)
    expect(row).to_contain_text("signed")
    expect(form).to_be_hidden()
    assert "/alerts" not in row.inner_text()
    assert SECRET not in page.content()
    row.get_by_role("button", name="Test-fire").click()
    test = page.get_by_role("dialog", name=f"Test of {CHANNEL}")
    test.get_by_role("button", name="Send the test").click()
    expect(test.get_by_role("status")).to_contain_text("Every channel took it.")
    assert receiver.events() == ["test"]
    assert receiver.signatures[0].startswith("t=")


def test_a_rule_fires_is_silenced_and_is_history_when_all_is_well(
    behind: Console, open_page: OpenPage, receiver: Receiver
) -> None:
    page = open_page(f"/clusters/{LOCAL}/alerts?tab=rules")
    page.get_by_role("button", name="New rule").click()
    form = page.get_by_role("dialog", name="New rule")
    form.get_by_label("Name").fill(RULE)
    form.get_by_label("Threshold").fill("5")
    form.get_by_label("Groups, dead-letter topics or brokers").fill(GROUP)
    form.get_by_label("Has held for (s)").fill("0")
    form.get_by_role("combobox", name="Tell").click()
    page.get_by_role("option", name=CHANNEL).click()
    page.keyboard.press("Tab")
    check_accessible(page)
    shoot(page, "alerts-rule")
    form.get_by_role("button", name="Create").click()
    rule = page.get_by_role("table", name="Rules").locator("tbody tr[data-at]").filter(has_text=RULE)
    expect(rule).to_contain_text("behind by more than 5 messages")
    shoot(page, "alerts-rules")
    rule.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Test-fire").click()
    page.get_by_role("dialog").get_by_role("button", name="Send the test").click()
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("Every channel took it.")
    page.keyboard.press("Escape")

    page.get_by_role("tab", name="Open").click()
    alert = page.get_by_role("table", name="Open alerts").locator("tbody tr[data-at]").filter(has_text=GROUP)
    expect(alert).to_contain_text("firing", timeout=PERIOD_MS)
    until(lambda: "firing" in receiver.events(), "the channel is told", 60)
    expect(alert.locator("time")).not_to_contain_text("in ")
    check_accessible(page)
    shoot(page, "alerts")
    alert.get_by_role("button", name="Silence").click()
    silence = page.get_by_role("dialog", name="New silence")
    expect(silence.get_by_label("Groups, dead-letter topics or brokers")).to_have_value(GROUP)
    expect(silence.get_by_role("button", name="Create")).to_be_disabled()
    silence.get_by_label("Reason").fill("the sorter is being oiled")
    check_accessible(page)
    shoot(page, "alerts-silence")
    silence.get_by_role("button", name="Create").click()
    expect(silence).to_be_hidden()

    with behind.consuming(GROUP, TOPIC):
        expect(alert).to_have_count(0, timeout=PERIOD_MS)
    page.get_by_role("tab", name="History").click()
    was = page.get_by_role("table", name="Alerts that were resolved").locator("tbody tr[data-at]")
    expect(was.filter(has_text=GROUP)).to_contain_text(RULE)
    check_accessible(page)
    shoot(page, "alerts-history")
    page.get_by_role("tab", name="Deliveries").click()
    told = page.get_by_role("table", name="What channels were told").locator("tbody tr[data-at]")
    expect(told.filter(has_text="firing")).to_contain_text("sent")
    # Told once that it fires; that it is over was not told: by then it was silenced.
    assert [event for event in receiver.events() if event != "test"] == ["firing"]
    shoot(page, "alerts-deliveries")


def test_a_silence_is_ended_in_chinese_in_the_dark(behind: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/{LOCAL}/alerts?tab=silences", size=NARROW, dark=True, language="zh")
    row = page.get_by_role("table").first.locator("tbody tr[data-at]").filter(has_text="oiled")
    expect(row).to_contain_text("生效中")
    check_accessible(page)
    shoot(page, "alerts-silences-dark-zh-narrow")
    row.get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("button").last.click()
    expect(row).to_contain_text("已结束")


def test_a_viewer_sees_alerts_and_no_way_to_silence_them(behind: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/{LOCAL}/alerts?tab=rules", user=behind.viewer())
    rule = page.get_by_role("table", name="Rules").locator("tbody tr[data-at]").filter(has_text=RULE)
    expect(rule).to_be_visible()
    expect(page.get_by_role("button", name="New rule")).to_have_count(0)
    expect(rule.get_by_role("button")).to_have_count(0)
