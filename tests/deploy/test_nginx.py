"""The site as nginx runs it, in front of a stand-in for the web process. Nothing here needs the database."""

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import NamedTuple

import pytest
from django.conf import settings

SITE = Path(__file__).resolve().parents[2] / "deploy" / "nginx" / "mailkoenig.conf"
AROUND = """
user root;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""
pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed here")


class Answer(NamedTuple):
    status: int
    body: str
    headers: dict[str, str]


class Site:
    """A running nginx, and the requests that came through it."""

    def __init__(self, folder: Path, plain: int, tls: int) -> None:
        self.folder, self.plain, self.tls = folder, plain, tls

    def ask(
        self,
        method: str,
        path: str,
        *,
        tls: bool = True,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send one request and return the answer."""
        if tls:
            trusting = ssl._create_unverified_context()
            link: http.client.HTTPConnection = http.client.HTTPSConnection(
                "127.0.0.1", self.tls, context=trusting, timeout=10
            )
        else:
            link = http.client.HTTPConnection("127.0.0.1", self.plain, timeout=10)
        link.request(method, path, body=body, headers={"Host": "mail.example.com", **(headers or {})})
        answer = link.getresponse()
        text = answer.read().decode()
        link.close()
        return Answer(answer.status, text, {name.lower(): value for name, value in answer.getheaders()})


class Echo(BaseHTTPRequestHandler):
    """Answers with what reached it."""

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        got = len(self.rfile.read(length))
        proto, client = self.headers["X-Forwarded-Proto"], self.headers["X-Forwarded-For"]
        text = f"{self.command} {self.path} {got} proto={proto} for={client}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        return

    def address_string(self) -> str:
        return ""


class Web(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def certificate(folder: Path) -> None:
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    files = ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", *kind, "-subj", "/CN=mail.example.com", *files],
        check=True,
        capture_output=True,
    )


def localised(folder: Path, *, plain: int, tls: int) -> str:
    """Return the site with this machine's ports and paths."""
    text = SITE.read_text()
    text = re.sub(r"listen \[::\]:.*;", "", text)
    text = text.replace("listen 80;", f"listen 127.0.0.1:{plain};")
    text = text.replace("listen 443 ssl", f"listen 127.0.0.1:{tls} ssl")
    text = text.replace("/etc/letsencrypt/live/mail.example.com", str(folder))
    text = text.replace("/run/mailkoenig/web.sock", f"{folder}/web.sock")
    text = text.replace("/opt/mailkoenig/.data", f"{folder}/data")
    return text.replace("/var/log/nginx", str(folder))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed here")
    folder = tmp_path_factory.mktemp("nginx")
    running = Site(folder, free_port(), free_port())
    (folder / "data/static").mkdir(parents=True)
    (folder / "data/static/style.0123456789ab.css").write_text("body {}")
    certificate(folder)
    (folder / "site.conf").write_text(localised(folder, plain=running.plain, tls=running.tls))
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder))
    command = ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    web = Web(str(folder / "web.sock"), Echo)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    nginx = subprocess.Popen([*command, "-g", "daemon off;"])
    try:
        await_port(running.tls)
        yield running
    finally:
        nginx.terminate()
        nginx.wait(10)
        web.shutdown()
        web.server_close()


