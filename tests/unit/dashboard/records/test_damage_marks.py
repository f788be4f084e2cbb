"""Damaged rows are marked wherever the record is searched or exported, and never left out."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from django.urls import reverse

from approvals.verification import integrity as record_integrity
from dashboard.records.export import export_records
from dashboard.records.exports.rows import FORMS
from dashboard.threads.capsule import export as export_thread
from dashboard.threads.verify import verify as verify_thread
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.records.exports.population import populate, verify_all
from tests.unit.dashboard.records.exports.second_verifier import is_sound
from tools.verify_export import verify

pytestmark = pytest.mark.django_db


def forged(table: str, change: str, where: str, *params: Any) -> None:
    """Alter rows past all guards, as somebody with the rights of the database's owner can."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(f"UPDATE {table} SET {change} WHERE {where}", params)
        assert cursor.rowcount > 0
        cursor.execute("SET LOCAL session_replication_role = origin")


def an_event(thread: UUID) -> str:
    change = "data = jsonb_set(data, '{by_name}', '\"somebody else\"')"
    forged("gp_event", change, "thread_id = %s AND kind = 'approval.decided'", thread)
    return "approval.decided"


def a_decision(thread: UUID) -> str:
    of_thread = "approval_id IN (SELECT id FROM gp_approval WHERE thread_id = %s)"
    forged("gp_decision", "comment = 'never said'", of_thread, thread)
    return "approval.decided"


def a_request(thread: UUID) -> str:
    change = "args = jsonb_set(args, '{payee}', '\"ACME Ltd\"')"
    forged("gp_approval", change, "thread_id = %s", thread)
    return "approval.requested"


def a_checkpoint(thread: UUID) -> str:
    change = "delta = jsonb_set(delta, '{set,report}', '\"never written\"')"
    forged("gp_checkpoint", change, "thread_id = %s AND number = 1", thread)
    return "checkpoint.committed"


def an_effect(thread: UUID) -> str:
    forged("gp_activity", "result = '{\"receipt\": 9}'", "thread_id = %s", thread)
    return "effect.finished"


FORGERIES = (an_event, a_decision, a_request, a_checkpoint, an_effect)
type Forgery = Callable[[UUID], str]


@pytest.fixture(params=FORGERIES, ids=lambda f: f.__name__)
def damaged(request: pytest.FixtureRequest, cast: Cast) -> tuple[Any, int, int]:
    """(request, first damaged event, last event) of one thread among sound ones, all verified."""
    forgery: Forgery = request.param
    one = populate(cast)[0]
    kind = forgery(one.thread)
    verify_all(cast)
    [(first, last)] = rows(
        "SELECT min(seq) FILTER (WHERE kind = %s), max(seq) FROM gp_event WHERE thread_id = %s",
        (kind, one.thread),
    )
    return one, first, last


