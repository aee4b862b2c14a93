"""The list of what came back."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from contacts.models import Contact
from events import services
from events.models import Event, PollCursor
from mailkoenig.providers.mailgun import payload
from tests.events.webhooks import sample
from tests.factories import ContactFactory, RecipientFactory, SenderDomainFactory, UserFactory

pytestmark = pytest.mark.django_db
LIST = "/admin/events/event/"


@pytest.fixture
def reader(client: Client) -> Client:
    """A person who may look at events and at nothing else."""
    user = UserFactory.create()
    user.user_permissions.add(Permission.objects.get(codename="view_event"))
    client.force_login(user)
    return client


def came(name: str, **changes: Any) -> Event:
    item = {**sample(f"webhook-{name}"), **changes}
    received = datetime.fromtimestamp(1_790_030_000, UTC)
    services.ingest(payload.event(item, received_at=received), source=Event.Source.WEBHOOK)
    return Event.objects.latest("id")


def shown(client: Client, **query: str) -> list[str]:
    """Return the addresses on the list in their order."""
    return [event.address for event in client.get(LIST, query).context["cl"].result_list]


def test_an_empty_list_says_what_belongs_there(reader: Client) -> None:
    assert "webhooks do not reach this site" in reader.get(LIST).content.decode()


def test_the_list_is_newest_first_and_filtered_by_type_address_and_recipient(reader: Client) -> None:
    recipient = RecipientFactory.create(contact=ContactFactory.create(email="ada@example.com"))
    came("delivered", **{"user-variables": {"rid": str(recipient.pk)}})
    came("failed-permanent-bounce")

    assert shown(reader) == ["nobody@example.org", "ada@example.com"]
    assert shown(reader, event_type="bounced") == ["nobody@example.org"]
    assert shown(reader, q=" ADA@ex") == ["ada@example.com"]
    assert shown(reader, q="example") == []
    assert shown(reader, campaign_recipient__id__exact=str(recipient.pk)) == ["ada@example.com"]


def test_the_page_of_an_event_shows_all_of_it_and_links_on(reader: Client) -> None:
    recipient = RecipientFactory.create(contact=ContactFactory.create(email="ada@example.com"))
    event = came("opened-apple-mpp", **{"user-variables": {"rid": str(recipient.pk)}, "x": "<script>"})

    page = reader.get(f"{LIST}{event.pk}/change/").content.decode()

    assert "opened by a program" in page
    assert reverse("admin:campaigns_recipient_change", args=[recipient.pk]) in page
    assert f"/contacts/contact/{recipient.contact_id}/" in page or not admin.site.is_registered(Contact)
    assert "&lt;script&gt;" in page
    assert "<script>&quot;" not in page


def test_an_event_of_a_deleted_recipient_or_of_another_version_is_readable(reader: Client) -> None:
    recipient = RecipientFactory.create(contact=ContactFactory.create(email="ada@example.com"))
    event = came("delivered", **{"user-variables": {"rid": str(recipient.pk)}})
    recipient.campaign.delete()
    Event.objects.update(event_type="of-tomorrow")

    assert reader.get(LIST).status_code == 200
    assert "mail that we do not know" in reader.get(f"{LIST}{event.pk}/change/").content.decode()


def test_nobody_writes_the_providers_words(admin_client: Client) -> None:
    event = came("delivered")

    assert admin_client.get(f"{LIST}add/").status_code == 403
    assert admin_client.post(f"{LIST}{event.pk}/change/", {"address": "x"}).status_code == 403
    assert admin_client.post(f"{LIST}{event.pk}/delete/", {"post": "yes"}).status_code == 403


def test_without_the_permission_nothing_is_shown(client: Client) -> None:
    client.force_login(UserFactory.create())

    assert client.get(LIST).status_code == 403


def test_rare_types_and_the_beginning_of_an_address_are_found_by_an_index() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO email_events (provider, provider_event_id, day, event_type, address, raw_payload, occurred_at)
            SELECT 'mailgun', n, '2026-01-01', CASE WHEN n % 5000 = 0 THEN 'complained' ELSE 'delivered' END,
                   'p' || n || '@example.com', '{}', now()
            FROM generate_series(1, 20000) AS n
            """
        )
        cursor.execute("ANALYZE email_events")
    rare = Event.objects.filter(event_type="complained").order_by("-id")[:51].explain()
    prefix = Event.objects.filter(address__startswith="p12345").order_by("-id")[:51].explain()

    assert "event_rare_type" in rare
    assert "event_address" in prefix


def test_a_payload_is_shown_sorted_and_as_text(reader: Client) -> None:
    event = came("delivered", zebra="é")

    page = reader.get(f"{LIST}{event.pk}/change/").content.decode()

    assert "&quot;zebra&quot;: &quot;é&quot;" in page
    assert json.dumps(sample("webhook-delivered")["id"])[1:-1] in page


def test_how_far_the_logs_are_is_shown_and_nobody_writes_it(admin_client: Client) -> None:
    page = "/admin/events/pollcursor/"
    assert "No log was read yet" in admin_client.get(page).content.decode()
    domain = SenderDomainFactory.create(name="mg.example.com")
    PollCursor.objects.create(domain=domain, read_to=Now(), finding="Mailgun's log answers 401.")

    listed = admin_client.get(page).content.decode()
    shown = admin_client.get(f"{page}{domain.pk}/change/").content.decode()

    assert "mg.example.com" in listed
    assert "answers 401" in listed
    assert "answers 401" in shown
    assert admin_client.post(f"{page}{domain.pk}/change/", {}).status_code == 403
    assert admin_client.get(f"{page}add/").status_code == 403
