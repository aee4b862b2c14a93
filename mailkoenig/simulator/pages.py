"""The simulator in a browser: what was accepted, and each copy as its reader sees it."""

import time
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

from mailkoenig.simulator.http import HTML, Reply, Request
from mailkoenig.simulator.records import Copy, Message

if TYPE_CHECKING:
    from mailkoenig.simulator.server import Simulator

A_PAGE = 50
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src http: https: data:; font-src data:; "
    "form-action 'self'; base-uri 'none'"
)
STYLE = """
:root{color-scheme:light dark;--line:#d8dce2;--soft:#667085;--ground:#fff;--card:#f6f7f9;--text:#16181d;--link:#0b57d0}
@media(prefers-color-scheme:dark){:root{--line:#3a3f47;--soft:#a2a9b4;--ground:#15171b;--card:#1e2126;--text:#e8eaed;--link:#8ab4f8}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1rem;font:15px/1.5 system-ui,sans-serif;background:var(--ground);color:var(--text)}
a{color:var(--link)} h1{font-size:1.35rem;margin:.2rem 0 1rem;overflow-wrap:anywhere} h2{font-size:1.05rem;margin:1.6rem 0 .5rem}
dl.totals{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.6rem;margin:0 0 1rem}
dl.totals div{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.5rem .75rem}
dt{color:var(--soft);font-size:.82rem} dd{margin:0;font-size:1.25rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.scroll{overflow-x:auto} table{border-collapse:collapse;width:100%} caption{text-align:left;color:var(--soft)}
th,td{text-align:left;padding:.4rem .6rem .4rem 0;border-bottom:1px solid var(--line);vertical-align:top} td{overflow-wrap:anywhere}
th{color:var(--soft);font-weight:500;font-size:.82rem;white-space:nowrap} time{white-space:nowrap}
@media(max-width:34rem){.wide{display:none}} td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
iframe{width:100%;height:34rem;border:1px solid var(--line);border-radius:.5rem;background:#fff}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.75rem;margin:0}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem;margin:1rem 0} .soft{color:var(--soft)}
button{font:inherit;padding:.35rem .8rem;border:1px solid var(--line);border-radius:.4rem;background:var(--card);color:inherit;cursor:pointer}
a:focus-visible,button:focus-visible{outline:3px solid var(--link);outline-offset:2px}
"""


class Pages:
    """Server-rendered pages without a script."""

    def __init__(self, simulator: "Simulator") -> None:
        self._simulator = simulator

    def answer(self, request: Request) -> Reply | None:
        """Answer a page's path."""
        if request.method not in ("GET", "HEAD"):
            return None
        match request.parts:
            case []:
                return self.home(request)
            case ["accepted", number]:
                return self.message(number, request)
            case ["accepted", number, recipient]:
                return self.copy(number, recipient)
        return None

    def home(self, request: Request) -> Reply:
        """Show the totals and the accepted messages, newest first."""
        simulator = self._simulator
        messages = simulator.messages[::-1]
        body = totals(
            {
                "Accepted recipients": f"{simulator.accepted:,}",
                "Accepted messages": f"{len(messages):,}",
                "Calls": f"{len(simulator.store.calls):,}",
                "Webhooks posted": f"{sum(simulator.poster.answers.values()):,}",
                "Answered 200": f"{simulator.poster.answers['200']:,}",
                "Faults waiting": f"{len(simulator.faults):,}",
            }
        )
        if not messages:
            body += (
                "<p>No mail was accepted yet. Set <code>MAILGUN_API_URL</code> to "
                f"<code>{escape(simulator.url)}</code>, start the sender and send a campaign.</p>"
            )
        else:
            start, links = paged(len(messages), request, "/")
            rows = "".join(self.row(message) for message in messages[start : start + A_PAGE])
            head = "<tr><th>Message<th>Accepted<th>Subject<th class=wide>Domain<th>Recipients</tr>"
            body += f"<h2>Messages</h2><div class=scroll><table>{head}{rows}</table></div>{links}"
        body += (
            "<nav><a href=/simulator/accepted.json>Totals with distinct addresses</a>"
            "<a href=/simulator/duplicates.json>Duplicates</a><a href=/simulator/calls.json>Calls</a>"
            "<a href=/simulator/faults.json>Faults</a></nav>"
        )
        return shown("Simulated Mailgun", body)

    def row(self, message: Message) -> str:
        """Show a message as a row."""
        content = self._simulator.store.content(message)
        first = content.personal(content.last("subject"), content.addresses[0])
        subject = escape(first) or "<span class=soft>no subject</span>"
        return (
            f"<tr><td><a href=/accepted/{message.number}>{message.number:,}</a><td>{moment(message.accepted_at)}"
            f"<td>{subject}<td class=wide>{escape(message.domain)}<td class=number>{message.recipients:,}</tr>"
        )

    def message(self, number: str, request: Request) -> Reply:
        """Show who a message went to."""
        found = self._simulator.store.message(int(number)) if number.isdigit() else None
        if found is None:
            return missing()
        content = self._simulator.store.content(found)
        start, links = paged(len(content.addresses), request, f"/accepted/{number}")
        rows = "".join(
            f'<tr><td><a href="/accepted/{number}/{quote(address)}">{escape(address)}</a>'
            f"<td>{escape(content.personal(content.last('subject'), address))}</tr>"
            for address in content.addresses[start : start + A_PAGE]
        )
        facts = {
            "Recipients": f"{found.recipients:,}",
            "Accepted": moment(found.accepted_at),
            "Domain": escape(found.domain),
            "Message-Id": escape(found.message_id),
        }
        table = f"<div class=scroll><table><tr><th>Recipient<th>Subject</tr>{rows}</table></div>"
        return shown(f"Message {number}", BACK + totals(facts) + table + links)

    def copy(self, number: str, recipient: str) -> Reply:
        """Show one reader's copy."""
        found = self._simulator.store.message(int(number)) if number.isdigit() else None
        content = self._simulator.store.content(found) if found else None
        if found is None or content is None or recipient not in content.addresses:
            return missing()
        copy = content.copy(found, recipient)
        body = f'{BACK}<nav><a href="/accepted/{number}">All recipients of message {number}</a></nav>'
        body += headers(copy)
        if copy.html:
            source = escape(f'<base target="_blank">{copy.html}')
            sandbox = "allow-popups allow-popups-to-escape-sandbox"
            body += (
                f'<h2>HTML part</h2><iframe title="HTML part" sandbox="{sandbox}" srcdoc="{source}"></iframe>'
            )
        body += f"<h2>Text part</h2><pre>{escape(copy.text)}</pre>" if copy.text else ""
        if not copy.html and not copy.text:
            body += "<p>The bodies were not kept: the simulator runs with --no-render.</p>"
        return shown(copy.subject or "(no subject)", body)


