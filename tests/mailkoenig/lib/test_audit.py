"""One trail of who did what."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction

from campaigns.models import Stream
from mailkoenig.lib import audit
from tests.concurrency.test_queue_races import at_once
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


def stream() -> Stream:
    return Stream.objects.get(name="receipts")


def test_it_says_who_did_what_to_what_and_when() -> None:
    ada = UserFactory.create(username="ada")

    audit.note(on=stream(), what="Paused: the provider is slow.", by="ada")

    entry = LogEntry.objects.get()
    assert entry.user == ada
    assert entry.get_edited_object() == stream()
    assert (entry.object_repr, entry.get_change_message()) == ("receipts", "Paused: the provider is slow.")
    assert entry.is_change()
    assert entry.action_time


@pytest.mark.parametrize("by", ["root on the command line", "API token shop", audit.WORKER])
def test_who_is_no_member_of_staff_is_named_too_and_can_never_sign_in(by: str) -> None:
    audit.note(on=stream(), what="Paused.", by=by)
    audit.note(on=stream(), what="Resumed.", by=by)

    actor = User.objects.get()
    assert [entry.user.get_username() for entry in LogEntry.objects.all()] == [by, by]
    assert not actor.is_active
    assert not actor.is_staff
    assert not actor.has_usable_password()
    assert authenticate(username=by, password="!") is None


def test_nobody_takes_the_name_of_a_future_member_of_staff() -> None:
    audit.note(on=stream(), what="Paused.", by="root")

    assert User.objects.get().username == "root (no account)"
    with pytest.raises(ValidationError):
        UnicodeUsernameValidator()(User.objects.get().username)


def test_what_is_no_row_is_named_in_words() -> None:
    audit.note(on="all sending", what="Stopped.", by=audit.WORKER)

    entry = LogEntry.objects.get()
    assert (entry.object_repr, entry.content_type, entry.object_id) == ("all sending", None, None)


def test_it_is_undone_with_the_transaction_that_it_is_about() -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        audit.note(on=stream(), what="Paused.", by=audit.WORKER)
        raise RuntimeError

    assert not LogEntry.objects.exists()


def test_words_that_look_like_the_admins_own_stay_words() -> None:
    audit.note(on=stream(), what="[1]", by=audit.WORKER)

    assert LogEntry.objects.get().get_change_message().strip() == "[1]"


@pytest.mark.django_db(transaction=True)
def test_many_who_act_for_the_first_time_at_once_are_one_and_none_is_lost() -> None:
    found = at_once(
        *(lambda: audit.note(on="all sending", what="Stopped.", by=audit.WORKER) for _ in range(4))
    )

    assert found == [None] * 4
    assert LogEntry.objects.filter(user__username=audit.WORKER).count() == 4
