"""Mailgun's own record of what it took: the events API, read with the account key."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import UUID

import requests
from django.conf import settings
from urllib3.exceptions import HTTPError

from mailkoenig.providers.mailgun.http import WATCH, HeldUp, Watch, WatchedAdapter
from mailkoenig.providers.types import Finding, Verdict

PAGE = 300
MOST_PAGES = 20
LARGEST_PAGE = 20_000_000
# How far back an event still proves that the log of a domain can be read; kept that long on every plan. Events of a batch
# are looked for as far back: our clocks may differ, and only its own events fit its id.
CONTROL = timedelta(days=1)
SAMPLED = 3
NO_FILTERS: Mapping[str, str] = {}


class LogUnreadable(Exception):
    """The log gave no answer that can be read; the message says what it gave."""


class MailgunLog:
    """Asks the events API. One thread's own."""

    def __init__(self) -> None:
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.mount("http://", WatchedAdapter())
        self.session.mount("https://", WatchedAdapter())

    def close(self) -> None:
        """Close the connection."""
        self.session.close()

    def ask(self, *, domain: str, batch: UUID, since: datetime, sample: Sequence[str]) -> Finding:
        """Look for any event of a batch: by the message id that we gave it, then by some of its people.

        No event proves something only where the log is seen to work.
        """
        if not settings.MAILGUN_API_KEY:
            return Finding(
                Verdict.NO_ANSWER, "There is no account key (MAILGUN_API_KEY) to read Mailgun's log with."
            )
        try:
            for filters in (
                {"message-id": f"{batch}@{domain}"},
                *({"recipient": address} for address in sample[:SAMPLED]),
            ):
                for event in self.events(domain, begin=since - CONTROL, filters=filters):
                    if belongs(event, batch):
                        return Finding(
                            Verdict.ACCEPTED, f"Mailgun's log holds an event of it: {event.get('event')}."
                        )
            if self.first(domain, begin=since) is not None:
                return Finding(
                    Verdict.ABSENT, "Mailgun's log holds no event of it, but newer ones of the domain."
                )
            if self.first(domain, begin=since - CONTROL) is not None:
                return Finding(
                    Verdict.ABSENT, "Mailgun's log holds no event of it, but others of the domain."
                )
        except LogUnreadable as error:
            return Finding(Verdict.NO_ANSWER, str(error))
        return Finding(
            Verdict.NO_ANSWER, "Mailgun's log holds nothing at all of the domain: that proves nothing."
        )

    def first(self, domain: str, *, begin: datetime) -> Mapping[str, Any] | None:
        """Return the first event of a domain from a moment on, if there is one."""
        return next(self.events(domain, begin=begin, limit=1), None)

    def events(
        self, domain: str, *, begin: datetime, limit: int = PAGE, filters: Mapping[str, str] = NO_FILTERS
    ) -> Iterator[Mapping[str, Any]]:
        """Yield events from `begin` on, oldest first, page by page until an empty one. Raises LogUnreadable.

        A filter is an expression to Mailgun, so what it returns must be looked at again.
        """
        for items in self.pages(domain, begin=begin, limit=limit, filters=filters):
            yield from items

    def pages(
        self,
        domain: str,
        *,
        begin: datetime,
        limit: int = PAGE,
        filters: Mapping[str, str] = NO_FILTERS,
        most: int = MOST_PAGES,
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield at most `most` pages of events as `events` does; the empty one at the end is yielded too."""
        url: str | None = f"{settings.MAILGUN_API_URL}/v3/{quote(domain, safe='')}/events"
        query: dict[str, str] | None = {
            "begin": f"{begin.timestamp():.6f}",
            "ascending": "yes",
            "limit": str(limit),
            **filters,
        }
        for _ in range(most):
            page = self.page(url or "", query)
            items = [item for item in page["items"] if isinstance(item, dict)]
            yield items
            if not items:
                return
            url, query = following(page), None
            if url is None:
                return

    def page(self, url: str, query: Mapping[str, str] | None) -> Mapping[str, Any]:
        """Read one page, however slowly it drips within the time for a call."""
        watch = Watch(settings.MAILGUN_CALL_TIMEOUT)
        WATCH.set(watch)
        try:
            with self.session.get(
                url,
                params=query,
                auth=("api", settings.MAILGUN_API_KEY),
                timeout=(settings.MAILGUN_CONNECT_TIMEOUT, settings.MAILGUN_READ_TIMEOUT),
                allow_redirects=False,
                stream=True,
            ) as response:
                body = response.raw.read(LARGEST_PAGE + 1, decode_content=True)
        except (requests.RequestException, HTTPError, OSError, HeldUp) as error:
            raise LogUnreadable(f"Mailgun's log can't be reached ({type(error).__name__}).") from error
        finally:
            watch.cancel()
        if response.status_code != 200:
            raise LogUnreadable(
                f"Mailgun's log answers {response.status_code}{KEYS.get(response.status_code, '')}."
            )
        try:
            page = json.loads(body)
        except ValueError as error:
            raise LogUnreadable("Mailgun's log answers something that can't be read.") from error
        if not isinstance(page, dict) or not isinstance(page.get("items"), list):
            raise LogUnreadable("Mailgun's log answers something that is not a page of events.")
        return page


KEYS = {
    401: ": MAILGUN_API_KEY is wrong, or a sending key, which may not read",
    403: ": MAILGUN_API_KEY may not read events",
    404: ": the domain is not known to this key or region",
}


def belongs(event: Mapping[str, Any], batch: UUID) -> bool:
    """Say whether an event is of the batch, by our own marker in it or by the message id that holds it."""
    variables = event.get("user-variables")
    if isinstance(variables, str):
        try:
            variables = json.loads(variables)
        except ValueError:
            variables = None
    if isinstance(variables, dict) and str(variables.get("batch", "")).lower() == str(batch):
        return True
    message = event.get("message")
    headers = message.get("headers") if isinstance(message, dict) else None
    found = str(headers.get("message-id", "")) if isinstance(headers, dict) else ""
    return found.strip("<> ").lower().startswith(f"{batch}@")


def following(page: Mapping[str, Any]) -> str | None:
    """Return the address of the next page, if it is one that our key may be sent to."""
    paging = page.get("paging")
    url = paging.get("next") if isinstance(paging, dict) else None
    if not isinstance(url, str) or not url:
        return None
    ours, theirs = urlsplit(settings.MAILGUN_API_URL), urlsplit(url)
    is_ours = (ours.scheme, ours.netloc) == (theirs.scheme, theirs.netloc)
    is_mailguns = theirs.scheme == "https" and (theirs.hostname or "").endswith(".mailgun.net")
    if is_ours or is_mailguns:
        return url
    raise LogUnreadable("Mailgun's log names a next page on another host.")