BACK = "<nav><a href=/>All messages</a></nav>"


def headers(copy: Copy) -> str:
    """Show what a reader's mail program knows."""
    pairs = [
        ("From", copy.sender),
        ("To", copy.to),
        ("Subject", copy.subject),
        ("Message-Id", f"<{copy.message_id}>"),
        *((name, value) for name, value in copy.headers if name.lower() != "message-id"),
        *((f"v:{name}", value) for name, value in copy.variables.items()),
        *(("o:tag", tag) for tag in copy.tags),
        *(("Attachment", name) for name in copy.attachments),
    ]
    rows = "".join(f"<tr><th scope=row>{escape(name)}<td>{escape(value)}</tr>" for name, value in pairs)
    return f"<h2>Headers</h2><div class=scroll><table>{rows}</table></div>"


def totals(facts: dict[str, str]) -> str:
    """Show figures; the values are HTML."""
    return (
        "<dl class=totals>"
        + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())
        + "</dl>"
    )


def moment(at: float) -> str:
    """Show a moment; the date is in the title."""
    there = time.gmtime(at)
    return f'<time title="{time.strftime("%Y-%m-%d %H:%M:%S UTC", there)}">{time.strftime("%H:%M:%S", there)} UTC</time>'


def paged(count: int, request: Request, path: str) -> tuple[int, str]:
    """Return where the asked page starts, and the links to its neighbours."""
    text = request.get("page", "1")
    last = max(1, -(-count // A_PAGE))
    page = min(max(int(text), 1), last) if text.isdigit() else 1
    links = [f"<span class=soft>Page {page:,} of {last:,}</span>"]
    links += [f"<a rel=prev href={path}?page={page - 1}>Previous</a>"] if page > 1 else []
    links += [f"<a rel=next href={path}?page={page + 1}>Next</a>"] if page < last else []
    return (page - 1) * A_PAGE, f"<nav>{''.join(links)}</nav>" if last > 1 else ""


def missing() -> Reply:
    """Say that there is no such message."""
    return shown("Not found", f"{BACK}<p>No such message was accepted since the simulator started.</p>", 404)


def shown(title: str, body: str, status: int = 200) -> Reply:
    """Return a whole page."""
    page = (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)} · Simulated Mailgun</title><style>{STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{body}</body></html>"
    )
    return Reply(status, page.encode(), HTML, [("Content-Security-Policy", POLICY)])
