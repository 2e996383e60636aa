"""Access control: users, policies, and whether somebody may do something, with the rule that decides."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = pytest.mark.timeout(300)

CLUSTER = "guarded"
HERE = f"/clusters/{CLUSTER}/acl"


@pytest.fixture(scope="module")
def guarded(console: Console) -> Console:
    """A cluster whose brokers check who signs, made by the console."""
    wish = {
        "name": CLUSTER,
        "name_servers": 1,
        "groups": 1,
        "slaves": 1,
        "profile": "safe",
        "overrides": {"mappedFileSizeCommitLog": "16777216"},
        "allow_same_host": True,
    }
    console.rest.finish(console.rest.post("clusters/", wish))
    console.rest.post(console.path("acl/users/", CLUSTER), {"name": "alice"})
    policies = [
        {"resource": "Topic:order*", "actions": ["Pub", "Sub"]},
        {"resource": "Topic:orders-secret", "actions": ["Pub"], "decision": "Deny"},
        {"resource": "Group:billing", "actions": ["Sub"], "source_ips": ["10.0.0.0/8"]},
    ]
    console.rest.put(console.path("acl/users/alice/policies/", CLUSTER), {"policies": policies})
    return console


def test_may_a_user_publish_from_an_address_is_explained(guarded: Console, open_page: OpenPage) -> None:
    page = open_page(f"{HERE}?tab=explain")
    page.get_by_role("combobox", name="User").fill("alice")
    page.keyboard.press("Escape")
    page.get_by_label("Topic").fill("orders")
    page.get_by_label("From address").fill("10.1.2.3")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_text("Yes, alice may")).to_be_visible()
    expect(page.get_by_role("table", name="The rule that decides")).to_contain_text("Topic:order*")
    check_accessible(page)
    shoot(page, "acl-explain")
    page.get_by_label("Topic").fill("orders-secret")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_text("No, alice may not")).to_be_visible()
    expect(page.get_by_role("table", name="The rule that decides")).to_contain_text("deny")
    expect(page).to_have_url(
        f"{guarded.address}{HERE}?tab=explain&user=alice&topic=orders-secret&address=10.1.2.3"
    )


def test_a_question_is_in_the_address_and_both_rules_of_a_consumer_are_shown(
    guarded: Console, open_page: OpenPage
) -> None:
    question = "tab=explain&user=alice&action=sub&topic=orders&group=billing"
    page = open_page(f"{HERE}?{question}&address=192.168.1.1", dark=True, language="zh")
    expect(page.get_by_text("不可以：alice 没有权限")).to_be_visible()
    expect(page.get_by_text("没有规则匹配来自该地址的该操作")).to_be_visible()
    check_accessible(page)
    shoot(page, "acl-explain-dark-zh")
    page.goto(f"{HERE}?{question}&address=10.0.0.7")
    expect(page.get_by_text("可以：alice 有权限")).to_be_visible()
    expect(page.get_by_role("table", name="起决定作用的规则")).to_have_count(2)


def test_a_user_is_made_and_given_policies(guarded: Console, open_page: OpenPage) -> None:
    page = open_page(HERE)
    page.get_by_role("button", name="New user").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=False).first.fill("courier")
    dialog.get_by_role("button", name="Preview").click()
    dialog.get_by_role("button", name="Make the user").click()
    expect(dialog.get_by_text("It is shown this once")).to_be_visible()
    secret = dialog.get_by_role("region", name="Secret").inner_text()
    assert len(secret) > 30
    check_accessible(page, within="[role=dialog]")
    dialog.get_by_role("button", name="Close").last.click()
    page.get_by_role("row").filter(has_text="courier").click()
    expect(page.get_by_text("may do nothing")).to_be_visible()
    page.get_by_role("button", name="Change policies").click()
    editor = page.get_by_role("dialog", name="Policies of courier")
    editor.get_by_role("button", name="Add a rule").click()
    editor.get_by_label("Resource").fill("Topic:parcels")
    check_accessible(page, within="[role=dialog]:last-of-type")
    editor.get_by_role("button", name="Preview").click()
    editor.get_by_role("button", name="Make these the policies").click()
    expect(editor.get_by_text("Done, and read back")).to_be_visible()
    editor.get_by_role("button", name="Close").last.click()
    expect(page.get_by_role("dialog", name="User courier").get_by_text("Topic:parcels")).to_be_visible()
    shoot(page, "acl-user")
    found = guarded.rest.get(guarded.path("acl/users/courier/", CLUSTER))
    assert [one["resource"] for one in found["policies"]] == ["Topic:parcels"]
    assert secret not in str(found)


@pytest.mark.nightly
def test_users_are_fit_to_look_at(guarded: Console, open_page: OpenPage) -> None:
    page = open_page(HERE)
    expect(page.get_by_role("row").filter(has_text="alice")).to_be_visible()
    check_accessible(page)
    shoot(page, "acl-users")
    narrow = open_page(f"{HERE}?user=alice", size=NARROW)
    expect(narrow.get_by_text("Topic:orders-secret")).to_be_visible()
    check_accessible(narrow)
    shoot(narrow, "acl-user-narrow")


def test_brokers_without_access_control_are_told_of(
    console: Console, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow(409)
    overrides = {"mappedFileSizeCommitLog": "16777216"}
    wish = {"name": "unguarded", "groups": 1, "access_control": "off", "overrides": overrides}
    console.rest.finish(console.rest.post("clusters/", wish))
    page = open_page("/clusters/unguarded/acl")
    expect(page.get_by_text("These brokers have no access control")).to_be_visible()
    check_accessible(page)


def test_a_viewer_is_told_who_may_look(guarded: Console, open_page: OpenPage) -> None:
    page = open_page(HERE, user=guarded.viewer())
    expect(page.get_by_text("Only administrators of the whole cluster")).to_be_visible()
    check_accessible(page)
