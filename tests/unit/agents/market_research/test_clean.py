"""Cleaning and choosing: what stays, what goes and why, and what a person may say about it."""

from pathlib import Path
from typing import Any

import pytest

from gatepost_agents.market_research.analyse import analyse
from gatepost_agents.market_research.clean import clean
from gatepost_agents.market_research.input.kinds import kind_of
from gatepost_agents.market_research.input.problems import (
    BrokenColumn,
    NothingLeft,
    UnknownColumn,
    UnusableSetting,
)
from gatepost_agents.market_research.load import load
from tests.unit.agents.market_research.market import Outcome, all_steps


def cleaned(folder: Path, text: str, **settings: Any) -> dict[str, Any]:
    """What `clean` answers on a file with this text."""
    (folder / "x.csv").write_text(text)
    load(folder / "x.csv", out_path=folder / "raw")
    return clean(folder / "raw", settings=settings, out_path=folder / "clean")


def shop(broken: int, rows: int = 200) -> str:
    """A table whose column `price` holds other text in the last `broken` rows."""
    lines = [f"{'AB'[i % 2]},{i / 7:.2f},{i % 9}" for i in range(rows - broken)]
    return "\n".join(["shop,price,pieces", *lines, *(f"A,on demand,{i}" for i in range(broken))])


def test_all_that_is_left_out_is_told_with_its_count_and_reason(tmp_path: Path) -> None:
    text = "shop,price,empty,same,note\nA,1,,x,q\nA,1,,x,q\n,,,,\nB,,NA,x,r\nB,3,,x,r\nC,4,,x,q\n"
    summary = cleaned(tmp_path, text, ignore=["note"])
    assert [(d["of"], d["what"], d["count"]) for d in summary["dropped"]] == [
        ("columns", "column `empty`", 1),
        ("columns", "column `same`", 1),
        ("columns", "column `note`", 1),
        ("rows", "rows without any value", 1),
        ("rows", "exact duplicate rows", 1),
        ("rows", "rows without `price`", 1),
    ]
    assert all(d["why"] for d in summary["dropped"])
    assert (summary["rows_in"], summary["rows_out"]) == (6, 3)
    assert summary["constants"] == {"same": "x"}


def test_a_broken_column_names_row_value_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BrokenColumn) as caught:
        cleaned(tmp_path, shop(broken=10), measure="price")
    payload = caught.value
    assert (payload.column, payload.row, payload.value, payload.share) == (
        "price",
        191,
        "on demand",
        0.05,
    )
    assert str(payload) == (
        "The column `price` should hold numbers, but 5.0% of its values are other text; the first "
        "is `on demand` in row 191. Take it out of `measure`, or name it in `ignore`, and "
        "retry."
    )


@pytest.mark.parametrize(
    "repaired", [{}, {"measure": "price", "ignore": ["price"]}, {"measure": "pieces"}]
)
def test_a_broken_column_is_cured_as_the_sentence_says(
    tmp_path: Path, repaired: dict[str, Any]
) -> None:
    assert cleaned(tmp_path, shop(broken=10), **repaired)["measure"]["name"] == "pieces"


def test_a_column_declared_a_number_is_held_to_it(tmp_path: Path) -> None:
    with pytest.raises(BrokenColumn, match="Take it out of `columns`"):
        cleaned(tmp_path, shop(broken=10), columns={"price": "number"}, measure="pieces")


def test_a_question_that_means_the_broken_column_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(BrokenColumn, match="`question`"):
        cleaned(tmp_path, shop(broken=10), question="How does the price differ?")


