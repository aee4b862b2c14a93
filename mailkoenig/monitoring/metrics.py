"""The figures for Prometheus, read from the database when they are asked for: every web process says the same."""

import math
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from mailkoenig.monitoring import alerts, counted, overview, queries
from mailkoenig.monitoring.overview import ANSWER, AS_SET, REFUSED, WEBHOOK, Stream

CONTENT_TYPE = CONTENT_TYPE_LATEST
PREFIX = "mailkoenig_"


def exposition() -> bytes:
    """Return all figures as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector())
    return generate_latest(registry)


class Collector:
    """Asks the database once for each reading."""

    def describe(self) -> Iterable[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        found = overview.recent_look()
        yield from of_streams(found.streams)
        yield from counters(counted.totals(), [stream.name for stream in found.streams])
        yield gauge("workers_alive", "Workers seen within the last minute.", [((), len(found.alive))])
        paused = [((domain.name,), 1) for domain in queries.paused_domains()]
        yield gauge("domain_paused", "1 for each domain that nothing is sent from.", paused, ["domain"])
        yield gauge("sending_stopped", "1 while nothing at all is sent.", [((), 1 if found.notes else 0)])
        firing = [((alert.kind, alert.subject, alert.severity), 1) for alert in alerts.findings(found)]
        yield gauge("alert_firing", "1 for each alert.", firing, ["kind", "subject", "severity"])


def gauge(
    name: str,
    meaning: str,
    values: Iterable[tuple[tuple[str, ...], float]],
    labels: Iterable[str] = (),
) -> GaugeMetricFamily:
    """Return a figure that goes up and down."""
    family = GaugeMetricFamily(f"{PREFIX}{name}", meaning, labels=list(labels))
    for of, value in values:
        family.add_metric(of, value)
    return family


def counter(
    name: str,
    meaning: str,
    values: Iterable[tuple[tuple[str, ...], float]],
    labels: Iterable[str] = (),
) -> CounterMetricFamily:
    """Return a figure that only goes up."""
    family = CounterMetricFamily(f"{PREFIX}{name}", meaning, labels=list(labels))
    for of, value in values:
        family.add_metric(of, value)
    return family


def of_streams(streams: Iterable[Stream]) -> Iterator[Metric]:
    """Return how each stream stands."""
    figures: dict[str, tuple[str, Callable[[Stream], float]]] = {
        "oldest_ready_age_seconds": (
            "Age of the oldest mail that waits; 0 when none does.",
            lambda stream: stream.ready.oldest or 0,
        ),
        "age_budget_seconds": (
            "How old the oldest may be before somebody is told.",
            lambda stream: stream.limits.age_budget,
        ),
        "last_accepted_age_seconds": (
            "Since the provider last took a mail; infinite when that was not within the hour.",
            lambda stream: math.inf if stream.settled.oldest is None else stream.settled.oldest,
        ),
        "ready": ("Mails that are due and nobody holds.", lambda stream: stream.ready.mails),
        "later": ("Mails that wait for another try or their time.", lambda stream: stream.later),
        "leased": ("Mails that a worker holds before the call.", lambda stream: stream.leased.mails),
        "in_flight": ("Mails in calls that are open.", lambda stream: stream.in_flight.mails),
        "unknown": ("Mails that were perhaps accepted.", lambda stream: stream.unknown.mails),
        "held": ("Of these, mails that wait for a person.", lambda stream: stream.held.mails),
        "dead_letters": ("Messages that failed.", lambda stream: stream.dead_letters or 0),
        "stream_paused": ("1 while a stream is paused.", lambda stream: int(stream.limits.paused)),
        "waits_as_set": (
            "1 while its quiet hours or its daily cap keep it from sending.",
            lambda stream: int(any(wait.kind in AS_SET for wait in stream.waits)),
        ),
        "stream_workers_alive": ("Workers alive that serve a stream.", lambda stream: stream.workers),
    }
    for name, (meaning, value) in figures.items():
        yield gauge(name, meaning, [((stream.name,), value(stream)) for stream in streams], ["stream"])


def counters(totals: Iterable[counted.Total], streams: Iterable[str]) -> Iterator[Metric]:
    """Return what was counted since the beginning, 0 for streams that have not counted yet."""
    sent: dict[str, int] = dict.fromkeys(streams, 0)
    leases, duplicates = dict(sent), dict(sent)
    answers: dict[tuple[str, ...], float] = {}
    webhooks: dict[tuple[str, ...], float] = {}
    refusals: dict[tuple[str, ...], float] = {}
    for row in totals:
        sent[row.stream] = sent.get(row.stream, 0) + row.mails
        if row.name.startswith(ANSWER):
            answers[row.stream, row.name.removeprefix(ANSWER)] = row.times
        elif row.name.startswith(WEBHOOK):
            webhooks[(row.name.removeprefix(WEBHOOK),)] = row.times
        elif row.name.startswith(REFUSED):
            refusals[(row.name.removeprefix(REFUSED),)] = row.times
        elif row.name == "lease_expired":
            leases[row.stream] = row.times
        elif row.name == "duplicate_key":
            duplicates[row.stream] = row.times
    by_stream = ["stream"]
    sent.pop("", None)
    yield counter("sent", "Mails that the provider took.", keyed(sent), by_stream)
    yield counter(
        "provider_answers",
        "Calls by class of answer: an HTTP status, or what happened instead.",
        answers.items(),
        ["stream", "answer"],
    )
    yield counter("lease_expiries", "Batches whose worker was gone.", keyed(leases), by_stream)
    yield counter(
        "duplicate_keys", "Messages asked for again under a known key.", keyed(duplicates), by_stream
    )
    yield counter("webhook_events", "Webhooks taken, by type.", webhooks.items(), ["type"])
    yield counter("webhook_refusals", "Webhooks refused, by reason.", refusals.items(), ["reason"])


def keyed(values: dict[str, int]) -> list[tuple[tuple[str, ...], float]]:
    """Return values by a single label."""
    return [((name,), value) for name, value in values.items()]
