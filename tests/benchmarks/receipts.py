"""How soon an idle system sends a receipt, and how many a second one worker sends beside the statements alone."""

import time
from statistics import median, quantiles
from uuid import uuid4

from django.db import transaction

from campaigns import services
from campaigns.models import Message, SenderDomain, Stream
from campaigns.sql import jobs, messages, queue
from mailkoenig.lib import db
from tests.benchmarks.figures import Part, Scale, at_most, compared, rate
from tests.benchmarks.running import simulator
from tests.benchmarks.scratch import empty, say, settle_down
from tests.processes import eventually, worker

WAIT = """
SELECT extract(epoch FROM sent_at - created_at) * 1000 FROM email_jobs WHERE id = %(id)s
"""
SPEED = """
SELECT count(*) / extract(epoch FROM max(settled_at) - min(claimed_at)) FROM send_batches WHERE state = 'accepted'
"""


def enqueue(number: int) -> Message:
    """Write a receipt."""
    return services.enqueue_message(
        stream="receipts",
        idempotency_key=f"benchmark-{uuid4()}",
        to=f"buyer{number}@example.com",
        subject="Your receipt",
        text="Thank you",
    ).message


def refill(number: int) -> None:
    """Have so many receipts wait and nothing else."""
    db.execute("TRUNCATE email_jobs, send_batches, sent_email, tallies CASCADE")
    with transaction.atomic():
        for each in range(number):
            enqueue(each)
    settle_down()


def work_through() -> float:
    """Claim and settle what waits with the queue's own statements on one connection; return receipts a second."""
    stream, domain = Stream.objects.get(name="receipts"), SenderDomain.objects.get()
    begin, done = time.perf_counter(), 0
    while True:
        batch = uuid4()
        found = messages.claim(stream=stream.pk, domain=domain.pk, batch=batch, worker="benchmark", most=1)
        if not found:
            return done / (time.perf_counter() - begin)
        ids = [message.id for message in found]
        with transaction.atomic():
            messages.skip_unsendable(batch=batch, ids=ids)
            queue.start(batch=batch, people=1)
        with transaction.atomic():
            jobs.MESSAGES.accept(batch=batch, ids=ids)
            queue.close(batch=batch, state="accepted", provider_id=str(batch), accepted=1)
        done += 1


def waits(number: int, **settings: str) -> list[float]:
    """Return for how many milliseconds receipts waited for an idle worker, until the provider had accepted them."""
    with worker(**settings):
        time.sleep(6)  # noqa: TID251 - its start is not what is measured
        found = []
        for each in range(number):
            message = enqueue(each)
            eventually(lambda: Message.objects.filter(pk=message.pk, status="sent").exists())  # noqa: B023 - called at once
            found.append(float(db.value(WAIT, {"id": message.pk})))
            # Not in step with the worker's own looks.
            time.sleep(0.3 + each % 7 / 20)  # noqa: TID251
        return found


def receipts(scale: Scale) -> Part:
    """Measure both, with a provider that answers at once."""
    empty()
    SenderDomain.objects.create(name="mg.example.com")
    raw: list[float] = []
    ours: list[float] = []
    with simulator() as url:
        for number in range(scale.rounds):
            say(f"receipts: round {number + 1} of {scale.rounds}")
            refill(scale.events)
            raw.append(work_through())
            refill(scale.events)
            with worker(MAILGUN_API_URL=url):
                eventually(lambda: not Message.objects.exclude(status="sent").exists(), within=300)
            ours.append(float(db.value(SPEED)))
        say("receipts: waiting of single ones")
        refill(0)
        woken = waits(20, MAILGUN_API_URL=url, SENDER_POLL="0.5")
    return {
        "messages": scale.events,
        "raw_claim_and_settle_per_second": rate(raw),
        "worker / raw_claim_and_settle on one connection": compared(ours, raw),
        "idle_wait_ms_median": at_most(round(median(woken), 1), ceiling=100),
        "idle_wait_ms_90_percent": round(quantiles(woken, n=10)[-1], 1),
        "idle_wait_ms_longest": at_most(round(max(woken), 1), ceiling=1000),
    }
