"""Messages: searched, traced, masked, and whatever strangers write into them."""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from engine.client import Message
from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = pytest.mark.timeout(300)

TOPIC, ODD, CARDS, GROUP = "parcels", "odd-parcels", "card-payments", "parcel-labels"
MARKUP = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
HUGE = "a line of a very long text, " * 150_000


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(
        b"\0" + bytes(value % 256 for x in range(96) for value in (x * 2, y * 5, 140)) for y in range(48)
    )
    head = struct.pack(">IIBBBBB", 96, 48, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


@pytest.fixture(scope="module")
def parcels(console: Console) -> Iterator[Console]:
    for topic in (TOPIC, ODD, CARDS):
        console.topic(topic)
    made = [
        Message(
            TOPIC,
            b'{"parcel": %d, "weight": 9007199254740993, "to": "Ann <b>Smith</b>"}' % number,
            tags="heavy" if number % 3 == 0 else "light",
            keys=[f"parcel-{number}"],
            properties={"depot": str(number % 5), "grams": str(number * 100)},
        )
        for number in range(40)
    ]
    console.send(TOPIC, *made, trace=True)
    console.send(
        ODD,
        Message(
            ODD, MARKUP.encode(), tags="<b>tag</b>", keys=["<i>key</i>"], properties={"<u>p</u>": "<s>v</s>"}
        ),
        Message(ODD, "bell \x07 escape \x1b[31m turned \u202e round".encode(), keys=["control"]),
        Message(ODD, b"\xff\xfe not \xc3 UTF-8", keys=["invalid"]),
        Message(ODD, HUGE[: 4 * 1024 * 1024 - 4096].encode(), keys=["huge"]),
        Message(ODD, png(), keys=["image"]),
    )
    console.send(CARDS, Message(CARDS, b'{"card": {"number": "4111-2222"}, "amount": 12}', keys=["card-1"]))
    rule = {"topic_pattern": CARDS, "json_paths": ["card.number"], "up_to_role": "operator"}
    console.rest.post(console.path("masking/"), rule | {"reveal_role": "operator"})
    yield console


def open_found(page: Page, topic: str, key: str, tab: str = "body") -> None:
    """From the list to the message, as a person goes."""
    page.goto(f"/clusters/local/messages?by=key&topic={topic}&key={key}")
    page.get_by_role("table", name="Messages found").locator("tbody tr[data-at]").first.click()
    expect(page.get_by_role("heading", name="Message", exact=True)).to_be_visible()
    if tab != "body":
        page.get_by_role("tab", name=tab).click()


def was_hacked(page: Page) -> bool:
    return bool(page.evaluate("'hacked' in window"))


def test_a_search_says_how_far_it_looked(parcels: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/local/messages?topic={TOPIC}&sql=grams%20%3E%203000")
    rows = page.get_by_role("table", name="Messages found").locator("tbody tr[data-at]")
    expect(rows).to_have_count(9)
    expect(page.get_by_text("everything was looked at")).to_be_visible()
    check_accessible(page)
    shoot(page, "messages-search")


def test_a_wrong_expression_is_no_disaster_in_chinese_and_dark(
    parcels: Console, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(400)
    page = open_page(f"/clusters/local/messages?topic={TOPIC}&sql=grams%20%3E", language="zh", dark=True)
    expect(page.get_by_role("alert")).to_contain_text("sql")
    page.get_by_label("SQL92").fill("grams > 3000")
    page.get_by_role("button", name="查询", exact=True).click()
    expect(page.get_by_text("已全部查看")).to_be_visible()
    check_accessible(page)
    shoot(page, "messages-search-dark-zh")


def test_a_search_in_the_background_shows_its_progress_and_results(
    parcels: Console, open_page: OpenPage
) -> None:
    page = open_page(f"/clusters/local/messages?topic={TOPIC}&tag=heavy")
    page.get_by_role("button", name="Search in the background").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Look at most at").fill("10")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("can be continued")).to_be_visible()
    dialog.get_by_role("button", name="Start the search").click()
    expect(page.get_by_text("stopped: looked at as many as it may")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.get_by_text("everything was looked at")).to_be_visible(timeout=60_000)
    results = page.get_by_role("table", name="Results")
    expect(results.locator("tbody tr[data-at]")).to_have_count(14)
    check_accessible(page)
    shoot(page, "messages-job")


def test_a_trace_tells_sending_storing_and_every_try(parcels: Console, open_page: OpenPage) -> None:
    tried, failed = threading.Event(), threading.Event()

    def listen(message: object) -> None:
        if not failed.is_set():
            failed.set()
            raise ValueError("the printer is out of paper")
        tried.set()

    topic = parcels.topic("traced-parcels", 1)
    [msg_id] = parcels.send(topic, Message(topic, b"label", keys=["traced-1"]), trace=True)
    with parcels.consuming(GROUP, topic, listener=listen, trace=True):
        assert tried.wait(60)
    parcels.seen(
        parcels.path(f"messages/{msg_id}/trace/?topic={topic}"),
        lambda story: sum(event["kind"] == "try" for event in story["events"]) == 2,
        "both tries are traced",
        60,
    )
    page = open_page("/clusters/local")
    open_found(page, topic, "traced-1", "Trace")
    events = page.get_by_role("list").filter(has_text="Consumed").first.get_by_role("listitem")
    expect(events.filter(has_text="Sent")).to_have_count(1)
    expect(events.filter(has_text="Stored")).to_have_count(1)
    expect(events.filter(has_text="Waited")).to_have_count(1)
    expect(events.filter(has_text=f"{GROUP} try 1 · EXCEPTION")).to_have_count(1)
    expect(events.filter(has_text=f"{GROUP} try 2 · SUCCESS")).to_have_count(1)
    check_accessible(page)
    shoot(page, "message-trace")


def test_what_is_masked_is_revealed_with_a_reason(
    parcels: Console, open_page: OpenPage, watch: Watch
) -> None:
    page = open_page("/clusters/local", user=parcels.operator())
    open_found(page, CARDS, "card-1")
    body = page.get_by_role("region", name="Body of the message")
    expect(body).to_contain_text("•••")
    expect(body).not_to_contain_text("4111-2222")
    page.get_by_role("button", name="Reveal").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Reveal")).to_be_disabled()
    dialog.get_by_label("Reason").fill("ticket 4711")
    check_accessible(page)
    shoot(page, "message-reveal")
    dialog.get_by_role("button", name="Reveal").click()
    expect(body).to_contain_text("4111-2222")
    rows = parcels.rest.get("audit/?action=message.reveal")["results"]
    assert [row["details"]["reason"] for row in rows] == ["ticket 4711"]


def test_markup_is_text_wherever_it_stands(parcels: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/local/messages?topic={ODD}")
    table = page.get_by_role("table", name="Messages found")
    expect(table).to_contain_text("<b>tag</b>")
    expect(table).to_contain_text("<i>key</i>")
    check_accessible(page)
    shoot(page, "messages-odd")
    table.locator("tbody tr[data-at]").filter(has_text="<i>key</i>").click()
    expect(page.get_by_role("region", name="Body of the message")).to_have_text(MARKUP)
    page.get_by_role("tab", name="Properties").click()
    expect(page.get_by_text("<s>v</s>")).to_be_visible()
    assert page.locator("main script, main img[src=x], main b:text-is('tag')").count() == 0
    assert not was_hacked(page)


def test_bytes_that_are_no_text_are_shown_as_what_they_are(parcels: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local")
    body = page.get_by_role("region", name="Body of the message")
    open_found(page, ODD, "invalid")
    page.get_by_text("Text", exact=True).click()
    expect(body).to_have_text("⟨FF⟩⟨FE⟩ not ⟨C3⟩ UTF-8")
    open_found(page, ODD, "control")
    expect(body).to_have_text("bell ␇ escape ␛[31m turned ⟨202E⟩ round")
    page.get_by_text("Hex", exact=True).click()
    expect(page.get_by_role("region", name="Body in hexadecimal")).to_contain_text("62 65 6c 6c 20 07")
    open_found(page, ODD, "image")
    expect(page.get_by_alt_text("The body as an image")).to_be_visible()
    check_accessible(page)
    shoot(page, "message-image")


def test_four_megabytes_are_cut_and_can_be_downloaded(parcels: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local", size=NARROW, dark=True)
    open_found(page, ODD, "huge")
    expect(page.get_by_text("The first 64 KB of 4 MB are shown.")).to_be_visible()
    shown = page.get_by_role("region", name="Body of the message").inner_text()
    assert len(shown) <= 64 * 1024
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all of it").click()
    assert download.value.path().stat().st_size == len(HUGE[: 4 * 1024 * 1024 - 4096])
    check_accessible(page)
    shoot(page, "message-huge-dark-narrow")


def test_a_viewer_sends_nothing_and_the_api_refuses_anyway(
    parcels: Console, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(403)
    page = open_page(f"/clusters/local/messages?topic={TOPIC}", user=parcels.viewer())
    expect(page.get_by_role("tab", name="Live tail")).to_be_visible()
    expect(page.get_by_role("tab", name="Send")).to_have_count(0)
    status = page.evaluate(
        """async (topic) => (await fetch("/api/v1/clusters/local/messages/", {
            method: "POST", body: JSON.stringify({topic, body: "x"}),
            headers: {"Content-Type": "application/json",
                      "X-CSRFToken": /csrftoken=([^;]+)/.exec(document.cookie)[1]},
        })).status""",
        TOPIC,
    )
    assert status == 403
