"""The price of 1,000,000 events: sizes of PostgreSQL, events as they are counted, one price."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from checkpoints.queries.installation import table_sizes as reader
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E03")]


def filled(cast: Cast) -> int:
    """Threads with events of a known number; how many."""
    agent = scene.make_agent()
    for _ in range(20):
        thread = scene.start(cast.workspace, agent)
        scene.step(scene.lease(thread))
    ((n,),) = rows("SELECT count(*) FROM gp_event")
    return int(n)


def figure_rows(cast: Cast) -> list[dict[str, Any]]:
    answer = cast.client("viewer").get("/api/v1/overview/?figure=storage")
    assert answer.status_code == 200, answer.content
    return list(answer.json()["figures"]["storage"]["rows"])


def test_each_table_is_its_size_divided_by_the_events(cast: Cast, settings: Any) -> None:
    n = filled(cast)
    figure_rows(cast)  # what a first look writes has been written
    settings.GATEPOST_STORAGE_PRICE = Decimal("2")
    sizes = dict(
        rows(
            "SELECT tablename::text, pg_total_relation_size(tablename::regclass) FROM pg_tables "
            "WHERE starts_with(tablename::text, 'gp_') AND schemaname = current_schema()"
        )
    )
    shown = {row["what"]: row for row in figure_rows(cast)}
    whole = shown["all tables, a month"]
    # A vacuum in between adds a page or two.
    assert whole["bytes_per_event"] == pytest.approx(sum(sizes.values()) / n, rel=0.01)
    expected = Decimal(sum(sizes.values())) * 1_000_000 / n / 2**30 * 2
    assert float(whole["cost"]) == pytest.approx(float(expected), rel=0.01)
    assert shown["event"]["bytes_per_event"] == pytest.approx(sizes["gp_event"] / n, rel=0.1)
    parts = [row for name, row in shown.items() if "," not in name]
    total = sum(Decimal(row["cost"]) for row in parts)
    assert float(total) == pytest.approx(float(expected), rel=0.01)
    settings.GATEPOST_STORAGE_PRICE = Decimal("4")
    assert float(figure_rows(cast)[0]["cost"]) == pytest.approx(2 * float(expected), rel=0.01)


def test_calls_cost_what_the_threads_of_the_workspace_recorded(cast: Cast) -> None:
    filled(cast)
    rows(
        "UPDATE gp_thread SET cost = 0.5 WHERE id = (SELECT id FROM gp_thread LIMIT 1) RETURNING 1"
    )
    ((events,),) = rows("SELECT sum(last_seq) FROM gp_thread")
    (calls,) = [row for row in figure_rows(cast) if row["what"] == "model calls, once"]
    assert float(calls["cost"]) == pytest.approx(0.5 * 1_000_000 / float(events), rel=1e-4)
    assert calls["bytes_per_event"] is None


def test_many_events_are_estimated_from_what_is_on_a_page(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = filled(cast)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE gp_event")
    monkeypatch.setattr(reader, "COUNTED", 10)
    estimate = reader.table_sizes(workspace=cast.workspace).events
    assert estimate == pytest.approx(n, rel=0.05)


def test_page_call_command_and_csv_say_the_same(cast: Cast) -> None:
    filled(cast)
    figure_rows(cast)  # what a first look writes has been written
    listed = figure_rows(cast)
    out = io.StringIO()
    call_command("overview", "--figure", "storage", "--json", "--as", "viewer", stdout=out)
    assert json.loads(out.getvalue())["figures"]["storage"]["rows"] == listed
    text = cast.client("viewer").get("/overview/storage.csv").content.decode()
    assert [row["what"] for row in csv.DictReader(io.StringIO(text))] == [
        row["what"] for row in listed
    ]
    page = cast.client("viewer").get("/overview/").content.decode()
    section = page.partition('id="storage"')[2].partition("</section>")[0]
    assert "1,000,000 events in the database" in section
    assert "$0.115 per GB" in section
    for row in listed:
        assert row["what"] in section
