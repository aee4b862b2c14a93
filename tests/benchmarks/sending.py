"""The sender against the limit of its own statements, and whether it keeps its pace."""

import time
from typing import NamedTuple
from uuid import uuid4

from django.db import transaction
from django.db.models import Sum

from campaigns.models import Campaign, SendBatch
from campaigns.sql import jobs, queue
from mailkoenig.lib import db
from tests.benchmarks.figures import Part, Scale, at_most, compared, rate
from tests.benchmarks.running import peak_memory, simulator
from tests.benchmarks.scratch import empty, make_campaign, make_contacts, say, settle_down
from tests.processes import eventually, worker

LATENCY = 150
FIFTHS = 5


def work_through(campaign: Campaign, *, bare: bool = False) -> float:
    """Claim and settle a whole campaign with the queue's own statements on one connection; return people a second."""
    people = 0
    begin = time.perf_counter()
    while taken := claim_and_accept(campaign.pk) if bare else claim_and_settle(campaign.pk):
        people += taken
    return people / (time.perf_counter() - begin)


def claim_and_settle(campaign: int) -> int:
    """Do what the worker writes for a batch, with the same three commits."""
    batch = uuid4()
    people = queue.claim(campaign=campaign, batch=batch, worker="benchmark")
    ids = [person.id for person in people]
    if people:
        with transaction.atomic():
            queue.skip_ineligible(batch=batch, ids=ids)
            queue.start(batch=batch, people=len(people))
        with transaction.atomic():
            accepted = jobs.RECIPIENTS.accept(batch=batch, ids=ids)
            queue.close(batch=batch, state="accepted", provider_id=str(batch), accepted=accepted)
    return len(people)


def claim_and_accept(campaign: int) -> int:
    """Do the least that writes everybody's state twice."""
    batch = uuid4()
    ids = [person.id for person in queue.claim(campaign=campaign, batch=batch, worker="benchmark")]
    return jobs.RECIPIENTS.accept(batch=batch, ids=ids) if ids else 0


class Sent(NamedTuple):
    """How a worker did."""

    per_second: float
    memory: float
    memory_at_start: float


SPEED = """
SELECT sum(accepted) / extract(epoch FROM max(settled_at) - min(claimed_at))
FROM send_batches WHERE campaign_id = %(campaign)s
"""


def send(campaign: Campaign, *, url: str) -> Sent:
    """Have a real worker send a campaign; its speed is from the first claim to the last settle."""
    Campaign.objects.filter(pk=campaign.pk).update(status="paused")
    people = campaign.recipients.count()
    with worker(MAILGUN_API_URL=url, SENDER_POLL="1") as process:
        time.sleep(3)  # noqa: TID251 - its start is not what is measured
        at_start = peak_memory(process.pid)
        Campaign.objects.filter(pk=campaign.pk).update(status="sending")
        eventually(lambda: Campaign.objects.filter(pk=campaign.pk, status="sent").exists(), within=900)
        memory = peak_memory(process.pid)
    assert people == SendBatch.objects.filter(campaign=campaign).aggregate(taken=Sum("accepted"))["taken"]
    return Sent(float(db.value(SPEED, {"campaign": campaign.pk})), memory, at_start)


def fresh(people: int) -> Campaign:
    """Make a campaign to everybody in a table without any other recipients."""
    db.execute("TRUNCATE campaign_recipients, send_batches")
    campaign = make_campaign(people)
    settle_down()
    return campaign


def sending(scale: Scale) -> Part:
    """Compare a worker with the statements alone, in turns."""
    empty()
    make_contacts(scale.recipients)
    raw: list[float] = []
    bare: list[float] = []
    at_once: list[Sent] = []
    late: list[Sent] = []
    with simulator() as quick, simulator(latency=LATENCY) as slow:
        for number in range(scale.rounds):
            say(f"sending: round {number + 1} of {scale.rounds}")
            raw.append(work_through(fresh(scale.recipients)))
            at_once.append(send(fresh(scale.recipients), url=quick))
            late.append(send(fresh(scale.recipients), url=slow))
            bare.append(work_through(fresh(scale.recipients), bare=True))
    speeds = [sent.per_second for sent in at_once]
    return {
        "recipients": scale.recipients,
        "people_a_call": 1000,
        "raw_claim_and_settle": {
            "per_second": rate(raw),
            "what": "one connection, no HTTP, 1,000 a batch: claim | skip_ineligible, start | accept, close (three commits)",
        },
        "raw_claim_and_accept": {
            "per_second": rate(bare),
            "what": "one connection, no HTTP, 1,000 a batch: claim | accept (two commits)",
        },
        "sender_at_0_ms / raw_claim_and_settle": compared(speeds, raw, floor=0.75, stretch=0.9),
        "sender_at_0_ms / raw_claim_and_accept": compared(speeds, bare),
        f"sender_at_{LATENCY}_ms / sender_at_0_ms": compared(
            [sent.per_second for sent in late], speeds, floor=0.75, stretch=0.95
        ),
        "worker_memory_MiB": at_most(max(sent.memory for sent in at_once + late), ceiling=80, stretch=60),
        "worker_memory_before_work_MiB": max(sent.memory_at_start for sent in at_once),
    }


FIFTH_SPEEDS = """
SELECT sum(accepted) / extract(epoch FROM max(settled_at) - min(settled_at))
FROM (SELECT *, ntile(%(parts)s) OVER (ORDER BY settled_at) AS part FROM send_batches WHERE campaign_id = %(campaign)s) AS b
GROUP BY part ORDER BY part
"""


class Speed(NamedTuple):
    per_second: float


def long_campaign(scale: Scale) -> Part:
    """See whether a worker is as quick at the end of a large campaign as at its start."""
    empty()
    say(f"long campaign: {scale.long_campaign:,} people")
    make_contacts(scale.long_campaign)
    campaign = fresh(scale.long_campaign)
    with simulator() as url:
        sent = send(campaign, url=url)
    parameters = {"campaign": campaign.pk, "parts": FIFTHS}
    speeds = [float(row.per_second) for row in db.fetch(Speed, FIFTH_SPEEDS, parameters)]
    return {
        "recipients": scale.long_campaign,
        "per_second": round(sent.per_second),
        "per_second_by_fifths": [round(speed) for speed in speeds],
        "last_fifth / first_fifth": compared(speeds[-1:], speeds[:1], floor=0.85, stretch=0.95),
        "worker_memory_MiB": at_most(sent.memory, ceiling=80, stretch=60),
    }


def large_table(scale: Scale) -> Part:
    """See whether the statements are as quick in a table of people who have got their mail as in an empty one."""
    empty()
    people = scale.table // 10
    make_contacts(people)
    alone: list[float] = []
    crowded: list[float] = []
    for number in range(scale.rounds):
        say(f"large table: round {number + 1} of {scale.rounds}, empty")
        alone.append(work_through(fresh(people)))
    db.execute("TRUNCATE campaign_recipients, send_batches")
    for number in range(9):
        say(f"large table: {(number + 1) * people:,} rows")
        make_campaign(people, status="sent", recipients="sent")
    for number in range(scale.rounds):
        say(f"large table: round {number + 1} of {scale.rounds}, full")
        campaign = make_campaign(people)
        settle_down()
        crowded.append(work_through(campaign))
        db.execute("DELETE FROM campaign_recipients WHERE campaign_id = %(id)s", {"id": campaign.pk})
    return {
        "rows": scale.table,
        "sent": people * 9,
        "full_table / empty_table": compared(crowded, alone, floor=0.85, stretch=0.95),
    }