def await_port(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        threading.Event().wait(0.05)
    raise AssertionError("nginx did not start")


def test_people_are_led_to_https(site: Site) -> None:
    answer = site.ask("GET", "/admin/?q=1", tls=False)

    assert (answer.status, answer.headers["location"]) == (301, "https://mail.example.com/admin/?q=1")


@pytest.mark.parametrize("path", ["/webhooks/mailgun/", "/webhooks/mailgun"])
def test_a_webhook_without_tls_is_refused_and_not_redirected(site: Site, path: str) -> None:
    assert site.ask("POST", path, tls=False, body=b"{}").status == 403


def test_the_api_without_tls_is_refused_and_its_refusals_are_problems(site: Site) -> None:
    plain = site.ask("POST", "/api/v1/messages", tls=False, body=b"{}")
    large = site.ask("POST", "/api/v1/messages", body=b"x" * (settings.API_MAX_BYTES + 1))

    for answer, status in ((plain, 403), (large, 413)):
        assert (answer.status, json.loads(answer.body)["status"]) == (status, status)
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("path", ["/unsubscribe/0123abcd/", "/unsubscribe/0123abcd"])
def test_a_one_click_post_arrives_with_its_body(site: Site, path: str, tls: bool) -> None:
    answer = site.ask("POST", path, tls=tls, body=b"List-Unsubscribe=One-Click")

    assert (answer.status, answer.body.split(" proto")[0]) == (200, f"POST {path} 26")


def test_a_webhook_arrives_with_its_body(site: Site) -> None:
    answer = site.ask("POST", "/webhooks/mailgun/", body=b"x" * 900_000)

    assert (answer.status, answer.body.split(" proto")[0]) == (200, "POST /webhooks/mailgun/ 900000")


def test_the_scheme_and_the_client_are_nginx_s_word_and_not_the_client_s(site: Site) -> None:
    forged = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}

    assert "proto=http for=127.0.0.1" in site.ask("GET", "/unsubscribe/x/", tls=False, headers=forged).body
    assert "proto=https for=127.0.0.1" in site.ask("GET", "/admin/", headers=forged).body


@pytest.mark.parametrize(
    ("path", "size", "status"),
    [
        ("/webhooks/mailgun/", settings.WEBHOOK_MAX_BYTES, 200),
        ("/webhooks/mailgun/", settings.WEBHOOK_MAX_BYTES + 1, 413),
        ("/unsubscribe/x/", 100_000, 413),
        ("/admin/campaigns/", 7_000_000, 413),
        ("/admin/contacts/", 7_000_000, 200),
        ("/api/v1/messages", settings.API_MAX_BYTES, 200),
        ("/api/v1/messages", settings.API_MAX_BYTES + 1, 413),
    ],
)
def test_bodies_have_the_limit_of_their_place(site: Site, path: str, size: int, status: int) -> None:
    assert site.ask("POST", path, body=b"x" * size).status == status


def test_a_file_of_contacts_may_be_as_large_as_the_settings_say() -> None:
    place = SITE.read_text().split("location /admin/contacts/ {")[1].split("}")[0]
    allowed = re.search(r"client_max_body_size (\d+)m;", place)

    assert allowed and int(allowed.group(1)) * 2**20 > settings.IMPORT_MAX_BYTES


def test_static_files_come_from_where_collectstatic_puts_them(site: Site) -> None:
    answer = site.ask("GET", "/static/style.0123456789ab.css")

    assert (answer.status, answer.body) == (200, "body {}")
    assert "immutable" in answer.headers["cache-control"]
    assert settings.STATIC_ROOT.relative_to(settings.BASE_DIR) == Path(".data/static")


def test_a_missing_static_file_is_the_web_s_to_answer(site: Site) -> None:
    assert site.ask("GET", "/static/other.css").body.startswith("GET /static/other.css")


def test_transport_security_is_promised_once(site: Site) -> None:
    link = http.client.HTTPSConnection(
        "127.0.0.1", site.tls, context=ssl._create_unverified_context(), timeout=10
    )
    link.request("GET", "/static/style.0123456789ab.css", headers={"Host": "mail.example.com"})
    found = link.getresponse().headers.get_all("Strict-Transport-Security")
    link.close()

    assert found == ["max-age=31536000"]


def test_the_access_log_holds_no_query_no_token_and_no_client(site: Site) -> None:
    site.ask("GET", "/unsubscribe/secret-token/?email=person@example.com")
    site.ask("GET", "/admin/?q=person@example.com")
    site.ask("GET", "/api/v1/contacts/person@example.com")
    site.ask("GET", "/api/v1/contacts/person%40example.com")

    log = (site.folder / "mailkoenig.access.log").read_text()

    assert "/unsubscribe/- 200" in log
    assert not [word for word in ("secret-token", "person@", "?", "127.0.0.1") if word in log]