def marks_of(path: Path, form: str) -> dict[tuple[str, int], tuple[str, str]]:
    """{(thread, event): (integrity, damage)} of the rows of an export."""
    with zipfile.ZipFile(path) as packed:
        raw = packed.read(FORMS[form].member).decode()
    if form == "csv":
        table: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(raw, newline="")))
    else:
        table = [json.loads(line) for line in raw.splitlines()]
    if form == "otlp":
        records = [one["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0] for one in table]
        table = [
            {
                a["key"].removeprefix("gatepost."): next(iter(a["value"].values()))
                for a in r["attributes"]
            }
            for r in records
        ]
    return {
        (row["thread"], int(row["seq"])): (row["integrity"], row.get("damage") or "")
        for row in table
    }


@pytest.mark.slow
@pytest.mark.requirement("A38")
@pytest.mark.parametrize("form", FORMS)
def test_an_export_marks_each_damaged_row(
    damaged: tuple[Any, int, int], cast: Cast, tmp_path: Path, form: str
) -> None:
    one, first, last = damaged
    who, path = cast.actor("auditor"), tmp_path / "x.zip"
    export = export_records(who, {"kind": "all"}, form=form)
    path.write_bytes(b"".join(export.chunks()))
    marks = marks_of(path, form)
    of_thread = {seq: mark for (thread, seq), mark in marks.items() if thread == str(one.thread)}
    assert list(of_thread) == list(range(1, last + 1))
    for seq, (integrity, damage) in of_thread.items():
        assert integrity == ("damaged" if seq >= first else "intact")
        assert damage.startswith(f"Event {first}: ") == (seq >= first)
    others = [mark for (thread, _), mark in marks.items() if thread != str(one.thread)]
    assert len(others) > 10
    assert set(others) == {("intact", "")}
    with zipfile.ZipFile(path) as packed:
        summary = json.loads(packed.read("export.json"))["integrity"]
        logs = [json.loads(line) for line in packed.read("chain.jsonl").splitlines()]
    assert summary["threads"] == summary["damaged"] + 4 == 5
    assert summary["unchecked"] == 0
    [log] = [log for log in logs if log.get("damaged_from") is not None]
    assert (log["thread"], log["damaged_from"]) == (str(one.thread), first)
    report = verify(str(path))
    assert report.damaged == last - first + 1
    assert is_sound(path) == (not report.problems)


@pytest.mark.requirement("D04")
def test_search_marks_each_damaged_row(
    damaged: tuple[Any, int, int], cast: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    one, first, last = damaged
    client = cast.client("auditor")
    page = client.get(f"/admin/search/?kind=all&thread={one.thread}").content.decode()
    assert page.count('<strong class="damaged">damaged</strong>') == last - first + 1
    assert page.count(f"Event {first}: ") == last - first + 1
    assert "1 damaged: do not rely on events marked" in page
    answer = client.get("/api/v1/records/?kind=all&limit=100").json()
    assert answer["checked"] == {"now": 0, "earlier": 5, "never": 0, "damaged": 1}
    for row in answer["results"]:
        is_damaged = row["thread"] == str(one.thread) and row["seq"] >= first
        assert row["integrity"] == ("damaged" if is_damaged else "intact")
        assert row["damage"].startswith(f"Event {first}: ") == is_damaged
    call_command(
        "record", "search", "--as", "auditor", "--kind", "all", "--thread", str(one.thread)
    )
    printed = capsys.readouterr()
    assert printed.out.count(f"Event {first}: ") == last - first + 1
    assert "damaged: 1." in printed.out + printed.err
    # A found damage is a fact of the workspace, noted once.
    news = "SELECT count(*) FROM gp_workspace_event WHERE kind = 'record.damaged'"
    assert rows(news) == [(1,)]


@pytest.mark.slow
@pytest.mark.requirement("D04")
def test_report_and_capsule_name_the_damage(
    damaged: tuple[Any, int, int], cast: Cast, tmp_path: Path
) -> None:
    one, first, last = damaged
    client = cast.client("auditor")
    for page in (reverse("approval_report", args=[one.id]), f"/api/v1/approvals/{one.id}/report/"):
        assert f"Event {first}: " in client.get(page).content.decode()
    report = client.get(f"/api/v1/approvals/{one.id}/report/").json()
    assert (report["verified"], bool(report["damage"])) == (False, True)
    for row in report["proof"]:
        assert bool(row["damage"]) == (row["seq"] >= first)
    capsule = export_thread(cast.actor("auditor"), one.thread)
    path = tmp_path / "capsule.zip"
    path.write_bytes(b"".join(capsule.chunks()))
    with zipfile.ZipFile(path) as packed:
        [line] = [json.loads(text) for text in packed.read("integrity.jsonl").splitlines()]
        assert len(packed.read("events.jsonl").splitlines()) == last
    assert (line["thread"], line["integrity"]) == (str(one.thread), "damaged")
    assert line["damaged_from"] == first


def test_a_search_of_one_thread_verifies_it(cast: Cast) -> None:
    one = populate(cast)[0]
    an_event(one.thread)
    client = cast.client("auditor")
    answer = client.get(f"/api/v1/records/?kind=all&thread={one.thread}").json()
    assert answer["checked"] == {"now": 1, "earlier": 0, "never": 0, "damaged": 1}


def test_what_is_too_long_for_a_page_is_unchecked_until_a_verification(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = populate(cast)[0]
    monkeypatch.setattr(record_integrity, "EVENTS_MAX", 0)
    client, query = cast.client("auditor"), f"/api/v1/records/?kind=all&thread={one.thread}"
    answer = client.get(query).json()
    assert answer["checked"] == {"now": 0, "earlier": 0, "never": 1, "damaged": 0}
    assert {row["integrity"] for row in answer["results"]} == {"unchecked"}
    assert "not checked" in client.get("/admin/search/?kind=all").content.decode()
    verify_thread(cast.actor("auditor"), one.thread)
    answer = client.get(query).json()
    assert answer["checked"] == {"now": 0, "earlier": 1, "never": 0, "damaged": 0}
    assert {row["integrity"] for row in answer["results"]} == {"intact"}
