"""The messages endpoint: check, meet the scripted fault, accept, answer."""

import random
import threading
from collections.abc import Callable

import orjson

from mailkoenig.simulator import answers
from mailkoenig.simulator.accepting import MAX_REQUEST, Refused, Submission, checked
from mailkoenig.simulator.faults import Facts, Fault, Script
from mailkoenig.simulator.forms import BadForm, parse
from mailkoenig.simulator.http import Manner, Reply, Request
from mailkoenig.simulator.records import Call, Message
from mailkoenig.simulator.store import Store


class MessagesEndpoint:
    """Takes messages for one simulator."""

    def __init__(
        self,
        *,
        store: Store,
        script: Script,
        accepted: Callable[[Message], None],
        latency: float | tuple[float, float],
        seed: int,
    ) -> None:
        self.store = store
        self.script = script
        self.accepted = accepted
        self.latency = latency
        self._dice = random.Random(seed)  # noqa: S311  # no secret: the same seed gives the same waits

    def drop(self, domain: str) -> Reply | None:
        """Say whether the script drops this call before it is read."""
        _, fault = self.script.play(Facts("messages", domain, is_read=False))
        if fault is None:
            return None
        self.store.open_call(domain).fault = fault.action
        return Reply(manner=Manner.DROP)

    def refuse(self, domain: str, reply: Reply) -> Reply:
        """Write down a call that failed before its form was looked at."""
        return closed(self.store.open_call(domain), reply)

    def post(self, domain: str, request: Request) -> Reply:
        """Answer a call."""
        call = self.store.open_call(domain)
        body = request.read()
        call.bytes = len(body)
        if len(body) > MAX_REQUEST:
            return closed(call, answers.message("request size exceeds 52.4MiB limit", 413))
        try:
            submission = checked(parse(request.headers.get("Content-Type") or "", body))
        except BadForm as error:
            return closed(call, answers.message(str(error), 400))
        except Refused as error:
            return closed(call, answers.message(error.message, error.status))
        content = submission.content
        call.recipients = len(content.addresses)
        facts = Facts("messages", domain, content.addresses, content.tags)
        delays, fault = self.script.play(facts)
        wait = sum(answers.delay(item.seconds, dice=self._dice) for item in delays)
        self.pause(wait + answers.delay(self.latency, dice=self._dice), request.stopping)
        return (
            self.faulty(call, submission, fault, facts)
            if fault
            else closed(call, self.take(call, submission))
        )

    def take(self, call: Call, submission: Submission) -> Reply:
        """Accept a message and return the usual answer."""
        message = self.store.accept(call.domain, submission)
        call.accepted = True
        call.message = message.number
        self.accepted(message)
        return Reply(200, orjson.dumps({"id": f"<{message.message_id}>", "message": "Queued. Thank you."}))

    def faulty(self, call: Call, submission: Submission, fault: Fault, facts: Facts) -> Reply:
        """Play a fault, after acceptance where it asks for that."""
        call.fault = fault.action
        usual = Reply()
        if fault.accept:
            usual = self.take(call, submission)
        return closed(call, answers.faulty(fault, facts, usual=usual, now=self.store.clock()))

    @staticmethod
    def pause(seconds: float, stopping: threading.Event) -> None:
        """Wait, but not beyond the server's end."""
        if seconds > 0:
            stopping.wait(seconds)


def closed(call: Call, reply: Reply) -> Reply:
    """Write down what a call was answered."""
    if reply.manner in (Manner.WHOLE, Manner.CUT, Manner.DRIP):
        call.status = reply.status
    if reply.status != 200:
        call.note = reply.body[:500].decode(errors="replace")
    return reply
