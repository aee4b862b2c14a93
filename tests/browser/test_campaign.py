"""A campaign from the first word to the first numbers, as a person sees it."""

import pytest
from django.db.models.functions import Now
from django.urls import reverse
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.expected_conditions import (
    frame_to_be_available_and_switch_to_it,
    text_to_be_present_in_element,
    visibility_of_element_located,
)
from selenium.webdriver.support.ui import WebDriverWait

from campaigns import housekeeping
from campaigns.models import Campaign, Recipient, SenderDomain
from contacts.models import ContactList
from tests.browser.conftest import Open
from tests.campaigns.admin.pages import a_list, page, sendable
from tests.factories import RecipientFactory, SenderDomainFactory

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def type_into(browser: Chrome, **fields: str) -> None:
    """Replace what stands in the fields of a form."""
    for name, text in fields.items():
        element = browser.find_element(By.NAME, name)
        element.clear()
        element.send_keys(text)


def press(browser: Chrome, name: str) -> None:
    browser.find_element(By.NAME, name).click()


def words(browser: Chrome) -> str:
    return browser.find_element(By.TAG_NAME, "body").text


def write(browser: Chrome, people: ContactList, domain: SenderDomain) -> None:
    """Fill in a new campaign that has a mistake in its third line."""
    type_into(browser, name="October news", subject="News for {{ name }}", from_email=f"news@{domain.name}")
    type_into(browser, body="Hello {{ name }}\n\nsee {{ nmae.x }}")
    choice = browser.find_element(By.CSS_SELECTOR, "#id_lists + .select2")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", choice)
    choice.click()
    browser.switch_to.active_element.send_keys(people.name)
    option = (By.CSS_SELECTOR, ".select2-results__option--highlighted")
    WebDriverWait(browser, 15).until(text_to_be_present_in_element(option, people.name))
    browser.switch_to.active_element.send_keys(Keys.ENTER)


def test_a_campaign_is_written_mended_previewed_sent_and_watched(signed_in: Open) -> None:
    people, domain = a_list(people=3), SenderDomainFactory.create(is_shared=True)
    browser = signed_in(reverse("admin:campaigns_campaign_add"))
    wait = WebDriverWait(browser, 15)
    write(browser, people, domain)
    press(browser, "_continue")
    wait.until(text_to_be_present_in_element((By.TAG_NAME, "body"), "Line 3"))
    assert "nmae.x" in (browser.find_element(By.NAME, "body").get_attribute("value") or "")

    type_into(browser, body="Hello {{ name }}, welcome.")
    press(browser, "_continue")
    wait.until(text_to_be_present_in_element((By.TAG_NAME, "body"), "Draft"))
    campaign = Campaign.objects.get()

    browser.find_element(By.PARTIAL_LINK_TEXT, "Preview").click()
    wait.until(frame_to_be_available_and_switch_to_it((By.CLASS_NAME, "mk-frame")))
    wait.until(text_to_be_present_in_element((By.TAG_NAME, "body"), "Hello Alex Example, welcome."))
    browser.switch_to.default_content()

    browser.get(browser.current_url.replace("preview", "send"))
    assert "to 3 people now" in words(browser)
    type_into(browser, typed="3")
    browser.find_element(By.CSS_SELECTOR, "button.mk-primary").click()
    wait.until(visibility_of_element_located((By.CSS_SELECTOR, "[data-progress]")))
    assert "Nobody is selected yet" in words(browser)

    while housekeeping.take_snapshot():
        pass
    wait.until(text_to_be_present_in_element((By.CSS_SELECTOR, "[data-count=ready]"), "3"))
    Recipient.objects.filter(campaign=campaign).update(status="sent", sent_at=Now())
    wait.until(text_to_be_present_in_element((By.CSS_SELECTOR, "[data-count=accepted]"), "3"))
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]  # selenium has no type for it
    assert [entry for entry in log if entry["level"] == "SEVERE"] == []


def test_a_link_in_a_preview_leads_nowhere_and_a_script_in_a_name_never_runs(signed_in: Open) -> None:
    campaign = sendable(
        name="<img src=x onerror=document.title='hacked'>", body="[shop](https://example.com/) {{ name }}"
    )
    browser = signed_in(page(campaign, "preview"))
    WebDriverWait(browser, 15).until(frame_to_be_available_and_switch_to_it((By.CLASS_NAME, "mk-frame")))
    browser.find_element(By.LINK_TEXT, "shop").click()
    assert "Alex Example" in words(browser)
    browser.switch_to.default_content()
    assert browser.title.startswith("Preview: <img")
    assert len(browser.window_handles) == 1


@pytest.mark.parametrize("name", ["change", "preview", "send", "schedule", "progress_page"])
def test_no_page_is_wider_than_a_phone(signed_in: Open, name: str) -> None:
    campaign = sendable()
    if name == "progress_page":
        RecipientFactory.create(campaign=campaign, status="failed", reason="x" * 290)
        Campaign.objects.filter(pk=campaign.pk).update(status="sending", snapshot_finished_at=Now())
    browser = signed_in(reverse("admin:index"))
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True},
    )
    signed_in(page(campaign, "change" if name == "progress_page" else name))
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
