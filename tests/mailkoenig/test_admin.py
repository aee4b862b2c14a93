"""Staff and the audit trail."""

import re

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from campaigns.models import Stream
from mailkoenig import roles
from mailkoenig.lib import audit
from tests.factories import MessageFactory, UserFactory

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


@pytest.mark.parametrize(
    ("list_page", "title"),
    [
        ("admin_logentry", "Audit trail"),
        ("campaigns_sendbatch", "Batches"),
        ("campaigns_message", "Messages"),
        ("auth_user", "Staff"),
    ],
)
def test_a_list_is_called_as_in_the_sidebar(root: Client, list_page: str, title: str) -> None:
    page = root.get(reverse(f"admin:{list_page}_changelist")).content.decode()

    assert f"<title> {title} | Mail Koenig</title>" in page
    assert heading(page)[-1] == title


@pytest.mark.parametrize("name", ["change", "history", "cancel"])
def test_a_name_is_written_at_the_head_of_its_pages_as_it_is(root: Client, name: str) -> None:
    message = MessageFactory.create(idempotency_key="order-1842:receipt:v1")
    page = root.get(reverse(f"admin:campaigns_message_{name}", args=[message.pk])).content.decode()

    assert heading(page)[-2:] == ["Messages", "order-1842:receipt:v1"]
    assert "Order-1842" not in page


@pytest.mark.parametrize(("role", "status"), [("Operator", 200), ("Writer", 403), ("Sender", 403)])
def test_who_has_the_levers_reads_who_pulled_them(client: Client, role: str, status: int) -> None:
    client.force_login(of_role(role))

    assert client.get(reverse("admin:admin_logentry_changelist")).status_code == status


def test_a_page_that_is_refused_says_so_and_leads_home(client: Client) -> None:
    ada = of_role("Writer")
    client.force_login(ada)
    address = reverse("admin:admin_logentry_changelist")

    answer = client.get(address)

    assert answer.status_code == 403
    for words in ("You may not do this", ada.username, address, reverse("admin:index")):
        assert words in answer.content.decode()


def of_role(role: str) -> User:
    roles.ensure(apps)
    user: User = UserFactory.create()
    user.groups.add(Group.objects.get(name=role))
    return user


def heading(page: str) -> list[str]:
    """Return the parts of the line over a page."""
    line = page.partition("<h1")[2].partition("</h1>")[0]
    return [part.strip() for part in re.findall(r"truncate tracking-tight\">([^<]+)</", line)]
