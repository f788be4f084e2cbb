"""The bench of a long log: lines in the fixed form, honest figures, memory that stays flat."""

from __future__ import annotations

import json

import psycopg
import pytest
from django.db import connection

from benchmarks import log
from benchmarks.report import dumped

from .test_budgets import FORM

EVENTS = 5_000


@pytest.mark.slow
@pytest.mark.usefixtures("real_db")
@pytest.mark.requirement("A25")
def test_each_figure_is_a_line_beside_its_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "TIMES", 20)
    address = " ".join(
        f"{key}='{connection.settings_dict[name]}'"
        for key, name in (("host", "HOST"), ("port", "PORT"), ("dbname", "NAME"), ("user", "USER"))
        if connection.settings_dict[name]
    )
    with psycopg.connect(address, autocommit=True, prepare_threshold=0) as raw:
        results = list(log.measure(raw, EVENTS))
    for one in results:
        assert tuple(key for key in FORM if key in one) == FORM
        assert json.loads(dumped(one)) == one
        assert one["row"] is None  # 5,000 events stand for no row
        assert one["value"] > 0 or one["unit"] == "MiB"
        assert one["baseline"] > 0
        assert one["ok"] is True
    by_what = {one["what"]: one for one in results}
    assert len(by_what) == len(results) == 8
    size, verified = by_what["size of the log"], by_what["verification of all threads"]
    assert (size["events"], size["threads"]) == (EVENTS, 4)
    assert 300 < size["value"] < 2_000
    assert size["ratio"] >= 1
    # What was added while inserting was timed is verified as well.
    assert verified["events"] >= EVENTS
    shown = by_what["what the longest thread takes, as its page shows it"]
    assert shown["events"] >= 2_000
    assert shown["bytes"] > 300 * 2_000


def test_a_budget_that_is_missed_is_not_ok() -> None:
    assert log.line("memory", 65.0, "MiB", 100.0, budget=64)["ok"] is False
    assert log.line("memory", 63.0, "MiB", 100.0, budget=64)["ok"] is True
