"""Staff and the audit trail."""

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.models import Stream
from mailkoenig.lib import audit
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(client: Client) -> Client:
    client.force_login(UserFactory.create(username="root", is_superuser=True))
    return client


def test_the_trail_shows_acts_of_staff_and_of_everybody_else(root: Client) -> None:
    stream = Stream.objects.get(name="receipts")
    audit.note(on=stream, what="Paused: slow.", by="root")
    audit.note(on=stream, what="Resumed.", by="API token shop")
    audit.note(on="all sending", what="Stopped.", by="ada on the command line")

    page = root.get(reverse("admin:admin_logentry_changelist")).content.decode()

    for words in ("Paused: slow.", "API token shop", "ada on the command line", "all sending", "Stopped."):
        assert words in page
    assert reverse("admin:campaigns_stream_change", args=[stream.pk]) in page


def test_each_objects_own_history_shows_them_too(root: Client) -> None:
    stream = Stream.objects.get(name="receipts")
    audit.note(on=stream, what="Paused: slow.", by="ada on the command line")

    page = root.get(reverse("admin:campaigns_stream_history", args=[stream.pk])).content.decode()

    assert "Paused: slow." in page
    assert "ada on the command line" in page


def test_who_stands_in_the_trail_only_is_no_member_of_staff_to_manage(root: Client) -> None:
    audit.note(on="all sending", what="Stopped.", by=audit.WORKER)

    assert audit.WORKER not in root.get(reverse("admin:auth_user_changelist")).content.decode()


def test_staff_are_not_deleted_since_their_acts_would_be(root: Client) -> None:
    ada = UserFactory.create(username="ada")

    assert root.post(reverse("admin:auth_user_delete", args=[ada.pk]), {"post": "yes"}).status_code == 403
