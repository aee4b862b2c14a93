"""The emergency stop and a dead letter, as an operator meets them."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.urls import reverse
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import (
    frame_to_be_available_and_switch_to_it,
    text_to_be_present_in_element,
)
from selenium.webdriver.support.ui import WebDriverWait

from campaigns import services
from campaigns.models import Message
from tests.browser.conftest import Open
from tests.factories import MessageFactory

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]
BODY = (By.TAG_NAME, "body")


def test_everything_is_stopped_seen_everywhere_and_let_go_on(signed_in: Open) -> None:
    browser = signed_in(reverse("admin:index"))
    wait = WebDriverWait(browser, 15)

    browser.find_element(By.PARTIAL_LINK_TEXT, "Stop all sending").click()
    wait.until(text_to_be_present_in_element(BODY, "Nothing leaves any more"))
    browser.find_element(By.NAME, "reason").send_keys("Wrong list")
    browser.find_element(By.CSS_SELECTOR, "button.mk-danger-solid").click()
    wait.until(text_to_be_present_in_element((By.CLASS_NAME, "mk-stopped"), "Wrong list"))
    assert services.stopped()

    browser = signed_in(reverse("admin:campaigns_message_changelist"))
    browser.find_element(By.PARTIAL_LINK_TEXT, "Let it go on").click()
    wait.until(text_to_be_present_in_element(BODY, "It was stopped by"))
    browser.find_element(By.CSS_SELECTOR, "form button.mk-button.mk-primary").click()
    wait.until(text_to_be_present_in_element(BODY, "Sending goes on."))

    assert not browser.find_elements(By.CLASS_NAME, "mk-stopped")
    assert services.stopped() is None
    assert [entry.get_change_message() for entry in LogEntry.objects.order_by("id")] == [
        "Stopped: Wrong list",
        "Goes on.",
    ]


def test_a_dead_letter_is_found_by_its_key_read_and_requeued(signed_in: Open) -> None:
    message = MessageFactory.create(
        status="failed",
        reason="550 Mailbox on fire",
        html="<p>Thank you</p><script>document.title='x'</script>",
    )
    browser = signed_in(reverse("admin:campaigns_message_changelist"))
    User.objects.get(is_active=True, is_staff=True).groups.add(Group.objects.get(name="Operator"))
    wait = WebDriverWait(browser, 15)

    browser.get(f"{browser.current_url}?q={message.idempotency_key}")
    browser.find_element(By.LINK_TEXT, message.idempotency_key).click()
    wait.until(frame_to_be_available_and_switch_to_it((By.CLASS_NAME, "mk-frame")))
    wait.until(text_to_be_present_in_element(BODY, "Thank you"))
    browser.switch_to.default_content()
    assert "550 Mailbox on fire" in browser.find_element(*BODY).text
    browser.find_element(By.PARTIAL_LINK_TEXT, "Requeue").click()
    wait.until(text_to_be_present_in_element(BODY, "It had died: 550 Mailbox on fire"))
    browser.find_element(By.NAME, "reason").send_keys("The fire is out")
    browser.find_element(By.CSS_SELECTOR, "form button.mk-button.mk-primary").click()
    wait.until(text_to_be_present_in_element(BODY, "is ready again"))

    assert Message.objects.get().status == "pending"
