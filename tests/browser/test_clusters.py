"""A cluster from the wizard to its map: made, watched, killed and healed."""

from __future__ import annotations

import os
import re
import signal
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import LOCAL, Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = pytest.mark.timeout(300)

OPERATION_MS = 120_000
HEAL_MS = 60_000


def health(page: Page) -> Any:
    return page.locator("header [data-state]").first


def test_the_wizard_shows_its_plan_and_makes_a_healthy_cluster(console: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/new")
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.get_by_label("Name", exact=False).first.fill("payments")
    page.get_by_label("Slaves of each group").fill("1")
    check_accessible(page)
    shoot(page, "new-cluster-shape")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Nothing that was acknowledged is lost")).to_be_visible()
    expect(page.get_by_role("radio", name=re.compile("^Administration only"))).to_be_checked()
    expect(page.get_by_text("applications and reads need no credentials")).to_be_visible()
    check_accessible(page)
    shoot(page, "new-cluster-profile")
    page.get_by_role("radio", name=re.compile("^Fast")).click()
    page.get_by_role("button", name="More settings").click()
    page.get_by_role("combobox", name="Size of a commit log file").click()
    page.get_by_role("option", name=re.compile("16 MB")).click()
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("each on a host of its own")).to_be_visible()
    page.get_by_label("Members of a group may share a host").check()
    check_accessible(page)
    page.get_by_role("button", name="Next").click()
    plan = page.get_by_role("region", name="This is what will be done")
    expect(plan.get_by_text("Start broker-a-1 on local as a slave.")).to_be_visible()
    assert "payments" not in {row["name"] for row in console.rest.get("clusters/")["results"]}, "only planned"
    check_accessible(page)
    shoot(page, "new-cluster-plan")
    page.get_by_role("button", name="Create the cluster").click()

    expect(page).to_have_url(re.compile("/operations/"))
    expect(page.get_by_role("heading", name="Create the cluster payments")).to_be_visible()
    expect(health(page)).to_have_attribute("data-state", "succeeded", timeout=OPERATION_MS)
    expect(page.get_by_role("log").get_by_text(re.compile("broker-a-0")).first).to_be_visible()
    check_accessible(page)
    shoot(page, "operation")
    page.get_by_role("navigation", name="Where you are").get_by_role("link", name="payments").click()
    expect(health(page)).to_have_attribute("data-state", "ok", timeout=HEAL_MS)
    expect(page.locator("[data-member='broker-a-1']")).to_contain_text("in sync")
    assert console.rest.get("clusters/payments/")["access_control"] == "administration"


def test_access_control_is_changed_with_a_preview(console: Console, open_page: OpenPage) -> None:
    page = open_page("/clusters/local")
    page.get_by_role("button", name="Change").click()
    page.get_by_role("menuitem", name="Access control").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("radio", name=re.compile("^Administration only"))).to_be_checked()
    dialog.get_by_role("radio", name=re.compile("^Off")).click()
    check_accessible(page)
    shoot(page, "access-control")
    dialog.get_by_role("button", name=re.compile("[Pp]review|plan")).first.click()
    expect(dialog.get_by_text("Any process that reaches the ports may change or destroy")).to_be_visible()
    expect(dialog.get_by_text("Restart name servers, each once all brokers are registered")).to_be_visible()
    shoot(page, "access-control-plan")
    assert console.rest.get("clusters/local/")["access_control"] == "administration", "only planned"
    chinese = open_page("/clusters/new?name=payments&step=2", language="zh", size=NARROW)
    expect(chinese.get_by_text("变更需要管理员签名；应用和读取无需凭据。")).to_be_visible()
    shoot(chinese, "new-cluster-profile-zh-narrow")


