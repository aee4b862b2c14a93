"""What comes back: webhooks twice, shuffled and early, or none at all."""

import signal

from campaigns import reports
from campaigns.models import Installation, Recipient
from events.models import Event
from mailkoenig.rehearsal.cases.case import Case
from mailkoenig.rehearsal.processes import PAUSE
from mailkoenig.rehearsal.scratch import environment
from mailkoenig.rehearsal.stage import Broken, Stage
from mailkoenig.simulator import Fault, Habits


def early(stage: Stage) -> None:
    """Post every webhook twice and shuffled, and the first ones before the worker has its answer."""
    stage.prepare(people=100, batch=20)
    stage.web()
    stage.simulator.poster.habits = Habits(duplicated=1.0, reordered=0.5)
    stage.simulator.happenings.pace = 0.01
    stage.worker("worker", SENDER_CONCURRENCY="1")
    with stage.at_acceptance(lambda: PAUSE.wait(1.0)):
        stage.send()
        stage.finish()
    stage.simulator.drain(60)
    check_events(stage, source="webhook")


def unheard(stage: Stage) -> None:
    """Post no webhook at all: the log is read instead, late and out of order as it is."""
    stage.prepare(people=100, batch=20)
    stage.simulator.log.shuffle = 0.5
    stage.worker("worker", EVENTS_POLL_EVERY="1")
    stage.send()
    stage.finish()
    check_events(stage, source="poll")


def restored(stage: Stage) -> None:
    """Go back to a backup from the middle: nothing leaves until a person confirms, and nobody gets it again."""
    stage.prepare(people=160, batch=20)
    stage.simulator.fault(Fault("latency", times=None, seconds=0.2))
    stage.worker("before", SENDER_CONCURRENCY="1")
    stage.send()
    stage.until(lambda: len(stage.simulator.messages) >= 2, what="some acceptances")
    stage.end("before", by=signal.SIGTERM)
    backup = stage.scratch.backup()
    stage.worker("lost")
    stage.finish()
    stage.end("lost", by=signal.SIGTERM)
    calls = len(stage.simulator.calls)

    stage.scratch.use(backup)
    stage.worker("held", **environment())
    stage.until(is_held, what="the restore to be noticed")
    stage.command("confirm_restore", "--yes", **environment())
    stage.finish()
    if len(stage.simulator.calls) != calls:
        raise Broken(f"{len(stage.simulator.calls) - calls} calls were made after the restore.")


def is_held() -> bool:
    """Say whether nothing is sent until a person confirms."""
    return Installation.objects.exclude(held_reason="").exists()


def check_events(stage: Stage, *, source: str) -> None:
    """Wait until everybody's mail is known as delivered, and each event once."""
    people = len(stage.people)
    stage.until(
        lambda: reports.counts(stage.campaign.pk)[Recipient.Status.DELIVERED] == people,
        what="everybody's delivery to be known",
    )
    events = Event.objects.filter(source=source).count()
    if events != 2 * people:
        raise Broken(f"{events} events were recorded where {2 * people} happened.")


CASES = [
    Case("webhooks", "Webhooks come twice, shuffled and before the worker's own commit", early),
    Case("no-webhooks", "No webhook ever comes: the provider's log is read", unheard),
    Case("restored", "The database goes back to a backup from the middle", restored),
]
