import json
import os
import subprocess
import sys
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command

from contacts.models import Contact, ContactImport, ContactList, Suppression
from mailkoenig.lib.command import UserError
from tests.factories import ContactFactory, ContactListFactory, MembershipFactory, SuppressionFactory

pytestmark = pytest.mark.django_db

FILES = Path(__file__).parent / "files"


def run(path: Path | str, *options: str) -> dict[str, Any]:
    """Run the command on a file and return the object it prints; the totals add up each time."""
    out = StringIO()
    call_command("import_contacts", str(path), "--json", *options, stdout=out)
    printed: dict[str, Any] = json.loads(out.getvalue())
    parts = ("created", "updated", "unchanged", "skipped", "refused")
    assert printed["read"] == sum(printed[part] for part in parts)
    assert len(printed["refusals"]) == printed["refused"]
    assert len(printed["skips"]) == printed["skipped"]
    return printed


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Return what writes a file and returns its path."""

    def write(text: str | bytes, *, encoding: str = "utf-8") -> Path:
        path = tmp_path / "file.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return write


def numbers(printed: dict[str, Any]) -> tuple[int, ...]:
    return tuple(printed[name] for name in ("read", "created", "updated", "unchanged", "skipped", "refused"))


def people() -> dict[str, str]:
    return dict(Contact.objects.values_list("email", "name"))


@pytest.mark.parametrize("name", ["c01_bom.csv", "c01_bom_name_first.csv"])
def test_byte_order_mark_is_no_part_of_the_header(name: str) -> None:
    assert numbers(run(FILES / name)) == (3, 3, 0, 0, 0, 0)

    assert people() == {
        "ida@example.org": "Ida Meier",
        "bea@example.org": "Bea Sommer",
        "carl@example.com": "Carl Winter",
    }
    assert Contact.objects.get(email="ida@example.org").attributes == {"city": "Hamburg"}


def test_windows_umlauts_and_blanks_round_addresses_are_read_right() -> None:
    ContactFactory.create(email="greta.gruen@example.org", name="")

    assert numbers(run(FILES / "c03_latin1_spaces.csv", "--update")) == (3, 2, 1, 0, 0, 0)

    assert people() == {
        "greta.gruen@example.org": "Greta Grün",
        "joerg.muessig@example.org": "Jörg Müßig",
        "zoe@example.com": "Zoë O\u2019Brien \u2013 Straße",
    }


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom", "cp1252", "utf-32"])
def test_encodings_are_told_apart(written: Any, encoding: str) -> None:
    text = "e-mail\tname\njoerg@example.org\tJörg Müßig\n"
    path = (
        written(b"\xff\xfe" + text.encode("utf-16-le"))
        if encoding.endswith("bom")
        else written(text, encoding=encoding)
    )

    assert numbers(run(path)) == (1, 1, 0, 0, 0, 0)

    assert people() == {"joerg@example.org": "Jörg Müßig"}


def test_a_few_bad_bytes_spoil_their_own_rows_only(written: Any) -> None:
    path = written(
        "email,name\na@example.org,Jörg\nb@example.org,Zoë\n".encode() + b"c@example.org,J\xf6rg\n"
    )

    printed = run(path)

    assert numbers(printed) == (3, 2, 0, 0, 0, 1)
    assert printed["refusals"] == [
        {"row": 3, "reason": "The row holds bytes that cannot be read in the encoding of the file."}
    ]
    assert people()["a@example.org"] == "Jörg"


def test_records_are_counted_not_lines() -> None:
    printed = run(FILES / "c05_quoted_newline.csv")

    assert numbers(printed) == (4, 3, 0, 0, 0, 1)
    assert [refusal["row"] for refusal in printed["refusals"]] == [4]
    ida = Contact.objects.get(email="ida@example.org")
    assert (ida.name, ida.attributes["notes"]) == (
        "Ida Meier",
        "first line\r\nsecond line\r\n\r\nfourth line",
    )
    assert people()["bea@example.org"] == 'Bea "Bee" Sommer'


def test_a_dirty_file_adds_up_and_its_clean_rows_arrive() -> None:
    printed = run(FILES / "c07_rubbish.csv")

    assert numbers(printed) == (10, 5, 0, 0, 1, 4)
    assert {refusal["row"]: refusal["reason"] for refusal in printed["refusals"]} == {
        2: "There is no address.",
        3: "An email address must have an @-sign.",
        5: "The row holds a zero byte.",
        10: "There are 4 cells, but the header names 2 columns.",
    }
    assert printed["skips"] == [{"row": 8, "reason": "The address stands in row 1 already."}]
    assert people() == {
        "good1@example.org": "Good One",
        "good2@example.org": "Good Two",
        "short@example.org": "",
        "good3@example.org": "Good Three",
        "good4@example.org": "Good Four",
    }


def test_open_quote_is_named_and_swallows_no_other_row() -> None:
    printed = run(FILES / "c07_unmatched_quote.csv")

    assert numbers(printed) == (62, 61, 0, 0, 0, 1)
    assert printed["refusals"] == [
        {"row": 2, "reason": "A quotation mark opens in this row and is never closed."}
    ]


def test_huge_cell_is_named_and_its_neighbours_arrive(written: Any) -> None:
    path = written(
        'email,name\nida@example.org,Ida\nbig@example.org,"' + "x" * 10_000_000 + '"\nbea@example.org,Bea\n'
    )

    printed = run(path)

    assert numbers(printed) == (3, 2, 0, 0, 0, 1)
    assert printed["refusals"][0]["row"] == 2
    assert "longer than" in printed["refusals"][0]["reason"]


def test_import_brings_nobody_back() -> None:
    for name, state in (("bea", "unsubscribed"), ("carl", "bounced"), ("dora", "complained")):
        ContactFactory.create(email=f"{name}@example.org", name="Before", status=state)

    printed = run(FILES / "c08_resubscribe.csv", "--update", "--list", "News")

    assert numbers(printed) == (4, 1, 0, 0, 3, 0)
    assert [row["reason"] for row in printed["skips"]] == [
        "kept suppressed: unsubscribed",
        "kept suppressed: bounced",
        "kept suppressed: complained",
    ]
    assert set(Contact.objects.values_list("name", "status")) == {
        ("Before", "unsubscribed"),
        ("Before", "bounced"),
        ("Before", "complained"),
        ("Ida", "active"),
    }
    assert [contact.email for contact in ContactList.objects.get().contacts.all()] == ["ida@example.org"]


def test_suppressed_address_without_a_contact_is_not_made_one(written: Any) -> None:
    SuppressionFactory.create(address="gone@example.org", reason=Suppression.Reason.MANUAL)

    printed = run(written("email\nGone@example.org\ngone@example.org\n"))

    assert numbers(printed) == (2, 0, 0, 0, 2, 0)
    assert [row["reason"] for row in printed["skips"]] == [
        "kept suppressed: manual",
        "The address stands in row 1 already.",
    ]
    assert not Contact.objects.exists()


def test_html_in_names_is_kept_as_it_is() -> None:
    assert numbers(run(FILES / "c10_html_names.csv")) == (7, 7, 0, 0, 0, 0)

    assert people()["h4@example.org"] == "Müller & Söhne"
    assert people()["h5@example.org"] == "A &amp; B"
    assert people()["h1@example.org"] == "<b>Ida</b>"


def test_line_breaks_of_every_kind_are_folded_in_names() -> None:
    assert numbers(run(FILES / "c14_newline_names.csv")) == (5, 5, 0, 0, 0, 0)

    assert sorted(people().values()) == [
        "Ida Bcc: spy@example.net",
        "Ida Line",
        "Ida VT",
        "Ida X-Test: 1 second body",
        "Plain Ida",
    ]


def test_words_for_a_missing_name_are_no_names() -> None:
    assert numbers(run(FILES / "c16_missing_names.csv")) == (7, 7, 0, 0, 0, 0)

    assert [name for name in people().values() if name] == ["Ida"]


def test_known_contacts_change_only_with_update(written: Any) -> None:
    ContactFactory.create(email="ida@example.org", name="Ida", attributes={"city": "Kiel", "age": "30"})
    path = written("email,name,city,age\nida@example.org,Ida Meier,Bremen,\n")

    assert numbers(run(path)) == (1, 0, 0, 1, 0, 0)
    assert people() == {"ida@example.org": "Ida"}

    assert numbers(run(path, "--update")) == (1, 0, 1, 0, 0, 0)
    ida = Contact.objects.get()
    assert (ida.name, ida.attributes) == ("Ida Meier", {"city": "Bremen", "age": "30"})

    assert numbers(run(path, "--update")) == (1, 0, 0, 1, 0, 0)


def test_empty_name_does_not_erase_one(written: Any) -> None:
    ContactFactory.create(email="ida@example.org", name="Ida")

    assert numbers(run(written("email,name\nida@example.org,\n"), "--update")) == (1, 0, 0, 1, 0, 0)

    assert people() == {"ida@example.org": "Ida"}


def test_list_is_made_and_takes_known_contacts_too(written: Any) -> None:
    ContactFactory.create(email="ida@example.org")

    run(written("email\nida@example.org\nbea@example.org\n"), "--list", "News")
    run(written("email\ncarl@example.org\nbea@example.org\n"), "--list", "News")

    assert ContactList.objects.get(name="News").contacts.count() == 3


def test_list_that_exists_is_not_made_again(written: Any) -> None:
    member = MembershipFactory.create(list=ContactListFactory.create(name="News"))

    run(written(f"email\n{member.contact.email}\n"), "--list", "News")

    assert ContactList.objects.get().contacts.count() == 1


def test_dry_run_counts_and_writes_nothing(written: Any) -> None:
    ContactFactory.create(email="ida@example.org", name="Ida")

    path = written("email,name\nida@example.org,Other\nbea@example.org,Bea\nnobody,x\n")
    assert numbers(run(path, "--dry-run", "--update", "--list", "News")) == (3, 1, 1, 0, 0, 1)

    assert people() == {"ida@example.org": "Ida"}
    assert not ContactList.objects.exists()
    assert not ContactImport.objects.exists()


def test_import_is_kept_with_its_refusals(written: Any) -> None:
    run(written("email\nida@example.org\nnobody\n"), "--list", "News")

    kept = ContactImport.objects.get()
    assert (kept.file_name, kept.read, kept.created, kept.refused) == ("file.csv", 2, 1, 1)
    assert kept.list == ContactList.objects.get()
    assert list(kept.refusals.values_list("row", "reason")) == [(2, "An email address must have an @-sign.")]


def test_first_and_last_name_make_the_name_and_stay_attributes(written: Any) -> None:
    run(written("First Name;Nachname;E-Mail-Adresse;sep\nIda;Meier;ida@example.org;x\n"))

    ida = Contact.objects.get()
    assert ida.name == "Ida Meier"
    assert ida.attributes == {"first_name": "Ida", "nachname": "Meier", "sep": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "email,name\nida@example.org,Ida\n",
        "E-Mail;Name\nida@example.org;Ida\n",
        "EMAIL ADDRESS\tName\nida@example.org\tIda\n",
        "name|mail\nIda|ida@example.org\n",
        "sep=;\nemail;name\nida@example.org;Ida\n",
        "\n\nemail,name\r\rida@example.org,Ida\r",
        'email, name\nida@example.org, "Ida"\n',
        "email,name,,\nida@example.org,Ida,,\n",
        "email;name, first\nida@example.org;Ida\n",
    ],
)
def test_every_usual_shape_of_file_is_read(written: Any, text: str) -> None:
    assert numbers(run(written(text))) == (1, 1, 0, 0, 0, 0)

    assert [contact.email for contact in Contact.objects.all()] == ["ida@example.org"]


def test_header_alone_is_no_error(written: Any) -> None:
    assert numbers(run(written("email,name\n"))) == (0, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"\xef\xbb\xbf\n", "empty"),
        (b"PK\x03\x04rest", "save it as CSV"),
        (b"%PDF-1.7", "save it as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1", "save it as CSV"),
        (b"<html><table>", "save it as CSV"),
        ("email,name\nida@example.org,Ida".encode("utf-16-le"), "save it as CSV"),
        (b"name,city\nIda,Kiel\n", "call it “email”"),
        (b"ida@example.org,Ida\n", "has no header"),
        (b"email,e-mail\nx,y\n", "both hold addresses"),
        (b"email,City,city\n", "“City” and “city”"),
        (b'email,"name\nida@example.org,Ida\n', "cannot be read as a header"),
    ],
)
def test_file_that_cannot_be_read_is_refused_with_what_to_do(
    written: Any, content: bytes, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        run(written(content))

    assert not ContactImport.objects.exists()


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="There is no file"):
        run(tmp_path / "missing.csv")
    with pytest.raises(UserError, match="is a folder"):
        run(tmp_path)


@pytest.mark.parametrize("name", ["x" * 101, "two\nlines", " blank"])
def test_impossible_list_name_is_refused(written: Any, name: str) -> None:
    with pytest.raises(UserError, match="name of a list"):
        run(written("email\nida@example.org\n"), "--list", name)


def test_summary_says_what_happened_and_what_to_do_next(written: Any) -> None:
    out = StringIO()

    call_command("import_contacts", str(written("email\nida@example.org\nnobody\n")), stdout=out)

    assert out.getvalue().splitlines() == [
        "row 2: An email address must have an @-sign.",
        "2 read, 1 created, 0 updated, 0 unchanged, 0 skipped, 1 refused.",
        "Mend the refused rows and import the file again: the others stay as they are.",
    ]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe(BytesIO):
        def seekable(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", type("Input", (), {"buffer": Pipe(b"email\nida@example.org\n")}))

    assert numbers(run("-")) == (1, 1, 0, 0, 0, 0)


@pytest.mark.slow
def test_command_fails_with_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "import_contacts", str(tmp_path / "missing.csv")],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        check=False,
    )

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "There is no file" in done.stderr


def test_an_import_is_in_the_audit_trail_and_a_dry_run_is_not(written: Any) -> None:
    path = written("email\nada@example.com\n")
    run(path, "--dry-run")
    assert not LogEntry.objects.exists()

    run(path)

    entry = LogEntry.objects.get()
    assert entry.get_change_message() == "Imported file.csv (1 rows)."
    assert entry.user.get_username().endswith(" on the command line")
