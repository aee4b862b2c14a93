"""`manage.py campaign` and its words."""

import json
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from campaigns import resolver
from campaigns.models import Campaign, Recipient, SendBatch, Stream, Worker
from campaigns.services import NotSendable
from campaigns.sql import jobs, queue
from mailkoenig.lib.command import UserError
from tests.factories import (
    CampaignFactory,
    ContactListFactory,
    MembershipFactory,
    RecipientFactory,
    SendBatchFactory,
)

pytestmark = pytest.mark.django_db


def campaign(*arguments: str) -> str:
    out = StringIO()
    call_command("campaign", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def draft() -> Campaign:
    audience = ContactListFactory.create()
    MembershipFactory.create(list=audience)
    return CampaignFactory.create(lists=[audience])


def unclear(*, held: bool) -> Campaign:
    sending: Campaign = CampaignFactory.create(status="sending")
    RecipientFactory.create_batch(2, campaign=sending)
    batch = uuid4()
    queue.claim(campaign=sending.pk, batch=batch, worker="w")
    queue.start(batch=batch, people=2)
    resolver.note_unknown(batch, jobs.RECIPIENTS, reason="No answer in time.")
    if held:
        SendBatch.objects.update(held_at=Now(), next_ask_at=None, asks=5, finding="The log answers 401.")
    return sending


def test_status_counts_every_state_in_json(draft: Campaign) -> None:
    found: dict[str, Any] = json.loads(campaign("status", str(draft.pk), "--json"))

    assert found["status"] == "draft"
    assert set(found["counts"]) == set(Recipient.Status.values)


def moving() -> Campaign:
    """Return a campaign on its way, with one person in each of four states."""
    found: Campaign = CampaignFactory.create(
        status="sending", started_at=Now(), snapshot_finished_at=Now(), name="News"
    )
    batch = SendBatchFactory.create(campaign=found, state="leased")
    RecipientFactory.create(campaign=found)
    RecipientFactory.create(campaign=found, status="sending", batch=batch, locked_at=Now(), locked_by="w")
    RecipientFactory.create(campaign=found, status="sent", sent_at=Now())
    RecipientFactory.create(campaign=found, status="failed", reason="550")
    return found


def test_status_uses_the_words_of_the_pages() -> None:
    shown = campaign("status", str(moving().pk))

    rows = [line.split() for line in shown.splitlines() if line.startswith("  ")]
    assert rows == [["ready", "1"], ["leased", "1"], ["accepted", "1"], ["failed", "1"]]


@pytest.mark.parametrize(
    ("streams", "is_served"), [(None, False), (["receipts"], False), ([], True), (["campaigns"], True)]
)
def test_status_asks_for_a_worker_only_where_none_is_alive_for_it(
    streams: list[str] | None, is_served: bool
) -> None:
    if streams is not None:
        Worker.objects.create(id=uuid4(), name="w", streams=streams)

    last = campaign("status", str(moving().pk)).splitlines()[-1]

    assert ("run_sender" not in last) is is_served
    assert ("a worker sends it" in last) is is_served


def test_status_says_what_it_waits_for() -> None:
    Stream.objects.filter(name="campaigns").update(paused=True, paused_reason="Wrong prices", paused_by="ada")
    Worker.objects.create(id=uuid4(), name="w", streams=[])
    sending = moving()

    *_, said, last = campaign("status", str(sending.pk)).splitlines()
    found: dict[str, Any] = json.loads(campaign("status", str(sending.pk), "--json"))

    assert said == "All campaigns wait. Paused by ada: Wrong prices."
    assert last.startswith("it goes on when that is over")
    assert found["waits"] == [{"kind": "stream", "text": said}]


def test_a_pause_of_its_own_is_said_once() -> None:
    paused: Campaign = CampaignFactory.create(status="paused", status_reason="Wrong prices")

    assert campaign("status", str(paused.pk)).count("Wrong prices") == 1


def test_send_pause_resume_cancel(draft: Campaign) -> None:
    for verb, status in [
        ("send", "sending"),
        ("pause", "paused"),
        ("resume", "sending"),
        ("cancel", "cancelled"),
    ]:
        assert status in campaign(verb, str(draft.pk))
        draft.refresh_from_db()
        assert draft.status == status


def test_send_at_a_moment_in_the_site_zone(draft: Campaign, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"

    campaign("send", str(draft.pk), "--at", "2099-03-29T09:00")

    draft.refresh_from_db()
    assert draft.scheduled_at is not None
    assert draft.scheduled_at.isoformat() in ("2099-03-29T07:00:00+00:00", "2099-03-29T08:00:00+00:00")


def test_a_moment_that_does_not_exist_is_refused(draft: Campaign, settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"

    with pytest.raises(UserError, match="does not exist"):
        campaign("send", str(draft.pk), "--at", "2027-03-28T02:30")
    with pytest.raises(UserError, match="is not a moment"):
        campaign("send", str(draft.pk), "--at", "tomorrow")


def test_what_cannot_be_done_is_one_sentence(draft: Campaign) -> None:
    with pytest.raises(NotSendable, match="is draft"):
        campaign("pause", str(draft.pk))
    with pytest.raises(UserError, match="no campaign 999999"):
        campaign("status", "999999")


def test_unknowns_lists_the_people_and_what_was_tried() -> None:
    sending = unclear(held=False)

    shown = campaign("unknowns", str(sending.pk))
    found: dict[str, Any] = json.loads(campaign("unknowns", str(sending.pk), "--json"))

    assert "No answer in time." in shown
    assert all(person.email in shown for person in Recipient.objects.all())
    assert [len(found["batches"]), len(found["recipients"])] == [1, 2]


@pytest.mark.parametrize(("choice", "status"), [("sent", "sent"), ("resend", "pending")])
def test_what_is_held_can_be_decided(choice: str, status: str) -> None:
    sending = unclear(held=True)
    assert "--settle" in campaign("unknowns", str(sending.pk))

    campaign("unknowns", str(sending.pk), "--settle", choice)

    assert set(Recipient.objects.values_list("status", flat=True)) == {status}
    assert "command line" in SendBatch.objects.get().settled_by


def test_what_the_log_is_still_asked_about_is_not_decided_by_hand() -> None:
    sending = unclear(held=False)

    with pytest.raises(UserError, match="still being asked"):
        campaign("unknowns", str(sending.pk), "--settle", "resend")
