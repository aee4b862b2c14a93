"""Events in any order, twice, and at the same time."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns.models import Recipient
from contacts.models import Contact, Suppression
from events import services
from events.models import Event, WebhookToken
from mailkoenig.lib import db
from mailkoenig.providers.mailgun import payload
from mailkoenig.providers.mailgun.webhook import Proof
from mailkoenig.providers.types import ProviderEvent
from tests.events.webhooks import sample
from tests.factories import ContactFactory, RecipientFactory, SendBatchFactory

pytestmark = pytest.mark.django_db
NOW = datetime.fromtimestamp(1_790_030_000, UTC)
WEBHOOK, POLL = Event.Source.WEBHOOK, Event.Source.POLL


def about(recipient: Recipient, name: str, **changes: Any) -> ProviderEvent:
    """Return a sample event about a recipient."""
    variables = {"rid": str(recipient.pk), "batch": str(recipient.batch_id or "")}
    item = {**sample(f"webhook-{name}"), "recipient": recipient.email, "user-variables": variables, **changes}
    return payload.event(item, received_at=NOW)


def sent(**fields: Any) -> Recipient:
    batch = SendBatchFactory.create()
    contact = ContactFactory.create(email="ida@example.com", status="active")
    return RecipientFactory.create(
        campaign=batch.campaign, contact=contact, batch=batch, status="sent", **fields
    )


def at_once(*acts: Callable[[], object]) -> list[object]:
    """Run the acts in threads that start together; return what they returned or raised."""
    barrier, found = Barrier(len(acts)), list[object]([None] * len(acts))

    def run(place: int, act: Callable[[], object]) -> None:
        try:
            barrier.wait(10)
            found[place] = act()
        except Exception as error:
            found[place] = error
        finally:
            connection.close()

    threads = [Thread(target=run, args=item) for item in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return found


def test_the_same_event_counts_once_from_webhook_and_poll() -> None:
    event = about(sent(), "delivered")

    assert services.ingest(event, source=WEBHOOK) is True
    assert services.ingest(event, source=POLL) is False


def test_the_same_id_on_another_day_or_of_another_type_is_another_event() -> None:
    recipient = sent()
    later = sample("webhook-delivered")["timestamp"] + 86_400

    for event in (
        about(recipient, "delivered"),
        about(recipient, "delivered", timestamp=later),
        about(recipient, "complained", id=sample("webhook-delivered")["id"]),
    ):
        assert services.ingest(event, source=WEBHOOK)


def test_a_replayed_proof_leaves_nothing_behind() -> None:
    recipient = sent()
    services.ingest(about(recipient, "delivered"), source=WEBHOOK, proof=Proof("token", b"1" * 32))

    with pytest.raises(services.Replayed):
        services.ingest(about(recipient, "complained"), source=WEBHOOK, proof=Proof("token", b"2" * 32))

    assert (Event.objects.count(), Suppression.objects.count()) == (1, 0)


KINDS = [
    *("accepted", "delivered", "opened-human", "opened-apple-mpp", "clicked", "clicked-scanner"),
    *("failed-temporary", "failed-permanent-bounce", "unsubscribed", "complained"),
]
STATE = (
    "status",
    "sent_at",
    "delivered_at",
    "opened_at",
    "clicked_at",
    "machine_opened_at",
    "machine_clicked_at",
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.lists(st.sampled_from(KINDS), unique=True, min_size=2), data=st.data())
def test_shuffled_and_repeated_events_end_in_the_same_state(kinds: list[str], data: st.DataObject) -> None:
    """Also of the times: each moment is that of its first event, whenever that arrived."""
    shuffled = data.draw(st.permutations([*kinds, *data.draw(st.lists(st.sampled_from(kinds), max_size=3))]))

    assert end_of(kinds) == end_of(shuffled)


def end_of(kinds: Sequence[str]) -> tuple[object, ...]:
    for model in (Event, Suppression, Recipient, Contact):
        model.objects.all().delete()
    recipient = sent()
    for kind in kinds:
        services.ingest(about(recipient, kind), source=WEBHOOK)
    recipient = Recipient.objects.select_related("contact").get(pk=recipient.pk)
    assert recipient.contact
    suppressions = Suppression.objects.values_list("address", "reason", "scope")
    return (
        *(getattr(recipient, field) for field in STATE[:1] + STATE[2:]),
        recipient.contact.status,
        *suppressions,
    )


@pytest.mark.parametrize(
    ("kinds", "status"),
    [
        (["opened-human", "delivered"], "delivered"),
        (["failed-permanent-bounce", "delivered"], "bounced"),
        (["delivered", "failed-permanent-bounce"], "bounced"),
        (["failed-temporary", "delivered"], "delivered"),
        (["delivered", "failed-temporary"], "delivered"),
        (["complained", "delivered"], "complained"),
        (["clicked"], "delivered"),
    ],
)
def test_the_end_follows_meaning_not_arrival(kinds: list[str], status: str) -> None:
    recipient = sent()

    for kind in kinds:
        services.ingest(about(recipient, kind), source=WEBHOOK)

    recipient.refresh_from_db()
    assert recipient.status == status


@pytest.mark.django_db(transaction=True)
def test_an_event_delivered_twice_at_once_counts_once() -> None:
    event = about(sent(), "complained")

    found = at_once(
        *(
            lambda n=n: services.ingest(event, source=WEBHOOK, proof=Proof(f"token {n}", b"1" * 32))
            for n in range(4)
        )
    )

    assert sorted(map(str, found)) == ["False", "False", "False", "True"]
    assert (Event.objects.count(), Suppression.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_one_signature_with_two_bodies_at_once_admits_one() -> None:
    recipient = sent()

    found = at_once(
        lambda: services.ingest(about(recipient, "delivered"), source=WEBHOOK, proof=Proof("t", b"1" * 32)),
        lambda: services.ingest(about(recipient, "complained"), source=WEBHOOK, proof=Proof("t", b"2" * 32)),
    )

    assert sorted(type(result).__name__ for result in found) == ["Replayed", "bool"]
    assert Event.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_events_of_one_person_at_once_do_not_block_each_other() -> None:
    recipient = sent()
    names = ["complained", "unsubscribed", "failed-permanent-bounce", "delivered", "opened-human", "clicked"]

    for turn in range(5):
        events = [about(recipient, name, id=f"{name}-{turn}") for name in names]
        found = at_once(*(lambda event=event: services.ingest(event, source=WEBHOOK) for event in events))
        assert found == [True] * len(names)

    recipient.refresh_from_db()
    assert (recipient.status, Suppression.objects.get().reason) == ("complained", "complained")


WAITING_FOR_US = (
    "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"
)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_of_two_that_block_each_other_the_event_is_tried_again() -> None:
    recipient, held = sent(), Barrier(2)

    def cross() -> None:
        """Lock contact, then recipient: the other way round."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT FROM contacts FOR UPDATE")
            held.wait(10)
            while not db.value(WAITING_FOR_US):
                cursor.execute("SELECT pg_sleep(0.02)")
            cursor.execute("SELECT FROM campaign_recipients FOR UPDATE")

    def report() -> bool:
        held.wait(10)
        return services.ingest(about(recipient, "complained"), source=WEBHOOK)

    is_new = at_once(report, cross)[0]

    recipient.refresh_from_db()
    assert (is_new, recipient.status, Event.objects.count()) == (True, "complained", 1)


