"""Exports: what is in them, parts, who may, what the log says, what a spreadsheet makes of them."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from checkpoints.chain import verify_workspace
from dashboard.documents.cells import SIGNS, as_cell
from dashboard.errors import Forbidden, Invalid
from dashboard.records import export as exporting
from dashboard.records.export import export_records
from dashboard.records.exports.package import Export
from dashboard.records.exports.rows import COLUMNS, FORMS
from dashboard.records.integrity import anchors
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene
from tools.verify_export import verify

from .population import decide, populate
from .second_verifier import is_sound

pytestmark = pytest.mark.django_db


def saved(path: Path, export: Export) -> Path:
    """The export as a file."""
    path.write_bytes(b"".join(export.chunks()))
    return path


def lines(path: Path, name: str) -> list[Any]:
    with zipfile.ZipFile(path) as packed:
        return [json.loads(line) for line in packed.read(name).splitlines()]


@pytest.mark.requirement("A38")
@pytest.mark.parametrize("form", FORMS)
def test_an_export_has_the_rows_the_requests_and_the_chains(
    cast: Cast, tmp_path: Path, form: str
) -> None:
    requests = populate(cast)
    who = cast.actor("auditor")
    path = saved(tmp_path / "x.zip", export_records(who, {"q": "acme"}, form=form))
    report = verify(str(path))
    assert report.problems == []
    assert report.counts["rows"] == 2
    (facts,) = lines(path, "export.json")
    assert facts["filters"] == {"q": "acme"}
    assert facts["counts"] == report.counts
    (request,) = lines(path, "requests.jsonl")
    assert request["approval"] == str(requests[0].id)
    assert request["args"]["amount"] == "151781.50"
    (log,) = [line for line in lines(path, "chain.jsonl") if line["type"] == "log"]
    (payload,) = rows("SELECT last_seq FROM gp_thread WHERE id = %s::uuid", (requests[0].thread,))
    assert log["last_seq"] == payload[0] == report.counts["links"]
    # Who took it away is in the chain of the workspace, with the hash of the file's MANIFEST.
    data = json.loads(
        rows(
            "SELECT data::text FROM gp_workspace_event WHERE workspace_id = %s::uuid "
            "AND kind = 'record.exported' AND actor = %s::text",
            (cast.workspace, who.id),
        )[0][0]
    )
    assert data["manifest"] == report.manifest
    assert data["events"] == 2
    assert verify(str(path), manifest=report.manifest).problems == []
    assert verify(str(path), manifest="0" * 64).problems
    assert verify_workspace(cast.workspace).intact


@pytest.mark.requirement("A38")
def test_no_cell_of_a_csv_is_a_formula(cast: Cast, tmp_path: Path) -> None:
    populate(cast)
    who = cast.actor("auditor")
    path = saved(tmp_path / "x.zip", export_records(who, {}, form="csv"))
    with zipfile.ZipFile(path) as packed:
        table = list(csv.reader(io.StringIO(packed.read("events.csv").decode(), newline="")))
    assert tuple(table[0]) == COLUMNS
    cells = [cell for row in table[1:] for cell in row]
    computed = [c for c in cells if c.startswith(SIGNS) and not c.startswith("'")]
    assert computed == []
    assert "'=HYPERLINK(1): pay?" in cells
    assert "'+Globex 😀: pay?" in cells
    assert "'-plain: pay?" in cells


@pytest.mark.parametrize("before", ["", " ", "\u00a0", "\u3000", "\t", "\ufeff", "\u200b", "\x00"])
@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "﹢", "﹣"])
def test_a_formula_behind_what_nobody_sees_is_text(before: str, sign: str) -> None:
    text = f"{before}{sign}cmd|'/c calc'!A1"
    assert as_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", " ", "ACME", " ACME = 1", "1-2", "état", "😀="])
def test_a_plain_text_stays_as_it_is(text: str) -> None:
    assert as_cell(text) == text


@pytest.mark.requirement("A38")
@pytest.mark.parametrize("form", FORMS)
def test_odd_values_are_exported_and_proved(cast: Cast, tmp_path: Path, form: str) -> None:
    odd = {
        "payee": "\u200b＝HYPERLINK(1)\u202e",
        "amount": "-9" + "9" * 200,
        "numbers": [1e308, -1e-308, 5e-324, 2**53 - 1, -(2**53) + 1, 0.1, -0.0, 1e21, 1e-7],
        "text": "\t=1\r\n'\"\u2028\u2029\x7f\x01\ufeff😀\U0010ffff",
        "": {"'": None},
    }
    who = cast.actor("auditor")
    work = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
    scene.step(work, report="ready")
    row = scene.gate(work, args=odd, tool=" =bank", risk="high", title="  \u00a0=1+1\u202e")
    decide(cast, row, "approve", "\u3000@SUM(1)")
    path = saved(tmp_path / "x.zip", export_records(who, {}, form=form))
    report = verify(str(path))
    assert (report.problems, report.counts["requests"]) == ([], 1)
    assert is_sound(path)


@pytest.mark.requirement("A38")
def test_parts_go_on_where_the_one_before_ended(cast: Cast, tmp_path: Path) -> None:
    populate(cast)
    who = cast.actor("auditor")
    whole = saved(tmp_path / "whole.zip", export_records(who, {}))
    parts, cursor = [], ""
    while True:
        part = export_records(who, {}, cursor=cursor, limit=4)
        path = saved(tmp_path / f"{len(parts)}.zip", part)
        assert verify(str(path)).problems == []
        parts += lines(path, "events.jsonl")
        if not (cursor := part.exported.next_cursor):
            break
    assert parts == lines(whole, "events.jsonl")
    assert [row["at"] for row in parts] == sorted(row["at"] for row in parts)
    with pytest.raises(Invalid):
        export_records(who, {"kind": "all"}, cursor=part.exported.next_cursor or "nonsense")


def test_another_workspace_is_out_of_reach(cast: Cast, tmp_path: Path) -> None:
    requests = populate(cast)
    elsewhere = cast.actor("stranger")
    for filters in ({}, {"thread": str(requests[0].thread)}, {"q": "acme"}, {"kind": "all"}):
        path = saved(tmp_path / "x.zip", exporting.export_records(elsewhere, filters))
        report = verify(str(path))
        assert (report.problems, report.counts["rows"], report.counts["links"]) == ([], 0, 0)


@pytest.mark.parametrize("who", ["viewer", "manager", "admin"])
def test_who_may_not_export(cast: Cast, who: str) -> None:
    with pytest.raises(Forbidden):
        export_records(cast.actor(who), {})


def test_an_anchor_comes_along_and_one_from_elsewhere_is_compared(
    cast: Cast, tmp_path: Path, settings: Any
) -> None:
    settings.GATEPOST_DATA = tmp_path
    populate(cast)
    outside = anchors.write(anchors.default_path()).path
    path = saved(tmp_path / "x.zip", export_records(cast.actor("auditor"), {}))
    report = verify(str(path), anchors=[str(outside)])
    assert report.problems == []
    assert report.counts["anchors"] == report.counts["logs"] > 0
    forged = tmp_path / "forged.anchor"
    first, second, *rest = outside.read_text().splitlines()
    altered = [line.replace('"hash": "', '"hash": "ff')[:-3] + '"}' for line in rest[:-1]]
    forged.write_text("\n".join([first, second, *altered, rest[-1]]) + "\n")
    assert any("anchored" in what for _, what in verify(str(path), anchors=[str(forged)]).problems)


def test_long_logs_are_read_in_parts(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    populate(cast)
    monkeypatch.setattr("checkpoints.queries.records.chains.AT_ONCE", 3)
    monkeypatch.setattr("approvals.records.questions.AT_ONCE", 3)
    monkeypatch.setattr("dashboard.records.exports.package.AT_ONCE", 2)
    path = saved(tmp_path / "x.zip", export_records(cast.actor("auditor"), {}))
    report = verify(str(path))
    assert report.problems == []
    assert report.counts["links"] > report.counts["rows"] > 10