def test_what_the_plan_refuses_leads_back_to_where_it_can_be_mended(
    open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(409)
    page = open_page("/clusters/new?name=lonely&slaves=0&profile=safe&step=4")
    expect(page.get_by_role("alert")).to_contain_text("must be in sync before a write is taken")
    expect(page.get_by_role("button", name="Create the cluster")).to_be_disabled()
    page.get_by_role("button", name="Back: Name and shape").click()
    expect(page.get_by_label("Slaves of each group")).to_be_visible()


def test_the_map_shows_who_sends_and_who_reads_live(console: Console, open_page: OpenPage) -> None:
    topic = console.topic("map-orders")
    group = console.group("map-billing")
    console.send(topic, *(f"order {number}" for number in range(20)))
    routing = console.path(f"routing/?search={topic}")
    console.seen(
        routing, lambda body: body["results"] and body["results"][0]["senders"], "its sender is known"
    )
    with console.consuming(group, topic):
        page = open_page(f"/clusters/{LOCAL}?search={topic}")
        node = page.locator(f"[data-node='topic:{topic}']")
        expect(node).to_be_visible()
        expect(page.locator(f"[data-node='group:{group}']")).to_be_visible(timeout=60_000)
        expect(page.locator("[data-node='producer:shops']")).to_be_visible()
        expect(page.locator(f"[data-id='producer:shops→topic:{topic}']")).to_be_attached()
        node.click()
        details = page.get_by_role("complementary", name="Details")
        expect(details.get_by_role("link", name=group)).to_be_visible()
        expect(page).to_have_url(re.compile("node=topic"))
        check_accessible(page)
        shoot(page, "cluster-node")
        page.keyboard.press("Escape")
        page.goto(f"/clusters/{LOCAL}?search={group}")
        expect(page.locator(f"[data-node='topic:{topic}']")).to_be_visible()
        page.goto(f"/clusters/{LOCAL}")
        expect(page.locator("[data-node='broker:broker-a']")).to_be_visible()
        check_accessible(page)
        shoot(page, "cluster")


def test_a_killed_broker_turns_red_and_heals(console: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/{LOCAL}")
    expect(health(page)).to_have_attribute("data-state", "ok", timeout=HEAL_MS)
    brokers = console.rest.get(console.path("brokers/"))["results"]
    victim = next(each for each in brokers if each["is_master"])
    os.kill(victim["process"]["pid"], signal.SIGKILL)
    member = page.locator(f"[data-member='{victim['label']}']")
    expect(member).to_have_attribute("data-reachable", "false", timeout=HEAL_MS)
    expect(health(page)).to_have_attribute("data-state", re.compile("down|degraded"))
    shoot(page, "cluster-broker-down", settled=False)
    expect(member).to_have_attribute("data-reachable", "true", timeout=HEAL_MS)
    expect(health(page)).to_have_attribute("data-state", "ok", timeout=HEAL_MS)
    after = next(
        each
        for each in console.rest.get(console.path("brokers/"))["results"]
        if each["label"] == victim["label"]
    )
    assert after["process"]["pid"] != victim["process"]["pid"], "another process answers now"


def test_a_viewer_sees_no_write_buttons_and_is_refused_anyway(
    console: Console, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(403)
    name = console.viewer()
    page = open_page(f"/clusters/{LOCAL}", user=name)
    expect(health(page)).to_be_visible()
    expect(page.get_by_role("button", name="Change")).to_have_count(0)
    page.goto("/clusters/new")
    expect(page.get_by_text("Only administrators make clusters")).to_be_visible()
    status = page.evaluate(
        """async (path) => {
            const token = document.cookie.match(/csrftoken=([^;]+)/)[1];
            const headers = { 'X-CSRFToken': token, 'Content-Type': 'application/json' };
            return (await fetch(path, { method: 'POST', headers, body: '{}' })).status;
        }""",
        f"/api/v1/clusters/{LOCAL}/restart/",
    )
    assert status == 403


@pytest.mark.nightly
def test_in_chinese_in_the_dark_and_on_a_narrow_window(open_page: OpenPage) -> None:
    page = open_page(f"/clusters/{LOCAL}", language="zh", dark=True)
    expect(page.get_by_text("Broker 组").first).to_be_visible()
    check_accessible(page)
    shoot(page, "cluster-dark-zh")
    page = open_page(f"/clusters/{LOCAL}?view=table", size=NARROW)
    expect(page.get_by_role("tab", name="Map")).to_be_visible()
    check_accessible(page)
    shoot(page, "cluster-narrow")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "nothing sticks out"


def test_deleting_asks_for_the_name(console: Console, open_page: OpenPage) -> None:
    page = open_page(f"/clusters/{LOCAL}")
    page.get_by_role("button", name="Change").click()
    page.get_by_role("menuitem", name="Delete").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("Keep its layout, topics, groups and offsets for a restore.")).to_be_visible()
    button = dialog.get_by_role("button", name="Delete the cluster")
    expect(button).to_be_disabled()
    dialog.get_by_label(f"Type {LOCAL} to confirm").fill(LOCAL)
    expect(button).to_be_enabled()
    check_accessible(page)
    shoot(page, "cluster-delete")
    dialog.get_by_role("button", name="Back").click()
    assert console.rest.get(console.path())["deleted_at"] is None
