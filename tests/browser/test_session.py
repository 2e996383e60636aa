"""Signing in and out, and a session that ends while somebody works."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NARROW, OpenPage
from tests.browser.running import Console
from tests.browser.screens import check_accessible, shoot
from tests.browser.watching import Watch

pytestmark = pytest.mark.timeout(300)


def test_a_person_signs_in_and_is_led_to_where_they_wanted(console: Console, open_page: OpenPage) -> None:
    page = open_page("/settings?tab=tokens", user=None)
    expect(page).to_have_url(f"{console.address}/sign-in?next=%2Fsettings%3Ftab%3Dtokens")
    check_accessible(page)
    shoot(page, "sign-in")
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password", exact=True).fill(console.platform.password)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{console.address}/settings?tab=tokens")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()


def test_a_wrong_password_is_told_calmly(open_page: OpenPage, watch: Watch) -> None:
    watch.allow(401)
    page = open_page("/sign-in", user=None, language="zh", dark=True)
    page.get_by_label("用户名").fill("<b>nobody</b>")
    page.get_by_label("密码", exact=True).fill("wrong")
    page.get_by_role("button", name="登录").click()
    expect(page.get_by_text("用户名或密码不正确")).to_be_visible()
    check_accessible(page)
    shoot(page, "sign-in-wrong-dark-zh")


def test_nobody_is_led_to_another_site(console: Console, open_page: OpenPage) -> None:
    page = open_page("/sign-in?next=//example.com/x")
    expect(page).to_have_url(f"{console.address}/")


def test_a_session_that_ends_keeps_the_page(console: Console, open_page: OpenPage, watch: Watch) -> None:
    watch.allow(401, 403)
    name = console.person("passing", ("viewer", "*", "*"))
    page = open_page("/", user=name, size=NARROW)
    expect(page.get_by_text("local", exact=True).first).to_be_visible()
    made = console.rest.post(f"users/{name}/password/")
    dialog = page.get_by_role("dialog", name="You are signed out")
    expect(dialog).to_be_visible(timeout=90_000)
    check_accessible(page)
    shoot(page, "signed-out-narrow")
    expect(page.get_by_text("local", exact=True).first).to_be_visible()
    dialog.get_by_label("Password", exact=True).fill(made["password"])
    dialog.get_by_role("button", name="Sign in", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_text("local", exact=True).first).to_be_visible()


def test_signing_out_ends_at_the_sign_in_page(console: Console, open_page: OpenPage) -> None:
    page = open_page("/", user=console.person("leaving", ("viewer", "*", "*")))
    page.get_by_role("button", name="Account of leaving").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page).to_have_url(f"{console.address}/sign-in")
    page.goto("/settings")
    expect(page).to_have_url(f"{console.address}/sign-in?next=%2Fsettings")
