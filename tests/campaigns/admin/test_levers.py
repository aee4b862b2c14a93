"""Domains and streams: stopped with a reason, resumed at once, and kept safe from settings that would hurt."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from campaigns.models import SenderDomain, Stream
from tests.campaigns.admin.pages import sendable
from tests.factories import SenderDomainFactory

pytestmark = pytest.mark.django_db


def domain_page(domain: SenderDomain, name: str) -> str:
    return reverse(f"admin:campaigns_senderdomain_{name}", args=[domain.pk])


def stream_page(name: str) -> str:
    return reverse(f"admin:campaigns_stream_{name}", args=[Stream.objects.get(name="campaigns").pk])


def limits(**changes: str) -> dict[str, str]:
    usual = {
        "concurrency": "4",
        "rate_per_minute": "",
        "batch_size": "1000",
        "max_attempts": "5",
        "lease": "00:10:00",
        "age_budget": "00:03:00",
        "on_unknown": "resend",
        "time_zone": "UTC",
    }
    return usual | changes


def test_a_domain_is_paused_with_a_reason_and_by_nobody_without_one(operator: Client) -> None:
    domain = SenderDomainFactory.create()
    assert operator.post(domain_page(domain, "pause"), {"reason": ""}).status_code == 200
    operator.post(domain_page(domain, "pause"), {"reason": "Key rotated"})
    domain.refresh_from_db()
    assert (domain.status, domain.paused_reason) == ("paused", "Key rotated")
    assert "Key rotated" in LogEntry.objects.get().get_change_message()


def test_resuming_a_domain_ends_every_wait_of_it(operator: Client) -> None:
    domain = SenderDomainFactory.create(
        status="paused",
        paused_reason="401",
        held_until=Now(),
        probe_until=Now(),
        held_reason="429",
        throttles=4,
    )
    assert operator.get(domain_page(domain, "resume")).status_code == 200
    operator.post(domain_page(domain, "resume"))
    domain.refresh_from_db()
    assert (domain.status, domain.paused_reason, domain.held_reason, domain.throttles) == (
        "active",
        "",
        "",
        0,
    )
    assert (domain.held_until, domain.probe_until) == (None, None)


def test_resuming_twice_is_noted_once(operator: Client) -> None:
    domain = SenderDomainFactory.create(status="paused", paused_reason="401")
    for _ in range(2):
        operator.post(domain_page(domain, "resume"))
    assert LogEntry.objects.count() == 1


def test_a_domain_in_use_is_not_deleted_and_says_why(admin_client: Client) -> None:
    campaign = sendable()
    assert campaign.domain is not None
    answer = admin_client.post(domain_page(campaign.domain, "delete"), {"post": "yes"}, follow=True)
    assert "campaigns are sent from it" in answer.content.decode()
    assert SenderDomain.objects.exists()


@pytest.mark.parametrize(
    "name", ["news@example.com", "https://example.com", "example", "a b.example.com", ""]
)
def test_what_is_no_domain_is_refused(operator: Client, name: str) -> None:
    answer = operator.post(reverse("admin:campaigns_senderdomain_add"), {"name": name})
    assert "name" in answer.context["adminform"].form.errors


def test_a_domain_is_kept_as_the_provider_writes_it(operator: Client) -> None:
    operator.post(reverse("admin:campaigns_senderdomain_add"), {"name": " MG.Bücher.Example "})
    assert SenderDomain.objects.get().name == "mg.xn--bcher-kva.example"


def test_a_lease_shorter_than_the_slowest_call_is_refused(operator: Client) -> None:
    answer = operator.post(stream_page("change"), limits(lease="00:01:00"))
    assert "A call may take" in str(answer.context["adminform"].form.errors["lease"])


def test_limits_of_a_stream_are_changed_and_its_name_is_not(operator: Client) -> None:
    operator.post(stream_page("change"), limits(rate_per_minute="600", name="other", kind="transactional"))
    stream = Stream.objects.get(name="campaigns")
    assert (stream.rate_per_minute, stream.kind) == (600, "campaign")


def test_saving_limits_does_not_end_a_pause_that_came_meanwhile(operator: Client) -> None:
    stream = Stream.objects.get(name="campaigns")
    operator.get(stream_page("change"))
    Stream.objects.filter(pk=stream.pk).update(paused=True, paused_reason="Stop")
    operator.post(stream_page("change"), limits(concurrency="2"))
    stream.refresh_from_db()
    assert (stream.paused, stream.concurrency) == (True, 2)


def test_a_stream_is_paused_by_somebody_with_a_reason_and_resumed(operator: Client) -> None:
    operator.post(stream_page("pause"), {"reason": "Wrong prices"})
    stream = Stream.objects.get(name="campaigns")
    assert (stream.paused, stream.paused_reason) == (True, "Wrong prices")
    assert stream.paused_by.startswith("staff")
    operator.post(stream_page("resume"))
    stream.refresh_from_db()
    assert (stream.paused, stream.paused_reason, stream.paused_by) == (False, "", "")


def test_no_stream_is_deleted(admin_client: Client) -> None:
    assert admin_client.post(stream_page("delete"), {"post": "yes"}).status_code == 403
