"""The client that sends: one POST a call, no redirects, no retries, an end to each call whatever the provider does."""

import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import quote

import orjson
import requests
from django.conf import settings
from urllib3.exceptions import HTTPError, ReadTimeoutError

from mailkoenig.providers.mailgun import DIALECT
from mailkoenig.providers.mailgun.answers import LARGEST_REASON, meaning
from mailkoenig.providers.mailgun.http import WATCH, HeldUp, Watch, WatchedAdapter
from mailkoenig.providers.types import Call, Kind, Outcome

# As requests takes them: a name, and a file's name (None for plain fields), content and type.
Field = tuple[str, tuple[None, str | bytes] | tuple[str, bytes, str]]
LARGEST_ANSWER = 65_536
# A kept connection that the other side has closed looks like a lost answer; idle ones are not worth that doubt.
LONGEST_IDLE = 2.0


class MailgunClient:
    """Sends through Mailgun's messages API. One thread sends with it; another may close it."""

    name = "mailgun"
    messages_per_call = 1
    dialect = DIALECT

    def __init__(self) -> None:
        self.session: requests.Session | None = None
        self.watch: Watch | None = None
        self.used_at = 0.0
        self.is_closed = False

    def send(self, call: Call) -> Outcome:
        """Make the one request and say what its answer means; never raises for what the network or Mailgun does."""
        if self.is_closed:
            return Outcome(Kind.NOT_MADE, "The worker is stopping; the call was not made.")
        watch = self.watch = Watch(settings.MAILGUN_CALL_TIMEOUT)
        WATCH.set(watch)
        try:
            url = f"{settings.MAILGUN_API_URL}/v3/{quote(call.domain, safe='')}/messages"
            return self.post(url, fields(call))
        except HeldUp:
            return Outcome(Kind.NOT_MADE, "The worker was held up before the call; it was not made.")
        except (requests.RequestException, HTTPError, OSError) as error:
            return lost(error, watch)
        finally:
            watch.cancel()
            self.used_at = time.monotonic()

    def post(self, url: str, form: list[Field]) -> Outcome:
        """Post the form and judge the answer."""
        with self.recent_session().post(
            url,
            auth=("api", settings.MAILGUN_SENDING_KEY),
            files=form,
            timeout=(settings.MAILGUN_CONNECT_TIMEOUT, settings.MAILGUN_READ_TIMEOUT),
            allow_redirects=False,
            stream=True,
        ) as response:
            body = response.raw.read(LARGEST_ANSWER, decode_content=True)
            if len(body) < LARGEST_ANSWER:
                response.raw.drain_conn()
            headers = list(response.raw.headers.items())
            outcome = meaning(
                status=response.status_code, headers=headers, body=body, now=their_time(headers)
            )
            return replace(outcome, answer_class=str(response.status_code))

    def recent_session(self) -> requests.Session:
        """Return the session, a new one where the old one's connection has been idle."""
        if self.session is None or time.monotonic() - self.used_at > LONGEST_IDLE:
            if self.session is not None:
                self.session.close()
            self.session = requests.Session()
            self.session.trust_env = False
            self.session.mount("http://", WatchedAdapter())
            self.session.mount("https://", WatchedAdapter())
        return self.session

    def close(self) -> None:
        """Cut a call that is open, whose outcome is then unknown, and make no other."""
        self.is_closed = True
        if self.watch is not None:
            self.watch.end()


def fields(call: Call) -> list[Field]:
    """Return the form of a call: bare addresses, and an entry in recipient-variables for each of them."""
    if len(call.recipients) > 1 and not all(envelope.values for envelope in call.recipients):
        raise ValueError(
            "A call to several people needs values for each, or everybody sees everybody's address."
        )
    pairs: list[tuple[str, str | bytes]] = [
        ("from", call.sender),
        # One field with commas: a thousand fields cost ten times as much to encode.
        ("to", ",".join(envelope.address for envelope in call.recipients)),
        ("subject", call.subject),
        *((name, text) for name, text in (("text", call.text), ("html", call.html)) if text),
        ("o:tracking-opens", "yes" if call.track_opens else "no"),
        ("o:tracking-clicks", "yes" if call.track_clicks else "no"),
    ]
    pairs += [("o:tag", tag) for tag in call.tags]
    pairs += [(f"h:{name}", one_line(text)) for name, text in call.headers.items()]
    pairs += [(f"v:{name}", text) for name, text in call.variables.items()]
    values = {envelope.address: envelope.values for envelope in call.recipients if envelope.values}
    if values:
        pairs.append(("recipient-variables", orjson.dumps(values)))
    files = [("attachment", (file.name, file.content, file.content_type)) for file in call.files]
    return [*((name, (None, text)) for name, text in pairs), *files]


def their_time(headers: Iterable[tuple[str, str]]) -> datetime:
    """Return what the provider's clock says, by which it states until when to wait; ours where it does not say."""
    for name, text in headers:
        if name.lower() == "date":
            try:
                moment = parsedate_to_datetime(text)
            except (ValueError, TypeError, IndexError, OverflowError):
                break
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return datetime.now(UTC)


def one_line(text: str) -> str:
    """Return a header's text without line breaks, which would begin another header."""
    return " ".join(text.split())


def lost(error: Exception, watch: Watch) -> Outcome:
    """Say what it means that no answer came: surely not sent only where no connection was made."""
    if watch.has_connected:
        if watch.has_ended or isinstance(error, requests.ReadTimeout | ReadTimeoutError):
            return Outcome(
                Kind.UNKNOWN, "No complete answer within the time for a call.", answer_class="timeout"
            )
        return Outcome(
            Kind.UNKNOWN,
            f"The connection broke before an answer ({type(error).__name__}).",
            answer_class="connection lost",
        )
    if isinstance(error, ValueError):  # how requests reports an address that is none
        return Outcome(
            Kind.PAUSE_DOMAIN, "MAILGUN_API_URL is not an address: correct it, then resume the domain."
        )
    if isinstance(error, requests.exceptions.SSLError):
        return Outcome(
            Kind.RETRY,
            f"No secure connection to Mailgun: {error}"[:LARGEST_REASON],
            answer_class="no connection",
        )
    return Outcome(
        Kind.RETRY,
        f"Mailgun can't be reached at {settings.MAILGUN_API_URL} ({type(error).__name__}).",
        answer_class="no connection",
    )
