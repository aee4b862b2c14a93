"""Several threads of a worker compile the same mail first, at the same moment."""

import subprocess
import sys

import pytest

from tests.processes import ROOT, environment

CODE = """
import django
django.setup()
from mdurl import _decode, _encode
from campaigns.content import markdown

print(bool(_encode.encode_cache), bool(_decode.decode_cache))
"""


@pytest.mark.django_db
def test_the_tables_for_addresses_are_full_before_anybody_compiles() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=ROOT,
        env={**environment(), "DJANGO_SETTINGS_MODULE": "mailkoenig.settings"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.split() == ["True", "True"], done.stderr
