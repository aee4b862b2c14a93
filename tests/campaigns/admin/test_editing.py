"""Writing a campaign: what is refused says where, and nothing that was typed is lost."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from campaigns.models import Campaign
from tests.campaigns.admin.pages import a_list, filled_in, page, sendable
from tests.factories import CampaignFactory, SenderDomainFactory

pytestmark = pytest.mark.django_db


def errors(answer: object) -> dict[str, list[str]]:
    """Return what a page says about each field."""
    return dict(answer.context["adminform"].form.errors)  # type: ignore[attr-defined]  # a test response


def test_a_new_campaign_is_a_draft_of_the_person_who_wrote_it(writer: Client) -> None:
    model = CampaignFactory.build(domain=SenderDomainFactory.create())
    typed = filled_in_new(model)
    assert writer.post(reverse("admin:campaigns_campaign_add"), typed).status_code == 302
    made = Campaign.objects.get()
    assert (made.status, made.subject) == ("draft", model.subject)
    assert str(made.created_by_id) == writer.session["_auth_user_id"]


def filled_in_new(campaign: Campaign) -> dict[str, object]:
    return {
        "name": campaign.name,
        "subject": campaign.subject,
        "body": campaign.body,
        "body_format": "markdown",
        "domain": campaign.domain_id,
        "from_email": campaign.from_email,
    }


def test_an_error_in_the_body_names_line_and_tag_and_keeps_what_was_typed(writer: Client) -> None:
    campaign = CampaignFactory.create()
    body = "One\n\nTwo {{ nmae.first }}\n\n{% if name %}three"
    answer = writer.post(page(campaign), filled_in(campaign, body=body, name="Another"))
    said = " ".join(errors(answer)["body"])
    assert "Line 3" in said
    assert "nmae.first" in said
    shown = answer.content.decode()
    assert "Two {{ nmae.first }}" in shown
    assert 'value="Another"' in shown
    campaign.refresh_from_db()
    assert campaign.name != "Another"


def test_an_error_in_the_subject_stands_at_the_subject(writer: Client) -> None:
    campaign = CampaignFactory.create()
    answer = writer.post(page(campaign), filled_in(campaign, subject="Hi {{ name"))
    assert "subject" in errors(answer)


def test_every_error_is_shown_at_once(writer: Client) -> None:
    campaign = CampaignFactory.create()
    wrong = filled_in(
        campaign, subject="{% load x %}", preheader="{{ a.b }}", body="{% debug %}\n{% include 'x' %}"
    )
    said = errors(writer.post(page(campaign), wrong))
    assert {"subject", "preheader", "body"} <= set(said)
    assert len(said["body"]) == 2


@pytest.mark.parametrize("status", ["sending", "sent", "cancelled"])
def test_what_goes_out_is_read_only_also_for_who_posts_directly(writer: Client, status: str) -> None:
    campaign = sendable(status=status)
    assert writer.get(page(campaign)).context["has_change_permission"] is False
    answer = writer.post(page(campaign), filled_in(campaign, subject="Other"))
    assert "Other" in answer.content.decode()
    assert errors(answer)["__all__"]
    campaign.refresh_from_db()
    assert campaign.subject != "Other"


def test_a_campaign_that_is_sending_says_pause_it_first(writer: Client) -> None:
    campaign = sendable(status="sending")
    assert "pause it first" in str(errors(writer.post(page(campaign), filled_in(campaign))))


def test_of_a_paused_campaign_the_words_change_and_the_people_do_not(writer: Client) -> None:
    campaign = sendable(status="paused")
    before = list(campaign.lists.all())
    other, domain = a_list(), SenderDomainFactory.create()
    typed = filled_in(
        campaign, subject="Mended", lists=[str(other.pk)], domain=str(domain.pk), from_name="Evil"
    )
    assert writer.post(page(campaign), typed).status_code == 302
    campaign.refresh_from_db()
    assert campaign.subject == "Mended"
    assert (list(campaign.lists.all()), campaign.from_name) == (before, "Example Shop")
    assert campaign.domain != domain


def test_a_scheduled_campaign_keeps_what_it_needs_to_start(writer: Client) -> None:
    campaign = sendable(status="scheduled", scheduled_at="2099-01-01T09:00Z")
    answer = writer.post(page(campaign), filled_in(campaign, lists=[], domain=""))
    assert set(errors(answer)) == {"lists", "domain"}
    assert campaign.lists.exists()


def test_saving_another_field_moves_no_schedule(writer: Client) -> None:
    campaign = sendable(status="scheduled", scheduled_at="2027-03-29T09:00+02:00")
    campaign.refresh_from_db()
    at = campaign.scheduled_at
    assert writer.post(page(campaign), filled_in(campaign, subject="Other")).status_code == 302
    campaign.refresh_from_db()
    assert (campaign.scheduled_at, campaign.subject, campaign.status) == (at, "Other", "scheduled")


def test_two_people_do_not_overwrite_each_other_unknowingly(writer: Client, sender: Client) -> None:
    campaign = CampaignFactory.create()
    opened = filled_in(campaign, subject="Second")
    writer.post(page(campaign), filled_in(campaign, subject="First"))
    answer = sender.post(page(campaign), opened)
    said = str(errors(answer)["__all__"])
    assert "changed it meanwhile" in said
    assert "staff" in said
    campaign.refresh_from_db()
    assert campaign.subject == "First"
    again = opened | {"version": answer.context["adminform"].form["version"].value()}
    assert sender.post(page(campaign), again).status_code == 302
    campaign.refresh_from_db()
    assert campaign.subject == "Second"


def test_a_form_from_before_the_campaign_was_scheduled_is_looked_at_again(writer: Client) -> None:
    campaign = sendable()
    opened = filled_in(campaign, subject="Late")
    Campaign.objects.filter(pk=campaign.pk).update(status="scheduled", scheduled_at="2099-01-01T09:00Z")
    assert "scheduled now" in str(errors(writer.post(page(campaign), opened)))


def test_saving_writes_only_what_was_typed_as_a_worker_may_write_the_rest(writer: Client) -> None:
    campaign = sendable(status="paused")
    with CaptureQueriesContext(connection) as asked:
        assert writer.post(page(campaign), filled_in(campaign, subject="Mended")).status_code == 302
    [written] = [query["sql"] for query in asked if query["sql"].startswith('UPDATE "campaigns"')]
    assert re.findall(r'"(\w+)" = ', written.split("WHERE")[0]) == ["subject", "updated_at"]


def test_an_address_of_another_organisation_is_refused(writer: Client) -> None:
    campaign = CampaignFactory.create()
    answer = writer.post(page(campaign), filled_in(campaign, from_email="boss@example.org"))
    assert "forged" in str(errors(answer)["from_email"])


def test_a_draft_can_be_deleted_and_what_was_sent_can_not(writer: Client) -> None:
    draft, sent = CampaignFactory.create(), sendable(status="sent")
    writer.post(page(draft, "delete"), {"post": "yes"})
    answer = writer.post(page(sent, "delete"), {"post": "yes"}, follow=True)
    assert [campaign.pk for campaign in Campaign.objects.all()] == [sent.pk]
    assert "stays on record" in answer.content.decode()
