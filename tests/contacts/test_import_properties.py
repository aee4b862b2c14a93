"""What holds for every file, however odd."""

import csv
import json
from io import BytesIO, StringIO

import pytest
from django.utils.html import escape
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from contacts.importing import Report, import_contacts
from contacts.importing.columns import RESERVED, NoSuchColumns, columns_of, key_of
from contacts.importing.rows import LONGEST_NAME, NO_NAME, tidy_name
from contacts.models import Contact
from mailkoenig.lib.command import UserError
from mailkoenig.lib.csv_table import OPEN_QUOTE, Damaged, open_table

pytestmark = pytest.mark.django_db

# Text as it comes in files: quotes, delimiters and line ends are far more common than chance would have them.
WORDS = ["email", "name", "a@example.org", "b@example.org", '""', "NULL", "sep="]
PIECES = st.sampled_from([*WORDS, *',;|"xö\\=@ \t\n\r\0\ufeff\u2028'])
FILES = st.one_of(
    st.binary(max_size=300),
    st.lists(PIECES, max_size=60).map(lambda pieces: "".join(pieces).encode()),
    st.lists(PIECES, max_size=60).map(lambda pieces: ("email,name\n" + "".join(pieces)).encode()),
    st.lists(PIECES, max_size=40).map(lambda pieces: ("email,name\n" + "".join(pieces)).encode("utf-16")),
    st.binary(max_size=200).map(lambda content: b"email,name\n" + content),
)


def run(content: bytes, *, update: bool = False) -> Report:
    return import_contacts(BytesIO(content), file_name="file.csv", update=update)


class EveryFile(TestCase):
    @settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(FILES)
    @example(b"\xff\xfe\x00")
    @example(b'email\n"')
    @example(b"\xef\xbb\xbf\xef\xbb\xbfemail\na@example.org\n")
    @example(b"email\n\xff")
    def test_is_refused_with_one_sentence_or_adds_up(self, content: bytes) -> None:
        try:
            report = run(content)
        except UserError as error:
            self.assertTrue(str(error).encode())
            self.assertNotIn("\n", str(error))
            return
        totals = report.totals
        self.assertEqual(totals["read"], sum(totals.values()) - totals["read"])
        refusals = list(report.refusals)
        self.assertEqual(len(refusals), report.refused + report.skipped)
        self.assertEqual([row.row for row in refusals], sorted({row.row for row in refusals}))
        self.assertTrue(all(row.reason.strip() for row in refusals))
        json.dumps([refusal._asdict() for refusal in refusals]).encode()

    @settings(max_examples=100, deadline=None)
    @given(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
            max_size=8,
        )
    )
    def test_keeps_every_name_and_note_through_quotes_and_breaks(self, texts: list[str]) -> None:
        out = StringIO()
        writer = csv.writer(out)
        writer.writerow(["email", "name", "notes"])
        for number, text in enumerate(texts):
            writer.writerow([f"p{number}@example.org", text, text])

        report = run(out.getvalue().encode())

        self.assertEqual(report.created, len(texts))
        stored = dict(Contact.objects.values_list("email", "name"))
        self.assertEqual(stored, {f"p{n}@example.org": tidy_name(text) for n, text in enumerate(texts)})
        for name in stored.values():
            self.assertNotRegex(name, "[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
            self.assertNotIn("<", escape(name))


@given(st.text(max_size=LONGEST_NAME))
def test_tidy_name_is_one_line_and_stays_as_it_is(text: str) -> None:
    name = tidy_name(text)

    assert name == tidy_name(name) or name.lower() in NO_NAME or tidy_name(name) == ""
    assert len(name.splitlines()) <= 1
    assert name == name.strip()


@given(st.text(max_size=80))
def test_key_is_a_merge_tag_and_never_a_reserved_one(title: str) -> None:
    key = key_of(title)

    assert key.isidentifier()
    assert key == key.lower()
    assert not key.startswith("_")
    assert key not in RESERVED


@pytest.mark.parametrize(
    ("title", "key"),
    [
        ("Straße & Nr.", "strasse_nr"),
        ("  First Name ", "first_name"),
        ("2nd", "column_2nd"),
        ("Unsubscribe URL", "unsubscribe_url_2"),
        ("Größe", "groesse"),
        ("__class__", "class"),
        ("日本", "column"),
        ("Prénom", "prenom"),
    ],
)
def test_key_reads_like_its_title(title: str, key: str) -> None:
    assert key_of(title) == key


def test_german_name_beside_vorname_is_the_last_name() -> None:
    columns = columns_of(["Vorname", "Name", "E-Mail"])

    assert columns.name == (0, 1)
    assert columns.attributes == ((0, "vorname"),)


def test_columns_without_a_title_are_left_out() -> None:
    columns = columns_of(["", "email", "city", ""])

    assert (columns.width, columns.address, columns.attributes) == (3, 1, ((2, "city"),))


@pytest.mark.parametrize("header", [["email", "a b", "a_b"], ["email", "name", "Full name"]])
def test_columns_that_would_be_one_are_refused(header: list[str]) -> None:
    with pytest.raises(NoSuchColumns):
        columns_of(header)


def records(text: str) -> list[list[str] | Damaged]:
    with open_table(BytesIO(text.encode()), is_header=lambda cells: True) as table:
        return list(table.records)


def test_open_quote_in_a_long_file_costs_its_own_row_alone() -> None:
    rows = [f"p{n}@example.org,Person {n},{'x' * 100}" for n in range(50_000)]
    rows[10] = 'open@example.org,"Open,x'

    found = records("email,name,notes\n" + "\n".join(rows) + "\n")

    assert len(found) == 50_000
    assert [record for record in found if isinstance(record, Damaged)] == [Damaged(OPEN_QUOTE)]
    assert found[10] == Damaged(OPEN_QUOTE)


def test_quotes_across_a_block_border_are_read_whole() -> None:
    notes = "line\n" * 20_000

    assert records(f'email,notes\na@example.org,"{notes}"\nb@example.org,x\n') == [
        ["a@example.org", notes],
        ["b@example.org", "x"],
    ]


@pytest.mark.parametrize("size", [2**16 - 1, 2**16, 2**20 - 1, 2**20, 2**20 + 1, 3 * 2**20])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_of_any_length_never_takes_its_neighbours_along(size: int, end: str) -> None:
    found = records(end.join(["email,name", "a@example.org,A", "x" * size, "b@example.org,B", ""]))

    assert found[0] == ["a@example.org", "A"]
    assert found[-1] == ["b@example.org", "B"]
    assert len(found) == 3
