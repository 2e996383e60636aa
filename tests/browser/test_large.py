"""10,000 topics and 5,000 groups on real brokers: the first paint, scrolling, and what is asked for
(make nightly)."""

from __future__ import annotations

from statistics import median

import pytest
from playwright.sync_api import Page, expect

from engine.client import blocking
from engine.protocol.bodies.groups import SubscriptionGroupConfig
from engine.protocol.bodies.topics import TopicConfig
from engine.protocol.signing import Credentials
from tests.browser.conftest import OpenPage
from tests.browser.running import Console
from tests.browser.screens import shoot
from tests.browser.watching import Watch

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]

TOPICS, GROUPS, SLICE = 10_000, 5_000, 1_000
PAINT_MS, LOOKS = 1_000, 5
FIRST_ROW = """async (name) => {
    for (;;) {
        const rows = [...document.querySelectorAll('tbody tr[data-at]')];
        const row = rows.find((row) => row.textContent.includes(name));
        if (row && row.getBoundingClientRect().height > 0) return performance.now();
        await new Promise((done) => requestAnimationFrame(done));
    }
}"""
SCROLL = """async () => {
    const scroller = document.querySelector('table[aria-rowcount]').parentElement;
    const box = scroller.getBoundingClientRect();
    const blank = [], seen = new Set();
    for (let top = 0; top < scroller.scrollHeight - scroller.clientHeight; top += 400) {
        scroller.scrollTop = top;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        for (let y = box.top + 60; y < box.bottom - 30; y += 36) {
            const row = document.elementFromPoint(box.left + 120, y)?.closest('tr[data-at]');
            if (row && row.textContent.trim()) seen.add(row.dataset.at);
            else blank.push(Math.round(top + y));
        }
    }
    return { blank, seen: seen.size };
}"""


def fill(namesrv: str, brokers: list[str], who: Credentials) -> None:
    with blocking.Admin(namesrv=namesrv, timeout_ms=60_000, credentials=who) as admin:
        for broker in brokers:
            for start in range(0, TOPICS, SLICE):
                names = [f"large-{number:05}" for number in range(start, start + SLICE)]
                admin.topics.create_many(broker, [TopicConfig(name, 1, 1) for name in names])
            groups = [SubscriptionGroupConfig(f"large-readers-{number:05}") for number in range(GROUPS)]
            admin.groups.create_many(broker, groups)


@pytest.fixture(scope="module")
def large(console: Console) -> Console:
    rows = console.rest.get(console.path("brokers/"))
    masters = [row["address"] for row in rows["results"] if row["is_master"]]
    fill(console.namesrv(), masters, console.administrator())
    for kind, count in (("topics", TOPICS), ("groups", GROUPS)):
        console.seen(
            console.path(f"{kind}/?page_size=1"), lambda page, n=count: page["count"] >= n, kind, 120
        )
    return console


def first_paint_ms(page: Page, name: str) -> float:
    """From the beginning of the navigation until a row of the list has a height."""
    return float(page.evaluate(FIRST_ROW, name))


@pytest.mark.parametrize(
    ("kind", "first"),
    [("topics", "large-00000"), ("groups", "large-readers-00000")],
    ids=["topics", "groups"],
)
def test_a_large_list_is_painted_at_once_and_scrolls_without_blanks(
    large: Console, open_page: OpenPage, watch: Watch, kind: str, first: str
) -> None:
    address = f"/clusters/local/{kind}?sort=name&search=large"
    took = []
    for _ in range(LOOKS):
        page = open_page(address)
        took.append(first_paint_ms(page, first))
        # One that stays open is drawn again and again beside the next.
        page.context.close()
    print(f"{kind}: first row after {sorted(map(round, took))} ms")
    lists = [each for each in watch.requests if f"/{kind}/" in each]
    assert len(lists) == LOOKS, "one request per page, none per row"
    page = open_page(f"{address}&size=500")
    print(f"{kind}: first of 500 rows after {round(first_paint_ms(page, first))} ms")
    before = len(watch.requests)
    scrolled = page.evaluate(SCROLL)
    assert not scrolled["blank"] and scrolled["seen"] >= 490, scrolled
    asked = [each for each in watch.requests[before:] if f"/{kind}/" in each]
    assert len(asked) <= 1, f"{asked}: scrolling asks for nothing but the read of every 15 s"
    shoot(page, f"large-{kind}")
    expect(page.get_by_text("10,000" if kind == "topics" else "5,000").first).to_be_visible()
    assert median(took) < PAINT_MS, took
