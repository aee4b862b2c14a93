"""What is forgotten, and what never is."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db.models.functions import Now

from campaigns import services
from campaigns.models import Attachment, Message, SendBatch, SentMessage, Tally
from mailkoenig.lib import db
from tests.factories import MessageFactory, SendBatchFactory, StreamFactory

pytestmark = pytest.mark.django_db
KEEP = timedelta(days=90)


def old(**values: object) -> Message:
    message: Message = MessageFactory.create(**values)
    Message.objects.filter(pk=message.pk).update(created_at=Now() - timedelta(days=91))
    return message


def call(message: Message, *, days: float, **values: object) -> SendBatch:
    """A call that a message was in."""
    stream = StreamFactory.create(name="receipts")
    batch: SendBatch = SendBatchFactory.create(
        **{"campaign": None, "domain": message.domain, "stream": stream, "state": "accepted", **values}
    )
    SendBatch.objects.filter(pk=batch.pk).update(claimed_at=Now() - timedelta(days=days))
    Message.objects.filter(pk=message.pk).update(batch=batch)
    return batch


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_messages_that_are_over_and_old_go_with_files_and_calls(batch: int) -> None:
    for status in ("delivered", "failed", "cancelled", "sent"):
        message = old(status=status, reason="because")
        Attachment.objects.create(message=message, name="a.pdf", content_type="application/pdf", content=b"x")
        call(message, days=91)
    young = MessageFactory.create(status="delivered")
    Attachment.objects.create(message=young, name="b.pdf", content_type="application/pdf", content=b"x")
    kept = call(young, days=1)

    assert services.prune_messages(keep=KEEP, batch=batch) == (4, 4)

    assert Message.objects.get() == young
    assert Attachment.objects.get().name == "b.pdf"
    assert SendBatch.objects.get() == kept


def test_what_is_not_over_stays_however_old_with_its_calls() -> None:
    waiting, unknown = old(), old()
    call(unknown, days=91, state="unknown", started_at=Now())
    Message.objects.filter(pk=unknown.pk).update(status="unknown")
    before = call(waiting, days=91, state="returned")
    Message.objects.filter(pk=waiting.pk).update(batch=None, unclear_batch_id=before.pk)
    gone = old(status="delivered")

    assert services.prune_messages(keep=KEEP, batch=1) == (1, 0)

    assert set(Message.objects.values_list("pk", flat=True)) == {waiting.pk, unknown.pk}
    assert SendBatch.objects.count() == 2
    assert gone.pk


def test_calls_of_campaigns_stay() -> None:
    batch = SendBatchFactory.create(state="accepted")
    SendBatch.objects.filter(pk=batch.pk).update(claimed_at=Now() - timedelta(days=1000))

    assert services.prune_messages(keep=KEEP) == (0, 0)

    assert SendBatch.objects.exists()


def enqueue(subject: str) -> services.Enqueued:
    return services.enqueue_message(
        stream="receipts", idempotency_key="k", to="ada@example.com", subject=subject, text="Hi"
    )


def test_a_key_that_was_sent_is_known_for_ever() -> None:
    domain = MessageFactory.create(status="sent").domain
    domain.is_shared = True
    domain.save()
    message = enqueue("Hi").message
    Message.objects.filter(pk=message.pk).update(status="sent", created_at=Now() - timedelta(days=91))
    SentMessage.objects.create(idempotency_key="k", batch_id="0" * 32, digest=message.digest)

    assert services.prune_messages(keep=KEEP) == (1, 0)

    assert not enqueue("Hi").is_new
    with pytest.raises(services.KeyTaken):
        enqueue("Other")


def test_old_counts_become_sums_that_never_fall() -> None:
    for days in (0, 31, 40):
        Tally.objects.create(
            name="answer:200", stream="receipts", minute=db.now() - timedelta(days=days), times=2
        )

    call_command("prune")

    assert Tally.objects.count() == 2
    assert sum(Tally.objects.values_list("times", flat=True)) == 6
