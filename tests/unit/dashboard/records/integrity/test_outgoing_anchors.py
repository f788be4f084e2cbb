"""Anchors go out with the sweep, and what does not arrive shows on the board and to monitoring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from approvals.anchors import sender
from approvals.anchors.destinations import parse
from checkpoints import store
from checkpoints.anchors import destinations
from checkpoints.signals import anchors_due
from dashboard.live import metrics
from dashboard.records.integrity import outgoing_anchors
from dashboard.records.integrity.outgoing_anchors import Dispatcher
from tests.support.cast import Cast
from tests.unit.dashboard.carried import run
from workers.slot import sweep


def test_the_sweep_lets_anchors_go_out(
    real_db: str, settings: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    store.create_workspace("audited", actor="user:1")
    path = tmp_path / "anchors.jsonl"
    assert sweep._call_anchors("worker:1") == 0, "nothing is set"
    settings.GATEPOST_ANCHORS = (parse(f"file://{path}"),)
    dispatcher = Dispatcher()
    monkeypatch.setattr(outgoing_anchors, "_dispatcher", lambda: dispatcher)
    assert anchors_due.has_listeners()
    assert sweep._call_anchors("worker:1") == 1
    dispatcher.join()
    (line,) = path.read_bytes().splitlines()
    value = json.loads(line)
    assert (value["number"], value["previous"]) == (1, "0" * 64)
    assert value["signature"] == outgoing_anchors.sign(value["hash"])
    # Another worker does nothing while this one has the duty.
    other = Dispatcher()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_anchor_destination SET tried_at = tried_at - interval '1 hour'")
    other.call("worker:2")
    other.join()
    assert len(path.read_bytes().splitlines()) == 1


@pytest.mark.django_db
def test_what_does_not_arrive_is_shown(cast: Cast, settings: Any) -> None:
    board = cast.client("operator").get("/").content.decode()
    assert "Anchors are not delivered" not in board
    assert "anchor" not in metrics_text()
    target = parse("https://audit.example/in/T0KEN")
    settings.GATEPOST_ANCHORS = (target,)
    findings = {f["name"]: f for f in run("doctor")[1]["findings"]}
    assert findings["anchors"]["level"] == "note"
    destinations.begin([target.name])
    destinations.note_refused(target.name, "The endpoint answered 500.")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_anchor_destination SET created_at = created_at - interval '15 minutes'"
        )
    board = cast.client("operator").get("/").content.decode()
    assert "Anchors are not delivered" in board
    assert "none for 15 minutes" in " ".join(board.split())
    assert "answered 500" in board
    assert "T0KEN" not in board
    text = metrics_text()
    assert "gatepost_anchors_late 1.0" in text
    assert 'gatepost_anchor_age_seconds{destination="webhook https://audit.example"} 9' in text
    findings = {f["name"]: f for f in run("doctor")[1]["findings"]}
    assert findings["anchors"]["level"] == "wrong"
    assert "answered 500" in findings["anchors"]["value"]
    destinations.note_acknowledged(target.name, 7)
    assert sender.late() == []
    assert "Anchors are not" not in cast.client("operator").get("/").content.decode()


@pytest.fixture(autouse=True)
def unkept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "KEPT_SECONDS", 0.0)


def metrics_text() -> str:
    return metrics.exposition().decode()
