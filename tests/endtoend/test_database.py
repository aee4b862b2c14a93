"""The database cuts connections, goes away and comes back, or stands behind a pooler."""

import os
import pwd
import shutil
import socket
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
import requests
from django.db import connection, connections
from pytest_django.fixtures import Settings

from campaigns.models import Campaign, Recipient, SendBatch, Stream
from contacts.models import ContactList
from mailkoenig.simulator.faults import Fault
from mailkoenig.simulator.server import Simulator
from tests.endtoend.test_worker import TIMEOUTS, campaign_to, is_over, states
from tests.events.webhooks import sample, signed
from tests.processes import eventually, listens, manage, web, worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
PGBOUNCER = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"


def cut_connections() -> None:
    """End every other connection to the test database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def allow(connections_allowed: bool) -> None:
    name = connection.settings_dict["NAME"]
    with connections["default"]._nodb_cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS {str(connections_allowed).lower()}')
        if not connections_allowed:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )


def at_least(things: list[int], number: int) -> bool:
    return len(things) >= number


def everybody_once(simulator: Simulator, *, people: int) -> None:
    addresses = simulator.accepted_addresses()
    assert len(addresses) == len(set(addresses)) == people


def test_what_was_accepted_is_written_after_all(simulator: Simulator) -> None:
    # A connection may be cut between claim and call as well: those people come back when their lease ends.
    Stream.objects.update(batch_size=50, lease=timedelta(seconds=2))
    campaign = campaign_to(150)
    cut: list[int] = []

    def accept(message: object) -> None:
        cut.append(1)

    simulator.on_accept = accept
    simulator.fault(Fault("latency", times=None, seconds=0.4))

    with worker(SENDER_CONCURRENCY="1", **TIMEOUTS):
        for number in range(1, 4):
            eventually(partial(at_least, cut, number), within=40)
            cut_connections()
        eventually(lambda: is_over(campaign), within=40)

    assert states() == {"sent": 150}
    everybody_once(simulator, people=150)


def test_the_worker_waits_while_the_database_is_away_and_repeats_nothing(simulator: Simulator) -> None:
    Stream.objects.update(batch_size=50)
    campaign = campaign_to(200)
    simulator.fault(Fault("latency", times=None, seconds=0.3))

    with worker(SENDER_CONCURRENCY="2", **TIMEOUTS) as process:
        eventually(lambda: simulator.calls)
        connection.close()
        allow(False)
        calls = len(simulator.calls)
        threading.Event().wait(3)
        # No call is made without its mark in the database; those that were open are answered and kept.
        assert len(simulator.calls) <= calls + 2
        assert process.poll() is None
        allow(True)
        eventually(lambda: is_over(campaign), within=40)

    assert states() == {"sent": 200}
    everybody_once(simulator, people=200)


def test_no_transaction_is_open_during_a_call(simulator: Simulator) -> None:
    campaign = campaign_to(20)
    simulator.fault(Fault("latency", seconds=1.5))

    with worker(SENDER_CONCURRENCY="1", **TIMEOUTS):
        eventually(lambda: simulator.calls)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%%'"
            )
            assert cursor.fetchone() == (0,)
        eventually(lambda: is_over(campaign))


def delivery_to(person: Recipient) -> bytes:
    """Return the webhook that reports a delivery."""
    variables = {"batch": str(person.batch_id), "rid": str(person.pk)}
    event = {**sample("webhook-delivered"), "id": f"event-{person.pk}", "recipient": person.email}
    return signed({**event, "user-variables": variables})


def owner(host: str) -> str:
    """Return who may enter the folder of the server's socket, where its host is one."""
    return pwd.getpwuid(Path(host).stat().st_uid).pw_name if host.startswith("/") else "nobody"


@pytest.fixture
def pooler(tmp_path: Path) -> Iterator[str]:
    """PgBouncer in transaction mode in front of the test database; yields its DATABASE_URL."""
    if not Path(PGBOUNCER).exists():
        pytest.skip("PgBouncer is not installed (Debian's package pgbouncer)")
    server = connection.get_connection_params()
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    target = {
        "host": server.get("host") or "",
        "port": server.get("port") or 5432,
        "user": server.get("user") or "postgres",
    }
    if server.get("password"):
        target["password"] = server["password"]
    words = " ".join(f"{key}={value}" for key, value in target.items() if value)
    folder = tmp_path / "pooler"
    folder.mkdir()
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n{server['dbname']} = {words}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        "auth_type = any\npool_mode = transaction\ndefault_pool_size = 4\nunix_socket_dir =\n"
        "ignore_startup_parameters = extra_float_digits\n"
    )
    command = [PGBOUNCER, str(folder / "pgbouncer.ini")]
    if os.geteuid() == 0:
        # It refuses to be root.
        for path in (folder, *folder.parents):
            if path == Path("/tmp"):
                break
            path.chmod(0o755)
        command = [PGBOUNCER, "-u", owner(server.get("host") or ""), *command[1:]]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: listens(port))
        yield f"postgres:///{server['dbname']}?host=127.0.0.1&port={port}&user={target['user']}"
    finally:
        process.terminate()
        process.wait()


def test_everything_works_behind_a_pooler_in_transaction_mode(
    pooler: str, simulator: Simulator, tmp_path: Path, settings: Settings
) -> None:
    file = tmp_path / "people.csv"
    file.write_text("email,name\n" + "".join(f"reader{n}@example.com,Reader {n}\n" for n in range(5_000)))

    done = manage("import_contacts", str(file), "--list", "Readers", DATABASE_URL=pooler)
    assert done.returncode == 0, done.stderr
    campaign: Campaign = campaign_to(1)
    campaign.lists.set(ContactList.objects.filter(name="Readers"))
    with worker(DATABASE_URL=pooler, **TIMEOUTS), worker(DATABASE_URL=pooler, **TIMEOUTS):
        eventually(lambda: is_over(campaign), within=60)
    with web(DATABASE_URL=pooler) as site:
        for person in Recipient.objects.order_by("pk")[:10]:
            answer = requests.post(f"{site}/webhooks/mailgun/", data=delivery_to(person), timeout=10)
            assert answer.text == "Recorded.\n"

    assert Counter(Recipient.objects.values_list("status", flat=True)) == {"sent": 4_990, "delivered": 10}
    everybody_once(simulator, people=5_000)
    assert not SendBatch.objects.filter(state__in=["leased", "in_flight", "unknown"]).exists()
