"""The how-to of auditors: each call and command is performed and finds what it promises."""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from checkpoints import queries
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.records.exports.population import decide

pytestmark = pytest.mark.django_db
PAGE = Path(__file__).parents[2] / "docs/howto/audit.md"
CALL = re.compile(r"`GET (/[^`\s]+)`")
COMMAND = re.compile(r"^\./manage\.py (record .+)$", re.MULTILINE)


def payments(cast: Cast) -> Any:
    """An approved payment to ACME and a refused one, today."""
    for verdict, payee, amount in (("reject", "Globex", "20000"), ("approve", "ACME", "151781.50")):
        work = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
        for _ in range(4):
            scene.step(work, report="ready")
        args = {"payee": payee, "amount": amount}
        row = scene.gate(work, args=args, tool="bank.pay", risk="high", title="Pay?")
        decide(cast, row, verdict, "as ordered")
    return row


def of_today(text: str, row: Any) -> str:
    """The same question about the payment that is there, at its day."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    text = re.sub(r"2026-11-\d\d(?!/)", today, text)
    text = text.replace("0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10", str(row.thread))
    return text.replace("reserve", "analyse").replace("{id}", str(row.id))


@pytest.mark.requirement("A28")
@pytest.mark.requirement("D04")
def test_each_call_of_the_page_answers_its_question(cast: Cast) -> None:
    row = payments(cast)
    client = cast.client("auditor")
    calls = [call for call in CALL.findall(PAGE.read_text()) if "CURSOR" not in call]
    assert len(calls) >= 10
    for call in calls:
        answer = client.get(f"/api/v1{of_today(call, row)}")
        assert answer.status_code == 200, (call, answer.content)
        if call.startswith("/records/?"):
            assert answer.json()["results"], call
            deciders = {one["by"] for one in answer.json()["results"] if one["decision"]}
            assert deciders <= {"manager"}, call
    first = client.get("/api/v1/records/export/?limit=2")
    address = next(c for c in CALL.findall(PAGE.read_text()) if "CURSOR" in c)
    with zipfile.ZipFile(io.BytesIO(b"".join(first.streaming_content))) as packed:  # type: ignore[attr-defined]
        cursor = json.loads(packed.read("export.json"))["next"]
    following = client.get(f"/api/v1/records/export/?limit=2&cursor={cursor}")
    assert (following.status_code, "cursor=" in address) == (200, True)


@pytest.mark.requirement("A38")
def test_each_command_of_the_page_is_performed(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = payments(cast)
    monkeypatch.chdir(tmp_path)
    lines = COMMAND.findall(PAGE.read_text())
    assert len(lines) >= 7
    for line in lines:
        words = shlex.split(of_today(line, row).replace("report ID", f"report {row.id}"))
        call_command(*words, "--as", "auditor", "--json")
        result = json.loads(capsys.readouterr().out)
        assert result.get("results") or result.get("parts") or result.get("proof"), line
    assert (tmp_path / "decision.html").is_file()
    assert queries.default_workspace() == cast.workspace
