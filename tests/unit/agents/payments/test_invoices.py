"""Reading what a person brings: any names and ways of writing; refused in plain sentences."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost_agents.payments.invoices import (
    INVOICES,
    day,
    from_csv,
    read_invoices,
    read_orders,
    to_csv,
)
from gatepost_agents.payments.money import NoAmount, amount, decimal_mark, shown, total
from gatepost_agents.payments.problems import (
    BrokenLine,
    DataProblem,
    MissingColumn,
    UnreadableFile,
    UnusableSetting,
)
from gatepost_agents.payments.table import Table, columns, read

GERMAN = """Rechnungsnummer;Kreditor;Bestellung;Fällig am;Bruttobetrag;IBAN;Notiz
R-1;K1;B-1;30.11.2026;1.234,50;de44 5001 0517 5407 3249 31;eilig
R-2;K1;B-2;1.12.2026;12,x;DE44500105175407324931;
R-3;K2;B-3;2026-12-02;1.234;DE44500105175407324931;
"""


def table(folder: Path, text: str | bytes, name: str = "theirs.csv") -> Table:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path, name)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_a_file_of_another_house_is_understood(tmp_path: Path, encoding: str) -> None:
    result = table(tmp_path, GERMAN.encode(encoding))
    lines, problems, places = read_invoices(result, named={}, corrected={}, stop=False)
    assert places == {
        "invoice": "Rechnungsnummer", "supplier": "Kreditor", "order": "Bestellung",
        "due": "Fällig am", "amount": "Bruttobetrag", "account": "IBAN",
    }  # fmt: skip
    assert lines[0] == {
        "line": "2", "invoice": "R-1", "supplier": "K1", "name": "", "order": "B-1", "issued": "",
        "due": "2026-11-30", "amount": "1234.50", "currency": "EUR",
        "account": "DE44500105175407324931",
    }  # fmt: skip
    assert lines[2]["amount"] == "1234.00", "the column writes cents after a comma"
    assert [(p["line"], p["amount"], p["check"]) for p in problems] == [("3", "12,x", "reading")]
    assert problems[0]["why"] == "The amount isn’t a number with at most two decimals (`12,x`)."


@pytest.mark.parametrize(
    ("header", "named", "message", "example"),
    [
        ("invoice,supplier,order,due,price,iban", {}, "has no column for the amount", ""),
        ("invoice,supplier,order,due,total,gross,iban", {}, "(`total` and `gross`) for", ""),
        (
            "invoice,supplier,order,due,amount,iban",
            {"amount": "brutto"},
            "no column `brutto`, which `columns` names for the amount",
            "amount",
        ),
        (
            "invoice,supplier,order,due,amount (EUR),iban",
            {},
            "has no column for the amount",
            "amount (EUR)",
        ),
        ("invoice,supplier,order,due,amount net,amount vat,iban", {}, "has no column for", ""),
    ],
)
def test_a_column_that_is_not_understood_is_named(
    tmp_path: Path, header: str, named: dict[str, str], message: str, example: str
) -> None:
    result = table(tmp_path, f"{header}\n1,2,3,4,5,6,7\n")
    with pytest.raises(MissingColumn) as refused:
        columns(result, INVOICES, named)
    text = str(refused.value)
    assert message in text
    assert "`theirs.csv`" in text
    proposed = example or "name of the column"
    assert f'in `columns`, as in {{"amount": "{proposed}"}}, and retry.' in text


FORMS: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "byte order mark": lambda text: text.encode("utf-8-sig"),
    "utf-16 with a mark": lambda text: text.encode("utf-16"),
    "utf-16-le": lambda text: text.encode("utf-16-le"),
    "utf-16-be": lambda text: text.encode("utf-16-be"),
    "cp1252": lambda text: text.encode("cp1252"),
}
ABOVE = {
    "nothing": lambda separator: "",
    "sep=": lambda separator: f"sep={separator}\r\n",
    "SEP= in quotes": lambda separator: f'"SEP={separator}"\r\n',
    "blank rows": lambda separator: f"\r\n{separator * 5}\r\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("above", ABOVE)
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_file_of_a_spreadsheet_is_read(
    tmp_path: Path, form: str, above: str, separator: str, quote: str
) -> None:
    titles = ("invoice", "supplier", "order", "due", "amount", "account")
    values = ("R-1", "Möller", "O1", "2026-12-31", "10.50", "DE89370400440532013000")
    rows = [separator.join(f"{quote}{cell}{quote}" for cell in row) for row in (titles, values)]
    text = ABOVE[above](separator) + "\r\n".join(rows) + "\r\n"
    result = table(tmp_path, FORMS[form](text))
    assert (result.separator, result.header) == (separator, [*titles])
    lines, problems, _ = read_invoices(result, named={}, corrected={}, stop=False)
    (line,) = lines
    assert problems == []
    assert (line["supplier"], line["amount"]) == ("Möller", "10.50")
    assert line["line"] == str(text[: text.index("R-1")].count("\n") + 1)


def test_a_comma_within_quoted_titles_parts_nothing(tmp_path: Path) -> None:
    result = table(tmp_path, '"Invoice, our no.";"Amount, EUR, net"\n"1,2";"3,4"\n')
    assert result.header == ["Invoice, our no.", "Amount, EUR, net"]


def test_a_cell_that_is_too_long_is_said_to_be_that(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"cell of more than 131,072 characters near line 2"):
        table(tmp_path, f'invoice,amount\n1,"{"x" * 200_000}"\n')


def test_columns_named_by_a_person_go_before_our_guess(tmp_path: Path) -> None:
    result = table(tmp_path, "invoice,supplier,order,due,total,gross,iban\n1,2,3,4,5,6,7\n")
    assert columns(result, INVOICES, {"amount": "GROSS", "orders.amount": "x"})["amount"] == 5
    with pytest.raises(UnusableSetting, match="`columns` names `sum`; what can be named is"):
        columns(result, INVOICES, {"sum": "total"})


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"PK\x03\x04", "Excel or zip"),
        (b"a,b\0\n1,2\n", "isn't a text file"),
        (b"", "needs a header"),
        (b"invoice,supplier\n", "needs a header"),
        (b'invoice,supplier\n"1,2\n', "near line 2"),
    ],
)
def test_what_is_no_table_is_said(tmp_path: Path, raw: bytes, text: str) -> None:
    with pytest.raises(UnreadableFile, match=text):
        table(tmp_path, raw)


def test_a_line_is_the_line_that_an_editor_shows(tmp_path: Path) -> None:
    text = 'invoice,supplier,order,due,amount,account\n\n"1\n1",S,O,2026-12-01,1.00,A\n2,S,O,,x,A\n'
    lines, problems, _ = read_invoices(table(tmp_path, text), named={}, corrected={}, stop=False)
    assert [line["line"] for line in lines] == ["4", "5"]
    assert [problem["line"] for problem in problems] == ["5"]


def test_stopping_for_the_first_and_correcting_it(tmp_path: Path) -> None:
    result = table(tmp_path, GERMAN)
    with pytest.raises(BrokenLine) as stopped:
        read_invoices(result, named={}, corrected={}, stop=True)
    assert "Line 3 of `theirs.csv` cannot be read" in str(stopped.value)
    assert '{"3": "12.50"}' in str(stopped.value)
    lines, problems, _ = read_invoices(result, named={}, corrected={"3": "12.00"}, stop=True)
    assert (lines[1]["amount"], problems) == ("12.00", [])


def test_all_lines_that_cannot_be_read_are_named_at_once(tmp_path: Path) -> None:
    """Three bad lines are one round of corrections, not three."""
    good, head = "1,S,O,2026-12-01,1.00,A\n", "invoice,supplier,order,due,amount,account\n"
    bad = "2,S,O,2026-12-01,x,A\n3,S,O,2026-13-01,1.00,A\n4,S,O,2026-12-01,1.005,A\n"
    result = table(tmp_path, head + good + bad)
    with pytest.raises(BrokenLine, match=r"3 lines of `theirs\.csv` cannot be read") as stopped:
        read_invoices(result, named={}, corrected={}, stop=True)
    message = str(stopped.value)
    assert [f"line {n}:" in message for n in (2, 3, 4, 5)] == [False, True, True, True]
    assert message.count("retry") == 1
    many = table(tmp_path, head + "2,S,O,2026-12-01,x,A\n" * 40)
    with pytest.raises(BrokenLine, match=r"40 lines of .* And 30 more") as stopped:
        read_invoices(many, named={}, corrected={}, stop=True)
    assert len(str(stopped.value)) < 2_000
    corrected = {"99": "1.00", "3": "x"}
    with pytest.raises(UnusableSetting) as refused:
        read_invoices(result, named={}, corrected=corrected, stop=False)
    assert "99" in str(refused.value)
    assert "line 3" in str(refused.value)


@pytest.mark.parametrize(
    ("bad", "ways"),
    [
        (["2,S,O,2026-12-01,x,A"], 'Correct its amount in `corrected`, as in {"2": "12.50"}, or'),
        (["2,S,O,2026-12-01,x,A"] * 2, 'Correct their amounts in `corrected`, as in {"2": '),
        (
            ["2,S,O,2026-13-01,1.00,A"],
            "Correct it in the file, and give the corrected one in `file`",
        ),
        (["2,S,O,,1.00,A", ",S,O,2026-12-01,1.00,A"], "Correct them in the file, and give"),
        (
            ["2,S,O,2026-13-01,1.00,A", "3,S,O,2026-12-01,x,A", "4,S,O,2026-12-01,y,A"],
            'Correct the amount of lines 3, 4 in `corrected`, as in {"3": "12.50"}, and line 2 in '
            "the file, and give the corrected one in `file`, or let",
        ),
        (
            ["2,S,O,2026-12-01,x,A"] + ["3,S,O,2026-13-01,1.00,A"] * 30,
            "and lines 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 20 more in the file",
        ),
    ],
    ids=["an amount", "amounts", "a date", "what is missing", "both", "many"],
)
def test_a_message_names_what_can_be_corrected_where(
    tmp_path: Path, bad: list[str], ways: str
) -> None:
    """Settings correct amounts only; a date or a missing number is corrected in the file."""
    head = "invoice,supplier,order,due,amount,account\n"
    result = table(tmp_path, head + "\n".join(bad) + "\n")
    with pytest.raises(BrokenLine) as stopped:
        read_invoices(result, named={}, corrected={}, stop=True)
    assert ways in str(stopped.value)
    assert ("`corrected`" in str(stopped.value)) == any(",x,A" in line for line in bad)


@pytest.mark.parametrize(
    ("corrected", "text"),
    [({"99": "1.00"}, "line `99`, which"), ({"3": "1,5x"}, "line 3 the amount `1,5x`, but")],
)
def test_a_correction_of_nothing_is_refused(
    tmp_path: Path, corrected: dict[str, str], text: str
) -> None:
    with pytest.raises(UnusableSetting, match=text):
        read_invoices(table(tmp_path, GERMAN), named={}, corrected=corrected, stop=False)


def test_progress_goes_up_and_ends_at_the_whole(tmp_path: Path) -> None:
    text = "invoice,supplier,order,due,amount,account\n" + "1,S,O,2026-12-01,1.00,A\n" * 317
    messages: list[tuple[int, int]] = []
    read_invoices(
        table(tmp_path, text),
        named={},
        corrected={},
        stop=False,
        report=lambda done, whole, _: messages.append((done, whole)),
    )
    assert len(messages) >= 20
    assert messages == sorted(messages)
    assert messages[-1] == (317, 317)


def test_orders_without_an_amount_are_kept_to_be_named(tmp_path: Path) -> None:
    text = "po number,vendor,order amount\nO-1,S,12.50\nO-2,S,later\n,S,1.00\n"
    orders = read_orders(table(tmp_path, text), {})
    assert {name: order["amount"] for name, order in orders.items()} == {"O-1": "12.50", "O-2": ""}


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        ("12.50", "", "12.50"), ("12,5", "", "12.50"), ("1.234,50", "", "1234.50"),
        ("1,234.50", "", "1234.50"), ("1234", "", "1234.00"), ("1.234", ",", "1234.00"),
        ("1,234", ".", "1234.00"), ("€ 7.00", "", "7.00"), ("12,-", "", "12.00"),
        ("12,345,678.90", "", "12345678.90"),
    ],
)  # fmt: skip
def test_amounts_however_written(text: str, mark: str, value: str) -> None:
    assert amount(text, mark) == value


@pytest.mark.parametrize(
    ("text", "mark", "why"),
    [
        ("", "", "there is no amount"), ("1.234", "", "in two ways"), ("0,500", "", "in two ways"),
        ("1.234", ".", "two decimals"), ("0.500", ",", "two decimals"),
        ("12,50", ".", "two decimals"), ("45O.00", "", "isn’t a number"), ("0.00", "", "is "
        "nothing"),
        ("-5.00", "", "below nothing"), ("5.00-", "", "below nothing"), ("1e3", "", "isn’t a "
        "number"),
        ("NaN", "", "isn’t a number"), ("١٢", "", "isn’t a number"), ("1,23,456", "", "isn’t a "
        "number"),
        ("5.0011", "", "isn’t a number"),
    ],
)  # fmt: skip
def test_what_is_no_amount(text: str, mark: str, why: str) -> None:
    with pytest.raises(NoAmount, match=why):
        amount(text, mark)


@given(st.integers(1, 10**13), st.sampled_from([("{:,}", "."), ("{}", "."), ("{:_}", ",")]))
def test_an_amount_is_the_same_however_written(value: int, how: tuple[str, str]) -> None:
    form, mark = how
    text = f"{form.format(value // 100).replace('_', '.')}{mark}{value % 100:02}"
    assert Decimal(amount(text, decimal_mark([text]))) == Decimal(value) / 100


@given(st.lists(st.integers(1, 10**11), max_size=50))
def test_sums_are_exact(values: list[int]) -> None:
    amounts = [f"{value // 100}.{value % 100:02}" for value in values]
    whole = sum(values)
    assert total(amounts) == f"{whole // 100}.{whole % 100:02}"
    assert shown(total(amounts)).replace(",", "") == total(amounts)


def test_dates() -> None:
    assert [day(t) for t in ("2026-11-30", "30.11.2026", "1.2.2026")] == [
        "2026-11-30", "2026-11-30", "2026-02-01",
    ]  # fmt: skip
    assert [day(t) for t in ("31.11.2026", "11/30/2026", "2026-1-1", "soon", "")] == [""] * 5


def test_rows_survive_their_file() -> None:
    rows = [{"a": 'x, "y"\nz', "b": "ü"}, {"a": "", "b": "="}]
    assert from_csv(to_csv(rows, ("a", "b"))) == rows


def test_every_problem_is_shown_as_it_is() -> None:
    assert all(kind.plain for kind in (DataProblem, MissingColumn, BrokenLine, UnusableSetting))
