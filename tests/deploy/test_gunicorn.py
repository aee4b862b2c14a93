import runpy
from configparser import RawConfigParser
from pathlib import Path

import pytest

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


@pytest.mark.parametrize(
    ("path", "logged"),
    [
        ("/unsubscribe/0123456789abcdef/", "/unsubscribe/-/"),
        ("/unsubscribe/0123456789abcdef", "/unsubscribe/-"),
        ("/admin/contacts/contact/7/change/", "/admin/contacts/contact/7/change/"),
        ("/somewhere/person@example.com/", "/somewhere/-/"),
    ],
)
def test_the_access_log_holds_neither_tokens_nor_addresses(path: str, logged: str) -> None:
    config = runpy.run_path(str(DEPLOY / "gunicorn.conf.py"))

    assert config["without_secrets"](path) == logged


def test_the_access_log_format_has_no_query_client_or_referrer() -> None:
    form = runpy.run_path(str(DEPLOY / "gunicorn.conf.py"))["access_log_format"]

    for atom in ("q", "r", "h", "f", "a", "l", "u"):
        assert f"%({atom})s" not in form


def test_each_one_waits_longer_than_the_one_behind_it() -> None:
    config = runpy.run_path(str(DEPLOY / "gunicorn.conf.py"))
    unit = RawConfigParser(strict=False)
    unit.read(DEPLOY / "systemd" / "mailkoenig-web.service")
    site = (DEPLOY / "nginx" / "mailkoenig.conf").read_text()

    assert int(unit["Service"]["TimeoutStopSec"]) > config["graceful_timeout"]
    assert "proxy_read_timeout 130s;" in site
    assert config["timeout"] < 130
