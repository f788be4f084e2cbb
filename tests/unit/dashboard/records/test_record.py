"""`record`: searches, exports part by part and goes on where it was interrupted, reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.support.cast import Cast
from tests.unit.dashboard.records.exports.population import populate
from tools.verify_export import verify

pytestmark = pytest.mark.django_db


def answer_of(capsys: pytest.CaptureFixture[str], *words: str, user: str = "auditor") -> Any:
    call_command("record", *words, "--as", user, "--json")
    return json.loads(capsys.readouterr().out)


@pytest.mark.requirement("A38")
def test_an_export_goes_on_behind_its_last_part(
    cast: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    populate(cast)
    folder = tmp_path / "audit"
    words = ("export", "--to", str(folder), "--agent", "payments", "--limit", "5")
    parts = answer_of(capsys, *words)["parts"]
    assert len(parts) > 2
    assert all(verify(part["file"]).problems == [] for part in parts)
    bytes_of = [Path(part["file"]).stat().st_size for part in parts]
    # Interrupted: the last two parts are not there yet.
    for part in parts[-2:]:
        Path(part["file"]).unlink()
    again = answer_of(capsys, *words)["parts"]
    assert [p["rows"] for p in again] == [p["rows"] for p in parts[-2:]]
    assert [p["file"] for p in again] == [p["file"] for p in parts[-2:]]
    assert [Path(p["file"]).stat().st_size for p in again] == pytest.approx(bytes_of[-2:], abs=200)
    assert answer_of(capsys, *words)["parts"] == []
    with pytest.raises(SystemExit):
        answer_of(capsys, "export", "--to", str(folder), "--agent", "research")
    assert "another export" in capsys.readouterr().err


@pytest.mark.requirement("A28")
def test_searching_and_reporting(
    cast: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests = populate(cast)
    page = answer_of(capsys, "search", "--q", "acme", "--decision", "approve")
    (one,) = page["results"]
    assert (one["by"], one["payee"], one["approval"]) == (
        "manager",
        "ACME GmbH",
        str(requests[0].id),
    )
    file = tmp_path / "decision.html"
    report = answer_of(capsys, "report", str(requests[0].id), "--to", str(file))
    assert report["proposal_hash"] == requests[0].proposal_hash
    assert requests[0].proposal_hash in file.read_text()
    with pytest.raises(SystemExit):
        answer_of(capsys, "report", str(requests[0].id), user="stranger")
    with pytest.raises(SystemExit):
        answer_of(capsys, "export", "--to", str(tmp_path / "x"), user="viewer")
