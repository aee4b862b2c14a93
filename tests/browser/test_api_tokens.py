"""A token, as the person sees it who makes it."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import text_to_be_present_in_element
from selenium.webdriver.support.ui import WebDriverWait

from mailkoenig.api.models import ApiToken
from mailkoenig.api.services import digest_of
from tests.browser.conftest import Open
from tests.mailkoenig.api.conftest import make_token

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
BODY = (By.TAG_NAME, "body")


def test_a_token_is_made_copied_and_never_shown_again(signed_in: Open) -> None:
    User.objects.update(is_superuser=True)
    browser = signed_in(reverse("admin:api_apitoken_add"))
    wait = WebDriverWait(browser, 15)
    browser.find_element(By.NAME, "name").send_keys("shop")
    browser.find_element(By.XPATH, "//label[contains(., 'receipts')]").click()
    browser.find_element(By.NAME, "_save").click()
    wait.until(text_to_be_present_in_element(BODY, "shown this once"))
    secret = browser.find_element(By.ID, "secret").get_attribute("value") or ""
    assert "may read and write: receipts" in browser.find_element(*BODY).text

    browser.find_element(By.CSS_SELECTOR, "[data-copy]").click()
    wait.until(lambda browser: browser.find_element(By.CSS_SELECTOR, "[data-word]").text != "Copy")
    browser.find_element(By.LINK_TEXT, "Done").click()
    wait.until(text_to_be_present_in_element(BODY, f"{secret[:9]}…"))

    assert secret not in browser.page_source
    assert ApiToken.objects.get().digest == digest_of(secret)
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]  # selenium has no type for it
    assert [entry for entry in log if entry["level"] == "SEVERE"] == []


def test_the_description_is_read_and_tried_out_without_another_server(signed_in: Open) -> None:
    secret = make_token(streams=("receipts",))
    browser = signed_in("/api/v1/docs")
    wait = WebDriverWait(browser, 30)
    wait.until(text_to_be_present_in_element(BODY, "/api/v1/messages/by-key/{key}"))
    browser.find_element(By.CSS_SELECTOR, ".authorize").click()
    browser.find_element(By.CSS_SELECTOR, ".modal-ux input").send_keys(secret)
    browser.find_element(By.CSS_SELECTOR, ".modal-ux .authorize").click()
    browser.find_element(By.CSS_SELECTOR, ".modal-ux .btn-done").click()
    operation = browser.find_element(By.CSS_SELECTOR, "[id$=list_streams]")
    browser.execute_script("arguments[0].scrollIntoView({block: 'start'})", operation)
    operation.find_element(By.CSS_SELECTOR, ".opblock-summary-control").click()
    wait.until(lambda _: operation.find_elements(By.CSS_SELECTOR, ".execute"))[0].click()
    wait.until(lambda _: '"receipts"' in operation.find_element(By.CSS_SELECTOR, ".responses-wrapper").text)

    log = browser.get_log("browser")  # type: ignore[no-untyped-call]  # selenium has no type for it
    assert [entry for entry in log if entry["level"] == "SEVERE"] == []
