"""One set of budgets: the code, docs/budgets.md, and `ok` computed from them alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.budgets import BUDGETS, F2_MS, Part
from benchmarks.report import Measured, dumped, failed, line
from benchmarks.rows.step import added_to_a_step

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs/budgets.md").read_text()
FORM = ("row", "what", "value", "unit", "baseline", "ratio", "budget", "ok")

# The figures of the upper table and the limits of the parts that they stand for.
STATED = {
    1: {
        "one round trip": ("round_trips", 1),
        "<= 1.05 write transactions": ("write_transactions", 1.05),
        "<= 2.2x a raw prepared INSERT at F=0": ("ratio_f0", 2.2),
        "<= 1.25x at F=2 ms": ("ratio_f2", 1.25),
    },
    2: {
        ">= 0.4 of the raw INSERT rate of the same run at F=0": ("rate_f0", 0.4),
        ">= 0.8 at F=2 ms": ("rate_f2", 0.8),
    },
    3: {"<= 1.2x": ("steps_10000", 1.2)},
    4: {
        "<= 3.2 MB with 2 events and no activity": ("bytes", 3.2),
        "<= 4.5 MB with a 1 KB activity per step": ("bytes_with_activity", 4.5),
        "<= 12x": ("growth", 12),
    },
    5: {
        "one query": ("queries", 1),
        "<= 1.25x LangGraph's full-copy read in the same run": ("ratio", 1.25),
    },
    6: {
        "<= 1.2 ms at F=0": ("ms_f0", 1.2),
        "at F=2 ms <= a raw INSERT of the same run + 1.5 ms": ("more_ms_f2", 1.5),
        "1 write transaction": ("write_transactions", 1),
        "<= 3 KB in all tables": ("bytes", 3072),
    },
    7: {
        "1 query": ("queries", 1),
        "<= 1 ms in the database": ("database_ms", 1),
        "fragment <= 10 ms": ("fragment_ms", 10),
        "no state materialised": ("states", 0),
    },
    8: {
        "p50 <= 8 ms + F": ("p50_f2", 8 + F2_MS),
        "p95 <= 25 ms + F": ("p95_f2", 25 + F2_MS),
        "p50 <= 13 ms + 2F": ("http_p50_f2", 13 + 2 * F2_MS),
        "nothing held": ("held", 0),
    },
    9: {"p50 <= 8 ms + F": ("p50_f2", 8 + F2_MS)},
    10: {">= 20x one client": ("ratio_f2", 20)},
    11: {
        "every list p95 <= 80 ms": ("list_p95_ms", 80),
        "HTML <= 60 KB": ("html_kb", 60),
        "counts <= 10 ms": ("counts_ms", 10),
        "any page by keyset <= 1 ms in the database": ("keyset_ms", 1),
        "overview at 100,000 threads <= 1.5x that at 1,000": ("overview", 1.5),
    },
    12: {
        "p50 <= 2.5x": ("p50", 2.5),
        "p99 <= 4x + 10 ms": ("p99_more_ms", 10),
        ">= 0.4 of its rate": ("deliveries", 0.4),
        "one read per hint, process and region": ("reads", 1.2),
        "<= 1.5 KB per event and socket": ("bytes", 1_500),
    },
    13: {
        ">= 5,000 appends/s": ("appends", 5_000),
        "p99 <= 3 ms beside the drain": ("append_p99", 3),
        "drain >= 10,000 entries/s": ("drain", 10_000),
        "an agent of 1 KB steps >= 3,000 steps/s on one slot": ("steps", 3_000),
    },
    14: {
        "ready in <= 4 s": ("ready", 4),
        "gone <= 3 s": ("stopped", 3),
        "no orphan": ("orphans", 0),
    },
    15: {
        "the last 1,000 cost <= 1.3x the first 1,000": ("last", 1.3),
        "a child <= 3x a plain thread": ("child", 3),
        "at most one UPDATE of the parent per batch": ("writes", 1),
    },
    16: {">= 2.5x DBOS in the same run at F=0 and at F=2 ms": ("ratio_f0", 2.5)},
    17: {"<= 6 ms p50": ("more_p50", 6), "<= 20 ms p99": ("more_p99", 20)},
    18: {"p50 <= 10 ms + F": ("p50_f2", 10 + F2_MS), ">= 300/s from 8 clients": ("rate", 300)},
    19: {
        "p99 <= 10x row 8's p50": ("ratio_p99", 10),
        "p95 <= 100 ms": ("inbox_p95_ms", 100),
    },
    20: {
        "board and inbox <= 12 KB each": ("board_bytes", 12_000),
        "inbox <= 12 KB each": ("inbox_bytes", 12_000),
        "thread <= 12 KB": ("thread_bytes", 12_000),
        "nothing is sent twice": ("twice", 0),
    },
    21: {"<= 1.5x": ("ratio", 1.5), "<= 250 MB": ("memory_mb", 250)},
    22: {"<= 350 MB": ("memory_mb", 350), "<= 0.5 %": ("processor_percent", 0.5)},
    23: {"ready in <= 12 s": ("ready", 12), "tables in <= 4 s": ("tables", 4)},
    24: {
        "p95 <= 50 ms": ("recall_p95_ms", 50),
        ">= 2,000 events/s": ("indexed", 2_000),
    },
    25: {">= 3x": ("hosts", 3), "<= 1.2x": ("neighbour", 1.2)},
}


def rows_of(width: int) -> list[list[str]]:
    """The cells of numbered rows: the upper table has four columns, the lower one five."""
    results = [
        [cell.strip() for cell in row.strip().strip("|").split("|")]
        for row in TEXT.splitlines()
        if re.match(r"\| \d+ \|", row)
    ]
    return [row for row in results if len(row) == width]


def test_the_parts_in_the_document_are_those_in_the_code() -> None:
    written = rows_of(5)
    assert written
    assert [
        (int(number), name.strip("`"), Part(float(limit.replace(",", "")), unit, sense))
        for number, name, sense, limit, unit in written
    ] == [(n, name, part) for n, row in BUDGETS.items() for name, part in row.parts.items()]


@pytest.mark.parametrize("number", BUDGETS)
def test_the_figures_of_the_table_are_those_of_the_parts(number: int) -> None:
    [row] = [budget for n, _, budget, _ in rows_of(4) if int(n) == number]
    for words, (name, limit) in STATED[number].items():
        assert words in row
        assert BUDGETS[number].parts[name].limit == limit
    named = {name for name, _ in STATED[number].values()}
    # A part without words of its own is the same figure at another disk or length.
    for name in set(BUDGETS[number].parts) - named:
        stem = re.sub(r"_?(f0|f2|\d+|with_activity)$", "", name)
        assert any(other.startswith(stem) for other in named), name


def test_the_table_has_all_rows() -> None:
    numbers = [int(row[0]) for row in rows_of(4)]
    assert numbers == [*range(1, 26)]
    assert set(BUDGETS) <= set(numbers)


def within() -> Measured:
    return Measured({name: part.limit for name, part in BUDGETS[1].parts.items()})


def test_a_row_at_its_limits_is_ok_and_has_the_form() -> None:
    result = line(1, within())
    assert tuple(key for key in FORM if key in result) == FORM
    assert result["ok"] is True
    assert "\n" not in dumped(result)
    assert json.loads(dumped(result)) == result


@pytest.mark.parametrize("name", BUDGETS[1].parts)
def test_one_part_beyond_its_limit_is_shown_and_fails_the_row(name: str) -> None:
    measured = within()
    measured.values[name] *= 1.1
    result = line(1, measured)
    assert result["ok"] is False
    assert result["what"].endswith(name)
    assert result["value"] > result["budget"] == BUDGETS[1].parts[name].limit


def test_at_least_is_the_other_way_round() -> None:
    good = Measured({"rate_f0": 0.4, "rate_f2": 0.9})
    assert line(2, good)["ok"] is True
    slow = line(2, Measured({"rate_f0": 0.39, "rate_f2": 0.9}))
    assert (slow["ok"], slow["value"], slow["sense"]) == (False, 0.39, "at least")


def test_what_was_not_measured_is_not_ok() -> None:
    assert line(2, Measured({"rate_f0": 0.9}))["ok"] is False
    for item in (failed(3, "no server"), failed(99, "unknown")):
        assert tuple(key for key in FORM if key in item) == FORM
        assert item["ok"] is False
        assert item["value"] is None


@pytest.mark.parametrize(("p99", "ok"), [(0.9, True), (10.0, True), (10.1, False), (250.0, False)])
def test_a_write_is_judged_beside_a_step_of_a_second_and_not_by_its_ratio(
    p99: float, ok: bool
) -> None:
    """The slower disk counts; the ratio to an INSERT is the row's own."""
    fast = {"step_ms": 0.5, "step_p99_median_ms": 0.8}
    for timings in (
        [fast, fast | {"step_p99_median_ms": p99}],
        [{**fast, "step_p99_median_ms": p99}],
    ):
        result = added_to_a_step(timings)
        assert (result["ok"], result["value"]) == (ok, p99 if p99 > 0.8 else 0.8)
        assert (result["budget"], result["unit"]) == (10.0, "ms (p99)")
        assert result["percent_of_a_step"] == pytest.approx(result["value"] / 10, abs=0.001)
