"""A real Chromium, where the machine has one."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.test import Client
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from mailkoenig import roles
from tests.factories import UserFactory

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1440,1000",
]

Open = Callable[[str], Chrome]


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chrome]:
    """A fresh Chromium; the test is skipped where there is none."""
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    options = ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(chromedriver))
    yield driver
    driver.quit()


@pytest.fixture
def signed_in(browser: Chrome, live_server: LiveServer, settings: Settings) -> Open:
    """Return what opens a page as a sender; the site is on plain http here."""
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False
    roles.ensure(apps)
    user = UserFactory.create()
    user.groups.add(Group.objects.get(name="Sender"))
    client = Client()
    client.force_login(user)
    browser.get(f"{live_server.url}/admin/login/")
    browser.add_cookie(
        {"name": settings.SESSION_COOKIE_NAME, "value": client.cookies[settings.SESSION_COOKIE_NAME].value}
    )

    def open_page(address: str) -> Chrome:
        browser.get(f"{live_server.url}{address}")
        return browser

    return open_page
