"""Reading: any way of writing a table, any number of rows, and plain sentences for what is none."""

import csv
import gzip
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatepost_agents.market_research.input.problems import UnreadableFile
from gatepost_agents.market_research.input.source import survey
from gatepost_agents.market_research.input.tables import read_columns
from gatepost_agents.market_research.load import load

PLAIN = "shop,price\nKöln,1.5\nBonn,2\n"


def loaded(path: Path, content: bytes) -> tuple[dict[str, object], list[tuple[str, ...]]]:
    """The profile and the rows of a file with this content."""
    path.write_bytes(content)
    out = path.with_name("out.csv.gz")
    profile = load(path, out_path=out)
    with gzip.open(out, "rt", encoding="utf-8", newline="") as text:
        return profile, [tuple(row) for row in csv.reader(text)]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"]
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_every_way_of_writing_reads_the_same(
    tmp_path: Path, encoding: str, delimiter: str, ending: str
) -> None:
    text = PLAIN.replace(",", delimiter).replace("\n", ending)
    profile, rows = loaded(tmp_path / "x.csv", text.encode(encoding))
    assert rows == [("shop", "price"), ("Köln", "1.5"), ("Bonn", "2")]
    assert profile["rows"] == 2


def test_euro_sign_of_windows_files(tmp_path: Path) -> None:
    _, rows = loaded(tmp_path / "x.csv", "shop,price\nKöln,€ 5\n".encode("cp1252"))
    assert rows[1] == ("Köln", "€ 5")


def test_packed_files(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inside/table.csv", PLAIN)
        archive.writestr("readme.md", "no table")
    for content in (packed.getvalue(), gzip.compress(PLAIN.encode())):
        profile, rows = loaded(tmp_path / "x.any", content)
        assert (profile["rows"], len(rows)) == (2, 3)


def test_quoted_delimiters_line_ends_and_quotes(tmp_path: Path) -> None:
    written = 'name,note\r\n"A, B","one\r\ntwo"\r\n"say ""hi""",x\r\n\r\nplain,y\r\n'
    profile, rows = loaded(tmp_path / "x.csv", written.encode())
    assert rows[1:] == [("A, B", "one\r\ntwo"), ('say "hi"', "x"), ("plain", "y")]
    assert profile["rows"] == 3
    columns = read_columns(tmp_path / "out.csv.gz")
    assert columns["note"].values[columns["note"].codes[0]] == "one\r\ntwo"


def test_rows_that_do_not_fit_keep_their_number_and_are_told(tmp_path: Path) -> None:
    profile, rows = loaded(tmp_path / "x.csv", b"a,b\n1,2\n3\n4,5,6\n7,8,\n")
    assert rows[1:] == [("1", "2"), ("3", ""), ("", ""), ("7", "8")]
    assert [(odd["what"], odd["count"]) for odd in profile["odd"]] == [  # type: ignore[index]
        ("rows with fewer fields than the header", 1),
        ("rows with more fields than the header", 1),
    ]


@pytest.mark.parametrize("mark", ["sep=;", '"sep=;"', "SEP=;;;"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_line_that_names_the_separator_is_no_header(
    tmp_path: Path, mark: str, encoding: str
) -> None:
    profile, rows = loaded(
        tmp_path / "x.csv", f"{mark}\r\na;b\r\n1,5;2\r\n3;4\r\n".encode(encoding)
    )
    assert rows == [("a", "b"), ("1,5", "2"), ("3", "4")]
    assert profile["rows"] == 2
    assert profile["source"]["delimiter"] == ";"  # type: ignore[index]


def test_names_are_made_usable(tmp_path: Path) -> None:
    _, rows = loaded(tmp_path / "x.csv", b" a ,,a,\x1b[31mred\nq,2,3,4\n")
    assert rows[0] == ("a", "column 2", "a (2)", "[31mred")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a,b\n", "no rows"),
        (b"1,2\n3,4\n", "must name the columns"),
        (b"a,b\n\x00\x01,2\n", "isn’t a text file"),
        (b"PK\x03\x04 broken", "damaged"),
        (gzip.compress(PLAIN.encode() * 999)[:-20], "damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Excel"),
        (b'a,b\nx,"1\n' + b"y,2\n" * 50_000, "more than 131,072 characters"),
        (b'a,b\n1,"' + b"x" * 200_000 + b'"\n', "A cell near line 2"),
        (("a," * 1_001).encode() + b"a\n1\n", "1,002 columns"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(
    tmp_path: Path, content: bytes, words: str
) -> None:
    with pytest.raises(UnreadableFile, match=words):
        loaded(tmp_path / "x.csv", content)
    assert not (tmp_path / "out.csv.gz").exists()
    assert not (tmp_path / "out.csv.gz.part").exists()


def test_an_unknown_data_set_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="`flights` and `weather`"):
        load("fligths", out_path=tmp_path / "out")


@pytest.mark.parametrize("rows", [1, 24, 10_000, 10_001])
def test_progress_counts_every_row_and_ends_at_the_true_number(tmp_path: Path, rows: int) -> None:
    path, messages = tmp_path / "x.csv", []
    path.write_text("a,b\n" + "x,1\n" * rows)
    load(path, out_path=tmp_path / "out", on_progress=lambda *news: messages.append(news))
    assert messages[-1] == (rows, rows, f"{rows:,} of {rows:,} rows read")
    assert len(messages) >= min(rows, 20)


def test_the_same_file_gives_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(PLAIN)
    for name in ("one", "two"):
        load(tmp_path / "x.csv", out_path=tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(alphabet='ab,"\n\r ', max_size=60))
def test_the_quick_count_is_the_true_count(tmp_path: Path, body: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n" + body.encode())
    true = sum(1 for row in csv.reader(io.StringIO(body, newline="")) if row)
    if true:
        assert survey(path).rows == true
    else:
        with pytest.raises(UnreadableFile):
            survey(path)