@pytest.mark.django_db(transaction=True)
def test_an_event_whose_effect_fails_is_as_if_it_never_came() -> None:
    event, held, done = about(sent(), "complained"), Barrier(2), Barrier(2)

    def hold() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE suppressions IN EXCLUSIVE MODE")
            held.wait(10)
            done.wait(10)
        connection.close()

    thread = Thread(target=hold)
    thread.start()
    held.wait(10)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
    with pytest.raises(OperationalError):
        services.ingest(event, source=WEBHOOK, proof=Proof("token", b"1" * 32))
    counts = Event.objects.count(), WebhookToken.objects.count(), Recipient.objects.get().status
    done.wait(10)
    thread.join()
    connection.close()

    assert counts == (0, 0, "sent")
    assert services.ingest(event, source=WEBHOOK, proof=Proof("token", b"1" * 32))


def test_prune_forgets_old_events_and_dead_tokens_only() -> None:
    recipient = sent()
    for n in range(5):
        services.ingest(
            about(recipient, "delivered", id=f"e{n}"), source=WEBHOOK, proof=Proof(f"t{n}", b"1" * 32)
        )
    old = Event.objects.order_by("id")[:3]
    Event.objects.filter(pk__in=[event.pk for event in old]).update(received_at=Now() - timedelta(days=31))
    WebhookToken.objects.filter(token__in=["t0", "t1"]).update(seen_at=Now() - timedelta(days=2))

    assert services.prune(keep=timedelta(days=30), batch=2) == (3, 2)

    assert set(Event.objects.values_list("provider_event_id", flat=True)) == {"e3", "e4"}
    assert set(WebhookToken.objects.values_list("token", flat=True)) == {"t2", "t3", "t4"}


def test_a_payload_is_stored_as_it_came() -> None:
    event = about(sent(), "delivered")

    services.ingest(event, source=POLL)

    assert Event.objects.get().raw_payload == json.loads(json.dumps(event.payload))
