"""A cluster's whole life from its page: grown, promoted, upgraded, shrunk, deleted, restored; another one
attached and detached (make nightly)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot
from tests.engine.client.servers import start_broker, start_name_server

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

NAME, NEXT = "changing", "next"
OPERATION_MS, HEAL_MS = 180_000, 90_000
WISH = {
    "name": NAME,
    "groups": 1,
    "slaves": 1,
    "profile": "fast",
    "allow_same_host": True,
    "overrides": {"mappedFileSizeCommitLog": "16777216"},
}


@pytest.fixture(scope="module")
def changing(console: Console) -> Console:
    """A cluster of a master and a slave with a few messages in it, and a second release on the host."""
    console.rest.finish(console.rest.post("clusters/", WISH))
    console.topic("kept", 2, NAME)
    console.group("readers", NAME)
    [host] = console.rest.get("hosts/")["results"]
    releases = console.platform.data / "hosts" / host["name"] / "releases"
    releases.mkdir(parents=True, exist_ok=True)
    (releases / NEXT).symlink_to(Path(sys.executable).parents[1])
    return console


def change(page: Page, item: str) -> Locator:
    page.goto(f"/clusters/{NAME}")
    page.get_by_role("button", name="Change").click()
    page.get_by_role("menuitem", name=item, exact=True).click()
    return page.get_by_role("dialog")


def carry_out(
    page: Page, dialog: Locator, button: str, said: str | re.Pattern[str], *, has_form: bool = True
) -> None:
    """Plan, then the operation to its end."""
    if has_form:
        dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text(said).first).to_be_visible()
    check_accessible(page)
    dialog.get_by_role("button", name=button, exact=True).click()
    expect(page).to_have_url(re.compile("/operations/"))
    state = page.locator("header [data-state]").first
    expect(state).to_have_attribute("data-state", "succeeded", timeout=OPERATION_MS)


def masters(console: Console) -> dict[str, str]:
    rows = console.rest.get(console.path("brokers/", NAME))["results"]
    return {row["broker_name"]: row["label"] for row in rows if row["is_master"]}


def test_it_grows_by_a_group(changing: Console, open_page: OpenPage) -> None:
    page = open_page("/")
    dialog = change(page, "Grow")
    dialog.get_by_label("Slaves of each new group").fill("0")
    shoot(page, "cluster-grow")
    carry_out(page, dialog, "Grow", re.compile("broker-b-0"))
    page.goto(f"/clusters/{NAME}")
    expect(page.locator("[data-member='broker-b-0']")).to_be_visible(timeout=HEAL_MS)
    assert set(masters(changing)) == {"broker-a", "broker-b"}


def test_a_slave_is_promoted(changing: Console, open_page: OpenPage) -> None:
    page = open_page("/")
    before = masters(changing)["broker-a"]
    changing.seen(
        changing.path("brokers/", NAME),
        lambda page: all((row["live"] or {}).get("is_reachable") for row in page["results"]),
        "all members answer",
        90,
    )
    dialog = change(page, "Promote a slave")
    carry_out(page, dialog, "Promote", re.compile("the slave with the longest log"))
    changing.seen(
        changing.path("brokers/", NAME),
        lambda page: any(
            row["is_master"] and row["broker_name"] == "broker-a" and row["label"] != before
            for row in page["results"]
        ),
        "the other member is master",
        60,
    )


def test_it_is_upgraded_in_turn(changing: Console, open_page: OpenPage) -> None:
    page = open_page("/")
    dialog = change(page, "Upgrade")
    dialog.get_by_label("Release").fill(NEXT)
    shoot(page, "cluster-upgrade")
    carry_out(page, dialog, "Upgrade", re.compile(NEXT))
    assert changing.rest.get(changing.path("", NAME))["release"] == NEXT


def test_a_group_that_was_read_goes(changing: Console, open_page: OpenPage) -> None:
    page = open_page("/")
    dialog = change(page, "Shrink")
    dialog.get_by_role("combobox", name="What goes").click()
    page.get_by_role("option", name="The broker group broker-b").click()
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_label("Type broker-b to confirm").fill("broker-b")
    shoot(page, "cluster-shrink")
    dialog.get_by_role("button", name="Remove", exact=True).click()
    expect(page).to_have_url(re.compile("/operations/"))
    state = page.locator("header [data-state]").first
    expect(state).to_have_attribute("data-state", "succeeded", timeout=OPERATION_MS)
    assert set(masters(changing)) == {"broker-a"}


def test_it_is_deleted_and_restored_with_its_messages(changing: Console, open_page: OpenPage) -> None:
    changing.send("kept", "one", "two", cluster=NAME)
    page = open_page("/")
    dialog = change(page, "Delete")
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_label(f"Type {NAME} to confirm").fill(NAME)
    dialog.get_by_role("button", name="Delete the cluster").click()
    expect(page).to_have_url(re.compile("/operations/"))
    state = page.locator("header [data-state]").first
    expect(state).to_have_attribute("data-state", "succeeded", timeout=OPERATION_MS)
    page.goto("/clusters/new?way=restore")
    row = page.get_by_role("row").filter(has_text=NAME)
    expect(row).to_be_visible()
    check_accessible(page)
    shoot(page, "cluster-restore")
    row.get_by_role("button", name="Restore").click()
    carry_out(page, page.get_by_role("dialog"), "Restore", re.compile("Bring back"), has_form=False)
    changing.seen(
        changing.path("topics/kept/", NAME),
        lambda topic: topic["messages"] == "2",
        "both messages are back",
        90,
    )


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[str]:
    """A name server and a broker that somebody else runs."""
    server = start_name_server(tmp_path)
    try:
        broker = start_broker(tmp_path, server.address)
        try:
            yield server.address
        finally:
            broker.stop()
    finally:
        server.stop()


def test_a_cluster_is_attached_and_detached(console: Console, foreign: str, open_page: OpenPage) -> None:
    page = open_page("/clusters/new?way=attach")
    page.get_by_label("Name", exact=False).first.fill("foreign")
    page.get_by_label("Name servers", exact=False).first.fill(foreign)
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("region", name="This is what was found")).to_be_visible()
    check_accessible(page)
    shoot(page, "cluster-attach")
    page.get_by_role("button", name="Attach", exact=True).click()
    expect(page).to_have_url(re.compile("/clusters/foreign"))
    expect(page.locator("header [data-state='ok']").first).to_be_visible(timeout=HEAL_MS)
    page.get_by_role("button", name="Change").click()
    page.get_by_role("menuitem", name="Detach").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Type foreign to confirm").fill("foreign")
    dialog.get_by_role("button", name="Detach").click()
    expect(page.get_by_text("foreign is detached")).to_be_visible()
    assert "foreign" not in {row["name"] for row in console.rest.get("clusters/")["results"]}
