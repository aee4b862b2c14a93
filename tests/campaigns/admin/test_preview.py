"""The preview shows the mail as a reader sees it, and gives nothing away."""

import pytest
from django.conf import settings
from django.test import Client

from tests.campaigns.admin.conftest import SignIn
from tests.campaigns.admin.pages import filled_in, page, sendable
from tests.factories import CampaignFactory, ContactFactory, RecipientFactory

pytestmark = pytest.mark.django_db

NASTY = '<b onclick="alert(1)">Müller</b> & Söhne'


def test_it_shows_the_mail_as_a_chosen_contact(writer: Client) -> None:
    ContactFactory.create(email="ada@example.com", name="Ada")
    campaign = sendable(preheader="For {{ name }}")
    shown = writer.get(page(campaign, "preview"), {"as": " ADA@example.com "})
    assert shown.context["mail"].subject == "News for Ada"
    assert "<dd>For Ada</dd>" in shown.content.decode()
    assert (
        "Hello Ada" in writer.get(page(campaign, "preview_html"), {"as": "ada@example.com"}).content.decode()
    )


def test_without_leave_to_see_contacts_it_is_a_made_up_reader(sign_in: SignIn) -> None:
    ContactFactory.create(email="ada@example.com", name="Ada Lovelace")
    client = sign_in("", "campaigns.view_campaign")
    for name in ("preview", "preview_html"):
        assert (
            "Lovelace" not in client.get(page(sendable(), name), {"as": "ada@example.com"}).content.decode()
        )


def test_an_address_that_nobody_has_says_so(writer: Client) -> None:
    shown = writer.get(page(sendable(), "preview"), {"as": "nobody@example.com"}).content.decode()
    assert "There is no contact nobody@example.com" in shown


def test_its_link_to_unsubscribe_is_nobodys(writer: Client) -> None:
    contact = ContactFactory.create(email="ada@example.com")
    campaign = sendable()
    for name in ("preview", "preview_html"):
        shown = writer.get(page(campaign, name), {"as": "ada@example.com"}).content.decode()
        assert "/unsubscribe/preview/" in shown
        assert contact.unsubscribe_token not in shown


def test_the_frame_runs_nothing_fetches_nothing_and_leads_nowhere(writer: Client) -> None:
    campaign = sendable(body_format="html", body="<p>Hello</p><img src='https://example.org/x' alt=''>")
    answer = writer.get(page(campaign, "preview_html"))
    policy = answer["Content-Security-Policy"]
    assert policy.startswith("sandbox;")
    assert "default-src 'none'" in policy
    assert "img-src data:;" in policy
    assert "script" not in policy
    assert '<base target="_blank">' in answer.content.decode()
    assert 'sandbox=""' in writer.get(page(campaign, "preview")).content.decode()


def test_every_page_allows_only_what_this_site_serves(writer: Client) -> None:
    policy = writer.get(page(sendable()))["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


@pytest.mark.parametrize("name", ["preview", "change", "send"])
def test_names_and_subjects_are_text_on_every_page(sender: Client, name: str) -> None:
    contact = ContactFactory.create(email="ada@example.com", name=NASTY)
    campaign = sendable(name=NASTY, from_name=NASTY, subject="Hi {{ name }} <i>x</i>", status="draft")
    RecipientFactory.create(campaign=campaign, contact=contact)
    shown = sender.get(page(campaign, name), {"as": "ada@example.com"}).content.decode()
    assert "<b onclick" not in shown
    assert "<i>x</i>" not in shown


def test_a_name_is_escaped_once_in_html_and_plain_in_subject_and_text(writer: Client) -> None:
    ContactFactory.create(email="ada@example.com", name="Müller & Söhne")
    campaign = sendable()
    mail = writer.get(page(campaign, "preview"), {"as": "ada@example.com"}).context["mail"]
    assert mail.subject == "News for Müller & Söhne"
    assert "Hello Müller & Söhne" in mail.text
    assert "Hello Müller &amp; Söhne" in mail.html


C12 = [
    "{% debug %}",
    "{% load static %}",
    '{% include "admin/base.html" %}',
    "{{ request }}",
    "{{ settings.SECRET_KEY }}",
    "{{ contact.unsubscribe_token }}",
    "{{ name.__class__ }}",
    "{% if name %}",
    "{{ name|center:'999999999' }}",
    "{{ name|ljust:'999999999' }}",
    "{% for x in name %}{% endfor %}",
]


@pytest.mark.parametrize("field", ["subject", "body"])
@pytest.mark.parametrize("trick", C12)
def test_the_template_language_is_no_way_in_for_the_least_privileged_author(
    sign_in: SignIn, trick: str, field: str
) -> None:
    client = sign_in("", "campaigns.view_campaign", "campaigns.change_campaign")
    contact = ContactFactory.create()
    clean, dirty = CampaignFactory.create(), sendable(**{field: trick})
    saved = client.post(page(clean), filled_in(clean, **{field: trick}))
    pages = [saved, *(client.get(page(dirty, name)) for name in ("preview", "preview_html", "change"))]
    assert [answer.status_code for answer in pages[1:]] == [200, 200, 200]
    for answer in pages:
        shown = answer.content.decode()
        assert settings.SECRET_KEY not in shown
        assert contact.unsubscribe_token not in shown
        assert len(shown) < 1_000_000
