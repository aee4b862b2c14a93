"""The drill through the real command; and that its judge is not one who always says yes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from django.db import connection

from mailkoenig.rehearsal.cases import CASES
from tests.processes import ROOT, environment, eventually, manage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def databases() -> set[str]:
    """Return the databases of drills on this server."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE 'drill!_%' ESCAPE '!'")
        return {row[0] for row in cursor.fetchall()}


def drill(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return manage("drill", *arguments, timeout=240, **extra)


def sabotaged(folder: Path, code: str) -> str:
    """Return a folder from which every Python process runs this code when it starts."""
    (folder / "sitecustomize.py").write_text(dedent(WHEN_IMPORTED) + dedent(code))
    return str(folder)


WHEN_IMPORTED = """
    import importlib.abc, importlib.machinery, sys


    def when_imported(name, change):
        class Finder(importlib.abc.MetaPathFinder):
            def find_spec(self, fullname, path, target=None):
                if fullname != name:
                    return None
                spec = importlib.machinery.PathFinder.find_spec(fullname, path)
                run = spec.loader.exec_module

                def exec_module(module):
                    run(module)
                    change(module)

                spec.loader.exec_module = exec_module
                return spec

        sys.meta_path.insert(0, Finder())
"""
RESEND_AT_ONCE = """
    def change(resolver):
        resolver.decide = lambda verdict, **rest: resolver.Decision.RETURN

    when_imported("campaigns.resolver", change)
"""
TAKE_TWICE_AND_LOSE_ONE = """
    def change(messages):
        checked, take = messages.checked, messages.MessagesEndpoint.take

        def without_the_last(form):
            submission = checked(form)
            del submission.content.addresses[-1]
            return submission

        def twice(self, call, submission):
            take(self, call, submission)
            return take(self, call, submission)

        messages.checked, messages.MessagesEndpoint.take = without_the_last, twice

    when_imported("mailkoenig.simulator.messages", change)
"""


def test_cases_pass() -> None:
    done = drill("--json", "--case", "race-2", "--case", "dropped", "--case", "commit-lost")

    assert (done.returncode, done.stderr) == (0, "")
    found = {row["case"]: row for row in json.loads(done.stdout)["cases"]}
    assert list(found) == ["race-2", "dropped", "commit-lost"]
    for row in found.values():
        assert (row["verdict"], row["reason"], row["twice"], row["lost"]) == ("passed", "", 0, 0)
        assert row["accepted"] == row["people"] > 0


@pytest.mark.parametrize(
    ("case", "code", "words"),
    [
        ("dropped", RESEND_AT_ONCE, ["20 people got it more than once"]),
        ("race-2", TAKE_TWICE_AND_LOSE_ONE, ["people got it more than once", "people did not get it"]),
    ],
    ids=["a resolver that resends at once", "a provider that takes it twice and loses one"],
)
def test_the_judge_says_no(tmp_path: Path, case: str, code: str, words: list[str]) -> None:
    done = drill("--case", case, PYTHONPATH=sabotaged(tmp_path, code))

    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert all(word in done.stderr for word in words)
    logs = Path(done.stderr.rsplit(" ", 1)[-1].strip().rstrip("."))
    assert list((logs / case).glob("*.log"))


def test_an_interrupted_drill_drops_its_databases() -> None:
    before = databases()
    command = [sys.executable, "manage.py", "drill", "--case", "race-2"]
    with (
        Path(os.devnull).open("wb") as nothing,
        subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=nothing, stderr=nothing) as process,
    ):
        eventually(lambda: len(mine(process, before)) == 2, within=60)

        process.send_signal(signal.SIGINT)

        assert process.wait(60) == 130
    assert mine(process, before) == set()


def mine(process: subprocess.Popen[bytes], before: set[str]) -> set[str]:
    """Return the databases that a process has made."""
    return {name for name in databases() - before if name.startswith(f"drill_{process.pid}_")}


def test_a_role_that_may_not_create_databases_is_told_what_to_do() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP ROLE IF EXISTS drill_without_rights")
        cursor.execute("CREATE ROLE drill_without_rights LOGIN PASSWORD 'x'")
    try:
        url = environment()["DATABASE_URL"]
        base, _, query = url.partition("?")
        rest = "&".join(part for part in query.split("&") if part.partition("=")[0] in ("host", "port"))
        done = drill("--case", "race-2", DATABASE_URL=f"{base}?{rest}&user=drill_without_rights&password=x")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP ROLE drill_without_rights")

    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "CREATEDB" in done.stderr


def test_an_unknown_case_is_wrong_usage_and_the_known_ones_are_named() -> None:
    done = drill("--case", "earthquake")

    assert done.returncode == 2
    assert all(name in done.stderr for name in CASES)


def test_the_list_names_every_case_and_plays_none() -> None:
    done = drill("--list")

    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(CASES)
