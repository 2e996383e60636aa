"""Profile, tokens, people and roles."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch
from tests.e2e.running import Rest

pytestmark = pytest.mark.timeout(300)


def test_a_profile_says_what_one_may(console: Console, open_page: OpenPage) -> None:
    name = console.person("petra", ("operator", "prod-*", "orders-*"), ("viewer", "*", "*"))
    page = open_page("/settings", user=name)
    rights = page.get_by_role("region", name="What you may do")
    expect(rights.get_by_role("row").filter(has_text="prod-*")).to_contain_text("operator")
    expect(page.get_by_role("tab", name="People and roles")).to_have_count(0)
    check_accessible(page)
    shoot(page, "settings-profile")


def test_a_token_is_made_shown_once_used_and_revoked(
    console: Console, open_page: OpenPage, watch: Watch
) -> None:
    page = open_page("/settings?tab=tokens")
    page.get_by_role("button", name="New token").click()
    page.get_by_label("Name").fill("nightly-report")
    page.get_by_label("Days until it ends").fill("30")
    page.get_by_role("button", name="Make the token").click()
    shown = page.get_by_role("region", name="Your new token")
    expect(shown).to_have_text(re.compile(r"^sbx_\w+"))
    check_accessible(page)
    shoot(page, "settings-token-once")
    secret = shown.inner_text().strip()
    status = page.request.get("/api/v1/fleet/", headers={"Authorization": f"Bearer {secret}"}).status
    assert status == 200
    page.get_by_role("button", name="Close").last.click()
    row = page.get_by_role("row").filter(has_text="nightly-report")
    expect(row.get_by_text("active")).to_be_visible()
    check_accessible(page)
    shoot(page, "settings-tokens")
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row.get_by_text("revoked")).to_be_visible()
    stranger = Rest(console.rest.address)
    assert stranger.call("GET", "fleet/")[0] == 401
    refused = page.context.browser.new_context(base_url=console.address)  # type: ignore[union-attr]
    answer = refused.request.get("/api/v1/fleet/", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status == 401
    refused.close()


@pytest.mark.nightly
def test_a_person_is_made_gets_roles_and_is_deactivated(
    console: Console, open_page: OpenPage, watch: Watch
) -> None:
    page = open_page("/settings?tab=users")
    page.get_by_role("button", name="New person").click()
    dialog = page.get_by_role("dialog", name="New person")
    dialog.get_by_label("User name").fill("nina")
    dialog.get_by_label("Team").fill("payments")
    dialog.get_by_label("Topics and groups").fill("pay-*")
    dialog.get_by_role("button", name="Create").click()
    password = page.get_by_role("region", name="Password of nina").inner_text().strip()
    session = Rest(console.rest.address)
    session.sign_in("nina", password)
    page.get_by_role("button", name="Close").last.click()
    page.get_by_role("button", name="nina").click()
    drawer = page.get_by_role("dialog", name="nina")
    drawer.get_by_label("Clusters").fill("test-*")
    drawer.get_by_role("button", name="Bind").click()
    expect(drawer.get_by_role("row").filter(has_text="test-*")).to_be_visible()
    check_accessible(page)
    shoot(page, "settings-person")
    assert {"role": "viewer", "clusters": "test-*"}.items() <= session.get("session/")["grants"][-1].items()
    drawer.get_by_role("button", name="Take viewer on test-* away").click()
    asked = page.get_by_role("dialog", name="Take this role away?")
    expect(asked).to_contain_text("nina is no longer viewer on the clusters test-*")
    asked.get_by_role("button", name="Cancel").click()
    expect(asked).to_be_hidden()
    assert session.get("session/")["grants"][-1]["clusters"] == "test-*", "asking takes nothing away"
    drawer.get_by_role("button", name="Take viewer on test-* away").click()
    asked.get_by_role("button", name="Take it away").click()
    expect(drawer.get_by_role("row").filter(has_text="test-*")).to_have_count(0)
    assert "test-*" not in [grant["clusters"] for grant in session.get("session/")["grants"]]
    drawer.get_by_role("button", name="Deactivate").click()
    confirm = page.get_by_role("dialog", name="Deactivate nina?")
    button = confirm.get_by_role("button", name="Deactivate")
    expect(button).to_be_disabled()
    confirm.get_by_label("Type nina to confirm").fill("nina")
    button.click()
    expect(drawer.get_by_text("deactivated")).to_be_visible()
    assert session.get("session/")["is_signed_in"] is False


def test_mistakes_are_told_at_their_field(open_page: OpenPage, watch: Watch) -> None:
    watch.allow(400, 409)
    page = open_page("/settings?tab=users", language="zh", dark=True, size=NARROW)
    page.get_by_role("button", name="新建用户").click()
    dialog = page.get_by_role("dialog", name="新建用户")
    dialog.get_by_label("用户名").fill("<img src=x onerror=alert(1)>")
    dialog.get_by_role("button", name="创建").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    check_accessible(page)
    shoot(page, "settings-new-person-dark-zh-narrow")


def test_people_are_listed_for_administrators_alone(console: Console, open_page: OpenPage) -> None:
    page = open_page("/settings?tab=users")
    expect(page.get_by_role("row").filter(has_text="admin")).to_be_visible()
    check_accessible(page)
    shoot(page, "settings-people")
    viewer = open_page("/settings?tab=users", user=console.viewer())
    expect(viewer.get_by_role("tab", name="Profile")).to_have_attribute("aria-selected", "true")
    expect(viewer.get_by_role("button", name="New person")).to_have_count(0)
