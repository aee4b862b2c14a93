"""Webhook events through the real web process, against the same process with a view that only parses."""

import copy
import secrets
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from uuid import UUID

from campaigns.models import Campaign, Recipient
from events.models import Event
from mailkoenig.lib import db
from tests.benchmarks.figures import Part, Scale, compared, rate
from tests.benchmarks.running import gunicorn
from tests.benchmarks.scratch import empty, make_campaign, make_contacts, say, settle_down
from tests.benchmarks.sending import work_through
from tests.events.webhooks import sample, signed

CONNECTIONS = 4
SYNC = ("--workers", "2", "--worker-class", "sync", "--no-control-socket")
DEPLOYED = ("--config", "deploy/gunicorn.conf.py")


class Row(NamedTuple):
    id: int
    email: str
    batch: UUID


PEOPLE = "SELECT id, email, batch_id FROM campaign_recipients WHERE campaign_id = %(campaign)s ORDER BY id"


def requests(people: Sequence[Row], *, name: str) -> list[bytes]:
    """Return a signed event about each person as the bytes of a request."""
    event = sample(name)
    made = []
    for person in people:
        about = copy.deepcopy(event)
        about |= {"id": secrets.token_urlsafe(16), "timestamp": time.time(), "recipient": person.email}
        about["user-variables"] = {"rid": str(person.id), "batch": str(person.batch), "campaign": "1"}
        body = signed(about)
        head = (
            "POST /webhooks/mailgun/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        made.append(head.encode() + body)
    return made


def post(bodies: Sequence[bytes], *, port: int) -> None:
    """Post one after the other, and insist on 200 for each."""
    for body in bodies:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(body)
            first = connection.recv(4096)
            while connection.recv(4096):
                pass
        if not first.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"A webhook was not taken: {first!r}")


def post_all(bodies: Sequence[bytes], *, port: int) -> float:
    """Post over a few connections at the same time; return events a second."""
    begin = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        shares = [bodies[number::CONNECTIONS] for number in range(CONNECTIONS)]
        for posted in [pool.submit(post, share, port=port) for share in shares]:
            posted.result()
    return len(bodies) / (time.perf_counter() - begin)


def webhooks(scale: Scale) -> Part:
    """Post events about people whose mail was accepted, in turns to the real view and to the one that parses."""
    empty()
    rounds = scale.rounds + 2
    make_contacts(scale.events * rounds)
    campaign = accepted_campaign(scale.events * rounds)
    people = db.fetch(Row, PEOPLE, {"campaign": campaign.pk})
    parsed: list[float] = []
    recorded: list[float] = []
    deployed: list[float] = []
    with (
        gunicorn("tests.benchmarks.parse_only:application", *SYNC) as parsing,
        gunicorn("mailkoenig.wsgi", *SYNC) as recording,
        gunicorn("mailkoenig.wsgi", *DEPLOYED) as deploying,
    ):
        for number in range(rounds):
            say(f"webhooks: round {number + 1} of {rounds}")
            some = people[number * scale.events : (number + 1) * scale.events]
            delivered = requests(some, name="webhook-delivered")
            parsed.append(post_all(delivered, port=parsing))
            recorded.append(post_all(delivered, port=recording))
            deployed.append(post_all(requests(some, name="webhook-opened-human"), port=deploying))
    assert Event.objects.count() == 2 * scale.events * rounds
    assert Recipient.objects.filter(status="delivered").count() == scale.events * rounds
    return {
        "events": scale.events * rounds,
        "connections": CONNECTIONS,
        "what": "distinct signed events about distinct people; the first round is left out",
        "recorded / parsed_only": compared(recorded[1:], parsed[1:], floor=0.3, stretch=0.4),
        "deployed_settings_per_second": rate(deployed[1:]),
    }


def accepted_campaign(people: int) -> Campaign:
    """Make a campaign that the provider has accepted, with its batches."""
    campaign = make_campaign(people)
    work_through(campaign)
    Campaign.objects.filter(pk=campaign.pk).update(status="sent")
    settle_down()
    return campaign
