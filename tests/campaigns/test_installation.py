"""A restored or copied database sends nothing until a person confirms."""

from pathlib import Path
from threading import Thread

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from campaigns import installation
from campaigns.installation import Gate, difference
from campaigns.models import Installation
from campaigns.sender import Sender
from campaigns.sql import identity
from campaigns.sql.identity import Known
from mailkoenig.simulator.server import Simulator
from tests.factories import CampaignFactory, RecipientFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def file(tmp_path: Path, settings: Settings) -> Path:
    settings.INSTANCE_FILE = tmp_path / "data" / "instance.json"
    return tmp_path / "data" / "instance.json"


@pytest.mark.parametrize(
    ("known", "outside", "words"),
    [
        (Known("a", 5, ""), 5, ""),
        (Known("a", 7, ""), 5, ""),
        (Known("a", 4, ""), 5, "restored from a backup"),
        (Known("b", 5, ""), 5, "copied or restored"),
        (Known("a", 5, "held before"), 5, "held before"),
    ],
)
def test_a_difference_is_named(known: Known, outside: int, words: str) -> None:
    found = difference(known, server="a", beats_outside=outside)

    assert words in found
    assert bool(found) == bool(words)


def test_the_first_start_is_open_and_counts_in_both_places(file: Path) -> None:
    gate = Gate()

    assert [gate.reason(), gate.reason()] == ["", ""]

    row = Installation.objects.get()
    assert row.beats == 1
    assert installation.remembered(file) == {identity.server(): 1}


def test_a_second_host_without_a_file_is_no_restore() -> None:
    Gate().reason()

    assert Gate(file=Path("/nonexistent/instance.json")).reason() == ""


def test_an_older_state_is_held_until_confirmed_and_stays_open_after() -> None:
    gate = Gate()
    gate.reason()
    installation.remember(gate.file, identity.server(), 100)

    assert "backup" in Gate().reason()
    assert "backup" in Installation.objects.get().held_reason
    installation.confirm(by="ada")

    assert Gate().reason() == ""
    assert Installation.objects.get().confirmed_by == "ada"


def test_a_copy_on_another_server_is_held() -> None:
    Gate().reason()
    Installation.objects.update(server="another/1/2")

    assert "another server" in Gate().reason()


def test_nothing_is_sent_while_it_is_held(simulator: Simulator) -> None:
    RecipientFactory.create(campaign=CampaignFactory.create(status="sending"))
    Gate().reason()
    Installation.objects.update(server="another/1/2")
    sender = Sender(worker="w")

    sender.run_once()
    assert simulator.calls == []

    installation.confirm(by="ada")
    sender.run_once()
    assert len(simulator.calls) == 1
    sender.providers[0].close()


def test_a_file_full_of_rubbish_is_no_reason_to_stop(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("{nonsense")

    assert Gate().reason() == ""


@pytest.mark.django_db(transaction=True)
def test_workers_that_count_at_the_same_moment_are_no_restore(file: Path) -> None:
    Gate().reason()
    reasons: set[str] = set()

    def work() -> None:
        for _ in range(60):
            reasons.add(Gate(file=file).reason())
        connection.close()

    workers = [Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert reasons == {""}


def test_counts_of_several_databases_in_one_file_never_go_back(file: Path) -> None:
    def count(server: str) -> None:
        for beats in range(50):
            installation.remember(file, server, beats)

    threads = [Thread(target=count, args=(server,)) for server in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert installation.remembered(file) == {"a": 49, "b": 49, "c": 49}
