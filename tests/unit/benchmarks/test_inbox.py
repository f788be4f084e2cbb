"""The bench of the inbox: lines in the fixed form, and every decision is counted afterwards."""

from __future__ import annotations

import json

import psycopg
import pytest
from django.db import connection

from benchmarks import inbox
from benchmarks.report import dumped

from .test_budgets import FORM


@pytest.mark.nightly
@pytest.mark.usefixtures("real_db")
def test_each_figure_is_a_line_beside_its_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "LOOKS", 3)
    # How fast it is here says nothing: other tests work beside it.
    monkeypatch.setattr(inbox, "PAGE_MS", 100_000)
    address = " ".join(
        f"{key}='{connection.settings_dict[name]}'"
        for key, name in (("host", "HOST"), ("port", "PORT"), ("dbname", "NAME"), ("user", "USER"))
        if connection.settings_dict[name]
    )
    with psycopg.connect(address, autocommit=True, prepare_threshold=0) as raw:
        results = list(inbox.measure(raw, 500, 6, threads=500))
    assert len(results) == len({one["what"] for one in results}) == 9
    for one in results:
        assert tuple(key for key in FORM if key in one) == FORM
        assert json.loads(dumped(one)) == one
        assert one["value"] > 0
        assert one["baseline"] > 0
        assert one["ok"] is True
    assert [one["recorded"] for one in results[:2]] == [6, 6]


def test_a_budget_that_is_missed_is_not_ok() -> None:
    assert inbox.line("page", 101.0, "ms", 4.0, budget=100)["ok"] is False
    assert inbox.line("page", 99.0, "ms", 4.0, budget=100)["ok"] is True
