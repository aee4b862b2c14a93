"""The rules for Prometheus say what they should, about figures that there are."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from mailkoenig.monitoring import metrics

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


@pytest.mark.parametrize(
    "arguments", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")]
)
def test_promtool_finds_nothing_wrong(arguments: tuple[str, ...]) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("needs promtool: apt-get install prometheus")

    found = subprocess.run([promtool, *arguments], cwd=DEPLOY, capture_output=True, text=True, check=False)

    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.django_db
def test_every_figure_in_the_rules_exists() -> None:
    shown = metrics.exposition().decode()
    names = {family.name for family in text_string_to_metric_families(shown)}

    rules = (DEPLOY / "alerts.yml").read_text()

    asked = set(re.findall(r"mailkoenig_\w+", rules))
    assert {name.removesuffix("_total") for name in asked} <= names
