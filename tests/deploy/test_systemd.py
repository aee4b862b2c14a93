import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest
from django.conf import settings

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
LASTING = [unit for unit in SERVICES if "Type=oneshot" not in unit.read_text()]
# systemd-analyze also looks at what is not ours; these stand for what a server has and this machine may not.
STANDINS = {
    "/opt/mailkoenig/.venv/bin/gunicorn": sys.executable,
    "/opt/mailkoenig/.venv/bin/python": sys.executable,
    "/opt/mailkoenig/deploy/docs": str(DEPLOY / "docs"),
}


def read(unit: Path) -> RawConfigParser:
    parsed = RawConfigParser(strict=False)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]  # names of directives keep their case
    parsed.read(unit)
    return parsed


def copies(folder: Path, *, of: list[Path]) -> list[Path]:
    """Return copies of units that name only what this machine has."""
    found = []
    for unit in of:
        text = unit.read_text()
        for name, real in STANDINS.items():
            text = text.replace(name, real)
        found.append(folder / unit.name.replace("@.", "@receipts."))
        found[-1].write_text(text)
    return found


def verify(units: list[Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *map(str, units)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "SYSTEMD_UNIT_PATH": f"{units[0].parent}:"},
    )


needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed here"
)


@needs_systemd
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    result = verify(copies(tmp_path, of=UNITS))

    assert (result.returncode, result.stderr) == (0, "")


def test_the_template_is_the_sender_for_one_stream() -> None:
    sender = read(DEPLOY / "systemd" / "mailkoenig-sender.service")
    template = read(DEPLOY / "systemd" / "mailkoenig-sender@.service")

    assert template["Service"].pop("ExecStart") == f"{sender['Service'].pop('ExecStart')} --stream %i"
    assert dict(template["Service"]) == dict(sender["Service"])


@needs_systemd
def test_the_verification_bites(tmp_path: Path) -> None:
    unit = copies(tmp_path, of=[DEPLOY / "systemd" / "mailkoenig-sender.service"])[0]
    unit.write_text(unit.read_text().replace("Restart=always", "Restart=forever"))

    assert "restart specifier" in verify([unit]).stderr


@pytest.mark.parametrize("unit", LASTING, ids=lambda unit: str(unit.stem))
def test_services_come_back_by_themselves(unit: Path) -> None:
    service = read(unit)["Service"]

    assert (service["Restart"], service["RestartSec"]) == ("always", "5")


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: str(unit.stem))
def test_services_may_do_little(unit: Path) -> None:
    service = read(unit)["Service"]

    assert (service["User"], service["EnvironmentFile"]) == ("mailkoenig", "/etc/mailkoenig/env")
    assert service["NoNewPrivileges"] == service["PrivateTmp"] == service["ProtectHome"] == "true"
    assert service["ProtectSystem"] == "strict"


def test_the_sender_is_killed_only_after_it_had_time_to_stop() -> None:
    service = read(DEPLOY / "systemd" / "mailkoenig-sender.service")["Service"]

    assert service["KillSignal"] == "SIGTERM"
    assert int(service["TimeoutStopSec"]) >= settings.SENDER_GRACE + 10


def test_the_sender_can_write_where_the_installation_puts_its_file() -> None:
    folder = read(DEPLOY / "systemd" / "mailkoenig-sender.service")["Service"]["StateDirectory"]

    for page in ("env.example", "docs/install.md"):
        assert f"/var/lib/{folder}/instance.json" in (DEPLOY / page).read_text()


def test_files_that_the_units_name_are_in_the_tree() -> None:
    root = DEPLOY.parent
    for unit in UNITS:
        for word in unit.read_text().split():
            path = word.removeprefix("file://")
            if path.startswith("/opt/mailkoenig/") and "/.venv/" not in path:
                assert (root / path.removeprefix("/opt/mailkoenig/")).exists(), path
