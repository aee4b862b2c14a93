"""The documentation names nothing that is not there."""

import re
import tomllib
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "deploy" / "docs").glob("*.md")])
names = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@names
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


@names
def test_commands_exist(page: Path) -> None:
    assert set(re.findall(r"manage\.py ([a-z_]+)", page.read_text())) <= set(get_commands())


@names
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"(?:^|`)make ([a-z]+)", page.read_text(), re.MULTILINE)) <= targets


@names
def test_tests_that_are_named_exist(page: Path) -> None:
    known = {test for file in (ROOT / "tests").rglob("*.py") for test in defined(file)}

    assert set(re.findall(r"`(test_[a-z0-9_]+)`", page.read_text())) <= known


@names
def test_paths_that_are_named_exist(page: Path) -> None:
    for path in re.findall(
        r"`((?:tests|deploy|mailkoenig|campaigns|contacts|events)/[\w./-]+)`", page.read_text()
    ):
        assert (ROOT / path).exists(), path


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [name for extra in project["optional-dependencies"].values() for name in extra]
    wanted = [*project["dependencies"], *extras]
    table = (ROOT / "CONTRIBUTING.md").read_text().split("## Dependencies")[1]
    explained = re.findall(r"^\| `([\w.-]+)`", table, re.MULTILINE)

    assert sorted(explained) == sorted(re.split(r"[\[~>=<]", name)[0] for name in wanted)


def test_a_new_operator_finds_every_unit() -> None:
    text = (ROOT / "deploy" / "docs" / "operations.md").read_text()

    for unit in (ROOT / "deploy" / "systemd").iterdir():
        assert unit.stem in text, unit.name


def defined(file: Path) -> list[str]:
    return re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