def test_slips_are_gaps_and_are_told(tmp_path: Path) -> None:
    summary = cleaned(tmp_path, shop(broken=4), measure="price")
    assert summary["rows_out"] == 196
    messages = [d for d in summary["dropped"] if d["of"] == "values"]
    assert [(d["what"], d["count"]) for d in messages] == [("values in `price`", 4)]
    assert "`on demand`" in messages[0]["why"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"measure": "prize"}, "Did you mean `price`"),
        ({"groups": ["shops"]}, "`groups`.*Did you mean `shop`"),
        ({"ignore": ["x"]}, "`ignore`"),
        ({"columns": {"y": "number"}}, "`columns`"),
    ],
)
def test_an_unknown_column_is_named_with_the_known_ones(
    tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(UnknownColumn, match=words):
        cleaned(tmp_path, shop(broken=0), **settings)


@pytest.mark.parametrize(
    "settings", [{"measure": 5}, {"groups": [1]}, {"columns": ["a"]}, {"columns": {"shop": "blob"}}]
)
def test_settings_of_the_wrong_type_are_refused(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(UnusableSetting):
        cleaned(tmp_path, shop(broken=0), **settings)


def test_nothing_left_is_said(tmp_path: Path) -> None:
    with pytest.raises(NothingLeft, match="No column holds numbers"):
        cleaned(tmp_path, "a,b\nx,q\ny,r\n")
    with pytest.raises(UnusableSetting, match="it is empty"):
        cleaned(tmp_path, "a,b,c\nx,,1\ny,,2\n", measure="b")


@pytest.mark.parametrize(
    ("name", "values", "kind", "texts"),
    [
        ("v", ["1", " 2.5 ", "-3e2", ""], "number", ["1", "2.5", "-3e2", ""]),
        ("v", ["1,234", "22,500.5", "3"], "number", ["1234", "22500.5", "3"]),
        ("v", ["1,5", "2.000,25", "3"], "number", ["1.5", "2000.25", "3"]),
        ("v", ["€1.50", "€ 20"], "number", ["1.50", "20"]),
        ("v", ["007", "012", "100"], "category", ["007", "012", "100"]),
        ("zip", ["50667", "10115"], "id", ["50667", "10115"]),
        ("on", ["2024-01-31", "2024-02-01T10:00:00Z"], "date", None),
        ("on", ["31.01.2024", "1.2.2024"], "date", ["2024-01-31", "2024-02-01"]),
        ("on", ["1/31/2024", "02/01/2024"], "date", ["2024-01-31", "2024-02-01"]),
        ("date", ["20240131", "20240201"], "date", ["2024-01-31", "2024-02-01"]),
        ("on", ["2024-13-01", "2024-02-30"], "category", None),
        ("v", ["1e999", "inf", "1_000", "٣"], "category", None),
    ],
)
def test_kinds_by_content(name: str, values: list[str], kind: str, texts: list[str] | None) -> None:
    result = kind_of(name, values, [3] * len(values))
    assert result.kind == kind
    assert result.texts == (texts or values)


def test_the_question_names_the_measure(tmp_path: Path) -> None:
    summary = cleaned(tmp_path, shop(broken=0), question="Do more pieces sell in one shop?")
    assert summary["measure"] == {"name": "pieces", "how": "named in the question"}


def test_what_a_question_is_about_is_not_taken_for_what_it_asks(tmp_path: Path) -> None:
    """Flights have a number; why they arrive late is a question about the delay."""
    rows = [f"{100 + i % 37},{i % 11 - 3}.5,{i % 7}" for i in range(200)]
    text = "\n".join(["flight,arr_delay,dep_delay", *rows])
    for question in ("What makes flights arrive late?", "Which delay do flights have?"):
        measure = cleaned(tmp_path, text, question=question)["measure"]
        assert measure["name"] in {"arr_delay", "dep_delay"}
    assert cleaned(tmp_path, text, question="What makes flights arrive late?")["measure"] == {
        "name": "arr_delay",
        "how": "named in the question",
    }


def test_another_measure_after_cleaning_counts_the_rows_it_lacks(tmp_path: Path) -> None:
    lines = [f"{'AB'[i % 2]},{i},{'' if i % 4 else i / 1000}" for i in range(1, 101)]
    (tmp_path / "x.csv").write_text("\n".join(["shop,price,weight", *lines]))
    before = all_steps(tmp_path / "x.csv", tmp_path, {"measure": "price"})
    forked = analyse(
        tmp_path / "clean.csv.gz",
        settings={"measure": "weight", "units": {"weight": "kg"}},
        summary=before.summary,
        profile=before.profile,
    )
    assert (before.analysis["rows"], before.analysis["rows_lacking"]) == (100, 0)
    assert (forked["rows"], forked["rows_lacking"]) == (25, 75)
    assert (forked["measure"]["unit"], forked["places"]) == ("kg", 4)
    assert forked["overall"]["mean"] == 0.052


def steps_of_shop(folder: Path, **settings: Any) -> Outcome:
    (folder / "x.csv").write_text(shop(broken=0))
    return all_steps(folder / "x.csv", folder, settings)


def test_settings_lead_the_analysis(tmp_path: Path) -> None:
    analysis = steps_of_shop(tmp_path, measure="price", groups=["pieces", "shop"]).analysis
    assert analysis["measure"]["how"] == "named in the settings"
    assert [group["column"] for group in analysis["groups"]] == ["pieces", "shop"]
    assert len(analysis["groups"][0]["rows"]) == 9
