"""How long the real web process takes to accept a message by HTTP: while nothing else goes on, and while a campaign is sent."""

import http.client
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from statistics import median, quantiles
from threading import Event
from uuid import uuid4

from campaigns.models import Campaign, Stream
from mailkoenig.api.models import ApiToken
from mailkoenig.api.services import create_token
from tests.benchmarks.figures import Figure, Part, Scale, at_most
from tests.benchmarks.running import gunicorn, simulator
from tests.benchmarks.scratch import empty, make_campaign, make_contacts, say, settle_down
from tests.processes import eventually, worker

CALLERS = 4
FOR_HALF_A_MINUTE = 400_000
# A percentile of fewer says nothing.
FEWEST = 200
# Messages a second that the callers hand in together: a shop on a very good day.
PACE = 20
DEPLOYED = ("--config", "deploy/gunicorn.conf.py")


def call(secret: str, *, port: int, times: int, until: Event) -> list[float]:
    """Post messages at an even pace over one connection until told to stop; return the milliseconds that each took."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    taken = []
    for number in range(times):
        if until.is_set():
            break
        body = {
            "stream": "receipts",
            "idempotency_key": f"benchmark-{uuid4()}",
            "to": f"buyer{number}@example.com",
            "subject": "Your receipt",
            "html": "<p>Thank you</p>" * 100,
        }
        begin = time.perf_counter()
        line.request("POST", "/api/v1/messages", json.dumps(body), headers)
        answer = line.getresponse()
        said = answer.read()
        taken.append((time.perf_counter() - begin) * 1000)
        if answer.status != 201:
            raise SystemExit(f"A message was not taken: {answer.status} {said!r}")
        time.sleep(max(0.0, CALLERS / PACE - taken[-1] / 1000))  # noqa: TID251 - the pace is the point
    line.close()
    return taken


def accepted(secret: str, *, port: int, times: int, going: Callable[[], bool] = lambda: True) -> list[float]:
    """Post from several callers at the same time, for as long as something goes on."""
    until = Event()
    with ThreadPoolExecutor(CALLERS) as pool:
        calls = [
            pool.submit(call, secret, port=port, times=times // CALLERS, until=until) for _ in range(CALLERS)
        ]
        while wait(calls, timeout=1).not_done:
            if not going():
                until.set()
        return [taken for each in calls for taken in each.result()]


def figures(taken: Sequence[float]) -> Figure:
    """Return the middle, the slow end and the slowest."""
    return {
        "ms_median": round(median(taken), 1),
        "ms_99_percent": at_most(round(quantiles(taken, n=100)[-1], 1), ceiling=50),
        "ms_longest": round(max(taken), 1),
    }


def api(scale: Scale) -> Part:
    """Measure both; the campaign goes out by a worker on this machine, which sends the receipts as well."""
    empty()
    people = max(scale.recipients, FOR_HALF_A_MINUTE)
    make_contacts(people)
    campaign = make_campaign(people, status="paused")
    secret = create_token(
        ApiToken(name="benchmark", rate_per_minute=100_000),
        streams=Stream.objects.filter(name="receipts"),
        by="the benchmark",
    )
    times = max(400, scale.events // 2)
    settle_down()
    with gunicorn("mailkoenig.wsgi", *DEPLOYED) as port, simulator(latency=150) as url:
        accepted(secret, port=port, times=80)
        say("api: alone")
        alone = accepted(secret, port=port, times=times)
        say("api: while a campaign is sent")
        with worker(MAILGUN_API_URL=url, SENDER_NICE="10"):
            Campaign.objects.filter(pk=campaign.pk).update(status="sending")
            eventually(lambda: campaign.recipients.filter(status="sent").exists(), within=60)
            waiting = campaign.recipients.filter(status="pending")
            begin = time.perf_counter()
            beside = accepted(secret, port=port, times=times, going=waiting.exists)
            seconds = time.perf_counter() - begin
        sent = campaign.recipients.filter(status="sent").count()
    if len(beside) < FEWEST:
        raise SystemExit(f"The campaign was sent after {seconds:.0f} s: give it more people.")
    return {
        "messages": {"alone": len(alone), "while_a_campaign_is_sent": len(beside)},
        "per_second": PACE,
        "alone": figures(alone),
        "while_a_campaign_is_sent": figures(beside),
        "campaign_people_a_second": round(sent / seconds),
    }
