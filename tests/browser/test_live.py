"""The page that an operator watches."""

from uuid import uuid4

import pytest
from django.urls import reverse
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import text_to_be_present_in_element
from selenium.webdriver.support.ui import WebDriverWait

from campaigns import services
from campaigns.models import Stream
from campaigns.sql import tallies, workers
from mailkoenig.monitoring import alerts
from tests.browser.conftest import Open
from tests.factories import SenderDomainFactory

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_it_says_what_is_missing_then_shows_what_moves_by_itself_and_fits_a_phone(signed_in: Open) -> None:
    browser = signed_in(reverse("admin:index"))
    browser.find_element(By.PARTIAL_LINK_TEXT, "How they stand").click()
    wait = WebDriverWait(browser, 15)
    body = (By.TAG_NAME, "body")
    wait.until(text_to_be_present_in_element(body, "No worker has been seen: start run_sender."))
    assert "No webhook has come within the hour." in browser.find_element(*body).text

    SenderDomainFactory.create(name="mg.example.com", is_shared=True)
    for number in range(3):
        services.enqueue_message(
            stream="receipts", idempotency_key=f"order-{number}", to="ada@example.com", subject="s", text="t"
        )
    Stream.objects.filter(name="receipts").update(paused=True, paused_reason="Wrong prices", paused_by="ada")
    tallies.count("answer:200", stream="campaigns", times=9, mails=9000)
    tallies.count("answer:429", stream="campaigns")
    tallies.count("webhook:delivered", times=42)
    tallies.count("refused:signature", times=7)
    services.pause_domain(
        services.enqueue_message(
            stream="receipts", idempotency_key="order-0", to="ada@example.com", subject="s", text="t"
        ).message.domain,
        reason="401: Invalid private key",
    )
    alerts.check(notify=True)
    workers.beat(
        id=uuid4(),
        name="host-with-a-rather-long-name-4711",
        streams=[],
        doing={"calls": {"receipts": 2}, "woken": True},
    )

    wait.until(text_to_be_present_in_element((By.CSS_SELECTOR, "[data-count=receipts-ready]"), "3"))
    shown = browser.find_element(*body).text
    for words in (
        "Paused by ada: Wrong prices",
        "2 calls for receipts",
        "429 \u00d7 1",
        "delivered \u00d7 42",
        "refused: signature \u00d7 7",
        "Nothing is sent from mg.example.com: 401: Invalid private key",
    ):
        assert words in shown
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True},
    )
    browser.refresh()
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    log = browser.get_log("browser")  # type: ignore[no-untyped-call]  # selenium has no type for it
    assert [entry for entry in log if entry["level"] == "SEVERE"] == []
