import ast
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = ROOT / "mailkoenig" / "settings.py"
EXAMPLE = ROOT / "deploy" / "env.example"


def example() -> dict[str, str]:
    """Return the variables of the example with their values."""
    lines = [line for line in EXAMPLE.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def read_by_settings() -> dict[str, str]:
    """Return every variable that the settings read, with its default as text; what is worked out counts as empty."""
    tree = ast.parse(SETTINGS.read_text())
    readers = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and is_typed_reader(node)}
    fallbacks = {
        id(node.values[0]): node.values[1] for node in ast.walk(tree) if isinstance(node, ast.BoolOp)
    }
    found: dict[str, str] = {}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and is_reader(call, readers) and (name := as_text(call.args[0])):
            default = as_text(given_default(call)) or as_text(fallbacks.get(id(call)))
            found[name] = found.get(name) or default
    return found


def is_typed_reader(function: ast.FunctionDef) -> bool:
    return [argument.arg for argument in function.args.args][:1] == ["name"]


def is_reader(call: ast.Call, readers: set[str]) -> bool:
    function = call.func
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id == "env"
    return isinstance(function, ast.Name) and function.id in readers


def given_default(call: ast.Call) -> ast.expr | None:
    named = [keyword.value for keyword in call.keywords if keyword.arg == "default"]
    return named[0] if named else call.args[1] if len(call.args) > 1 else None


def as_text(node: ast.expr | None) -> str:
    value = node.value if isinstance(node, ast.Constant) else ""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def without_environment(patch: pytest.MonkeyPatch) -> None:
    for name in read_by_settings():
        patch.delenv(name, raising=False)


def settings() -> dict[str, str]:
    """Return every setting as text, without the addresses of functions."""
    found = runpy.run_path(str(SETTINGS))
    return {
        name: re.sub(r" at 0x[0-9a-f]+", "", repr(value)) for name, value in found.items() if name.isupper()
    }


def test_the_example_names_every_variable_that_the_settings_read_and_no_other() -> None:
    assert sorted(example()) == sorted(read_by_settings())


def test_the_example_gives_the_defaults() -> None:
    assert example() == read_by_settings()


@pytest.mark.skipif((ROOT / ".env").exists(), reason="a .env file sets this checkout's variables")
def test_the_example_as_it_stands_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    without_environment(monkeypatch)
    by_default = settings()

    for name, value in example().items():
        monkeypatch.setenv(name, value)

    assert settings() == by_default


def test_each_variable_stands_in_a_block_of_its_own_with_its_meaning() -> None:
    blocks = EXAMPLE.read_text().strip().split("\n\n")[1:]

    assert len(blocks) == len(example())
    for block in blocks:
        assert re.fullmatch(r"(# \S.*\n)+[A-Z_]+=\S*", block), block


def test_no_variable_is_read_anywhere_else() -> None:
    # tests/environment.py sets them before the settings are read; manage.py and wsgi.py name the settings.
    for folder in ("mailkoenig", "campaigns", "contacts", "events"):
        for file in (ROOT / folder).rglob("*.py"):
            if file != SETTINGS:
                assert not re.search(r"os\.(getenv|environ\[|environ\.get)", file.read_text()), file
