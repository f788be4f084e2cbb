"""Values of proposals are marked as recorded only where they are: seeded proposals, and by hand."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.rules.receipts.leaves import leaves as leaves_of
from approvals.rules.receipts.receipts import receipts
from approvals.rules.receipts.sources import File, Origin, Receipt, Source

from .proposals import FALSE, Case, as_text, case

pytestmark = pytest.mark.requirement("G04")

SEEDS = range(200)


def output(value: Any, args: Any = None, *files: File) -> Source:
    return Source(uuid4(), json.dumps(value), "" if args is None else json.dumps(args), files)


def judged(one: Case) -> dict[str, Receipt]:
    outputs = [
        output(call.result, call.args, *(File(*file) for file in call.files))
        for call in one.calls
        if not call.model
    ]
    entries = [Source(uuid4(), json.dumps([one.entered]))]
    return receipts(one.proposal, outputs, entries).by_path


def test_of_200_proposals_no_false_value_is_recorded_and_nearly_all_true_ones_are() -> None:
    n_true = marked = computed = entered = planted = 0
    kinds: Counter[str] = Counter()
    for seed in SEEDS:
        one = case(seed, false=seed % 4 == 3)
        results = judged(one)
        if one.planted:
            planted += 1
            kinds[one.how] += 1
            assert results[one.planted].origin is Origin.AGENT, as_text(one)
        for path, receipt in results.items():
            if receipt.origin is Origin.RECORDED:
                assert path in one.truth | one.computed, (path, as_text(one))
        n_true += len(one.truth)
        marked += sum(results[path].origin is Origin.RECORDED for path in one.truth)
        computed += sum(results[path].origin is Origin.COMPUTED for path in one.computed)
        entered += sum(results[path].origin is Origin.PERSON for path in one.entered_paths)
    assert planted == 50
    assert set(kinds) == set(FALSE)
    assert marked >= 0.95 * n_true, f"{marked} of {n_true}"
    assert n_true > 4_000
    assert computed > 200
    assert entered == len(SEEDS)


def of(proposal: Any, *outputs: Source, entries: tuple[Source, ...] = ()) -> dict[str, str]:
    return {
        path: str(one.origin) for path, one in receipts(proposal, outputs, entries).by_path.items()
    }


@pytest.mark.parametrize(
    ("value", "recorded"),
    [
        (1234.5, "1,234.50"), ("1234.50", 1234.5), ("1,234.50 EUR", "EUR 1234.50"),
        ("1.234,50 €", "1.234,50 EUR"), ("1'234.50", "1234.50"),
        (48213, "Order 48213 was shipped."),
        ("2026-03-05", "5 March 2026"), ("2026-03-05", "due March 5, 2026."),
        ("2026-03-05", "05.03.2026"), ("2026-03-05T10:00:00Z", "2026-03-05T12:00:00+02:00"),
        ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("Kessel & Rohr KG", "an invoice by Kessel & Rohr KG, due"),
        ("Müller", "of Mu\u0308ller, in Graz"), ("PO-4711", "for PO-4711."), (-512.25, "-512.25"),
        ("https://example.com/a", "see https://example.com/a for more"),
    ],
)  # fmt: skip
def test_the_same_value_in_another_writing(value: Any, recorded: Any) -> None:
    assert of({"x": value}, output({"y": recorded}))["$.x"] == "recorded"


@pytest.mark.parametrize(
    ("value", "recorded"),
    [
        (1234, 51234), (1234, "51234"), (1234, "PO-1234-7"), (1234, "v1.1234"), (512.25, "-512.25"),
        (512.25, "(512.25)"), ("512.25 EUR", "512.25 USD"), ("512.25 EUR", 512.25), (512, "512 %"),
        (512, "512 million"), ("PO-4711", "PO-47112"), ("PO-4711", "XPO-4711"),
        ("PO-4711", "PO-4711-2"), ("Rohr KG", "Rohr KGaA"), ("example.com", "mail.example.com"),
        ("Аcme GmbH", "Acme GmbH"), ("acme gmbh", "Acme GmbH"), (7, "7"), (7, "7 items"),
        (100, "100 people"), (2026, "in 2026"), ("high", "high volumes"), ("High", "High volumes."),
        ("DE", "in DE"), (True, True), (None, None), (1234, "1.234,50 and 1,234 of them"),
        ("0042", 42), (42, "0042"), ("2026-03-05", "2026-03-06"), ("2026-03-05", "03/05/2026"),
        (12, "10-12"), ("2026-03-05", {"made": "2026-03-05T10:00:00Z"}), ("", ""), ([], []),
    ],
)  # fmt: skip
def test_what_is_not_the_same_value(value: Any, recorded: Any) -> None:
    assert of({"x": value}, output({"y": recorded}))["$.x"] == "agent"


@pytest.mark.parametrize(
    ("value", "recorded"),
    [(7, 7), (7, "7"), ("high", "high"), ("DE", "DE"), (100, "100"), (2026, 2026), (0, 0)],
)
def test_a_value_that_says_little_needs_its_key(value: Any, recorded: Any) -> None:
    assert (
        of({"orderCount": value}, output({"order_count": recorded}))["$.orderCount"] == "recorded"
    )
    assert of({"orderCount": value}, output({"count": recorded}))["$.orderCount"] == "agent"


def test_what_an_output_repeats_of_its_arguments_is_no_evidence() -> None:
    query = {"iban": "DE89370400440532013000", "amount": 1234.5, "path": "/invoices/48213.json"}
    answer = {"iban": query["iban"], "total": "1,234.50", "id": 48213, "name": "Acme GmbH"}
    proposal = {"iban": query["iban"], "amount": 1234.5, "id": 48213, "name": "Acme GmbH"}
    results = receipts(proposal, [output(answer, query)], []).by_path
    origins = {path: str(one.origin) for path, one in results.items()}
    assert origins == {
        "$.iban": "agent", "$.amount": "agent", "$.id": "agent", "$.name": "recorded",
    }  # fmt: skip
    assert results["$.iban"].repeats
    # Where another call has it of itself, it is recorded there.
    first = output({"accounts": [query["iban"]]})
    assert of(proposal, first, output(answer, query))["$.iban"] == "recorded"


def test_the_record_of_a_line_contradicts_a_value_of_another() -> None:
    rows = [
        {"invoice": f"RE-100{n}", "name": f"Supplier {n} Ltd", "iban": f"DE8937040044053201300{n}"}
        for n in range(3)
    ]
    line = rows[1] | {"iban": rows[2]["iban"]}
    for source in (output({"rows": rows}), output({}, None, table(rows))):
        result = receipts({"payments": [rows[0], line]}, [source], []).by_path
        assert result["$.payments[0].iban"].origin is Origin.RECORDED
        assert result["$.payments[1].iban"].origin is Origin.AGENT
        assert result["$.payments[1].iban"].differs == rows[1]["iban"]
        assert result["$.payments[1].name"].origin is Origin.RECORDED


def table(rows: list[dict[str, Any]], *, mark: str = ";") -> File:
    lines = [mark.join(rows[0]), *(mark.join(map(str, row.values())) for row in rows)]
    return File("rows.csv", "text/csv", "\n".join(lines))


def test_true_and_null_are_recorded_only_in_the_record_of_their_line() -> None:
    row = {"invoice": "RE-1001", "name": "Acme Ltd", "urgent": True, "hold": None, "held": False}
    assert set(of({"line": row}, output([row])).values()) == {"recorded"}
    changed = row | {"urgent": False}
    assert of({"line": changed}, output([row]))["$.line.urgent"] == "agent"
    assert of({"line": {"urgent": True}}, output([row]))["$.line.urgent"] == "agent"


def test_sums_and_numbers_of_lines_are_computed() -> None:
    rows = [{"invoice": f"RE-{n}", "amount": f"{100 + n}.25", "currency": "EUR"} for n in range(5)]
    proposal = {"lines": rows[:3], "total": "303.75", "count": 3, "all": 511.25, "other": 304.75}
    results = receipts({**proposal, "tax": 3}, [output(rows)], []).by_path
    assert results["$.total"].origin is Origin.COMPUTED
    assert results["$.total"].lines == tuple(f"$.lines[{n}].amount" for n in range(3))
    assert results["$.count"].count == 3
    assert (results["$.all"].origin, results["$.all"].count) == (Origin.COMPUTED, 5)
    assert results["$.other"].origin is results["$.tax"].origin is Origin.AGENT
    # One line that is not recorded: the sum says nothing.
    changed = [rows[0], rows[1], rows[2] | {"amount": "999.99"}]
    origins = of({"lines": changed, "total": "1201.49", "count": 3}, output(rows))
    assert origins["$.total"] == "agent"


def test_a_sum_of_a_recorded_column() -> None:
    rows = [{"id": f"RE-{n}", "amount": f"{100 + n}.25", "currency": "EUR"} for n in range(5)]
    for source in (output({"rows": rows}), output({}, None, table(rows))):
        result = receipts({"whole": 511.25}, [source], []).by_path["$.whole"]
        assert (result.origin, result.count) == (Origin.COMPUTED, 5)
    assert of({"whole": 511.25}, output({"rows": rows}, {"given": rows}))["$.whole"] == "agent"
    other = [*rows[:4], rows[4] | {"currency": "USD"}]
    assert of({"whole": 511.25}, output({"rows": other}))["$.whole"] == "agent"


def test_what_people_enter_is_theirs_and_recorded_comes_first() -> None:
    ada = Source(uuid4(), json.dumps(["Pay Acme Ltd 48,213.00 at once"]))
    proposal = {"to": "Acme Ltd", "amount": 48213, "memo": "Thank you"}
    assert of(proposal, entries=(ada,)) == {
        "$.to": "person", "$.amount": "person", "$.memo": "agent",
    }  # fmt: skip
    assert of(proposal, output({"name": "Acme Ltd"}), entries=(ada,))["$.to"] == "recorded"


WORDS = st.sampled_from(
    [
        "1,234.50 EUR", "0001-01-01T00:00+23:00", "2026-02-30", "(1)", "−5 %", "1e999", "0042",
        "DE89 3704 0044 0532 0130 00", "No. 7, 31.12.9999", "\u202e1234", "٣٤٥", "x,y\n1;2\n",
        "½", "1.2.3", " a\n b", "k" * 90, "k" * 91,
    ]
)  # fmt: skip
SINGLE = st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SINGLE | st.integers(-(2**53), 2**53) | st.text(max_size=30) | WORDS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=6) | WORDS, inner, max_size=4),
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(VALUES, VALUES, VALUES, WORDS | st.text(max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_json_is_compared_and_a_mark_leads_to_the_value(
    proposal: Any, recorded: Any, args: Any, text: str
) -> None:
    table = File("t.csv", "text/csv", text)
    sources = [output(recorded, args, table), output([proposal])]
    result = receipts(proposal, sources, [output(recorded)])
    assert len(result.values) == len(result.by_path)
    assert all(
        (one.spot is None) == (one.origin is Origin.AGENT) or one.lines for one in result.values
    )
    assert len(leaves := list(leaves_of(proposal))) == len({leaf.path for leaf in leaves})
    # Of nothing that was recorded, nothing is marked.
    alone = receipts(proposal, [output({}), output([], proposal)], [])
    assert {one.origin for one in alone.values} <= {Origin.AGENT}


def test_a_proposal_of_many_values_is_looked_at_in_part() -> None:
    result = receipts({"v": [f"RE-{n}" for n in range(2_500)]}, [], [])
    assert (len(result.values), result.more) == (2_000, 500)
    assert [str(one.origin) for one in receipts("text", [], []).values] == ["agent"]
    assert receipts({"a": {}, "b": [], "c": {"$.x": 1}}, [], []).values[2].path == '$.c["$.x"]'


def test_two_keys_that_begin_alike_are_two_paths() -> None:
    long = "k" * 85
    origins = of({f"{long}a": "RE-1001", f"{long}b": "RE-1002"}, output({"x": "RE-1001"}))
    assert sorted(origins.values()) == ["agent", "recorded"]
