"""docs/howto/anchors.md: anchors go out, copies are compared, gaps are shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from approvals.anchors.destinations import parse
from dashboard.configuration import anchors
from tests.docs.performing import Performance
from tests.support.cast import make_cast
from tests.unit.approvals import post
from tests.unit.checkpoints.builders import drive, make_thread, rows
from tests.unit.dashboard import scene

FOLDER = "/mnt/audit"


@pytest.mark.slow
@pytest.mark.requirement("A38")
def test_anchors_go_out_and_are_compared(
    real_db: str, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Performance("anchors", make_cast())
    thread = make_thread(workspace=page.cast.workspace)
    driver = drive(thread, 2)
    setting = page.unit("GATEPOST_ANCHORS=").replace(FOLDER, str(tmp_path))
    monkeypatch.setenv("GATEPOST_ANCHORS", setting.partition("=")[2].strip('"'))
    settings.GATEPOST_ANCHORS = anchors.configured()[0]
    assert [one.every for one in settings.GATEPOST_ANCHORS] == [60, 3600], "a minute, an hour"
    with post.mail_server() as box:
        settings.MAILERS = post.mailers(box.port)
        sent = page.run("./manage.py anchor --send")["results"]
    copy = tmp_path / "gatepost.jsonl"
    (line,) = copy.read_text().splitlines()
    assert len(sent) == 2, "one for every destination"
    assert box.mails[-1][0] == "auditor@example.com"
    assert json.loads(line)["hash"] in box.text()

    driver.step()  # what comes later breaks nothing
    verify = {"more": "--no-files", FOLDER: tmp_path}
    result = page.run("./manage.py verify --anchors", **verify)  # type: ignore[arg-type]
    assert result["broken"] == []
    rows("SET session_replication_role = replica")
    rows("DELETE FROM gp_event WHERE thread_id = %s AND seq > 1", [thread])
    rows("SET session_replication_role = DEFAULT")
    result = page.run("./manage.py verify --anchors", code=1, **verify)  # type: ignore[arg-type]
    assert str(thread) in result
    # A copy that was altered itself is refused with its line.
    copy.write_text(line.replace(json.loads(line)["hash"], "0" * 64) + "\n")
    assert "line 1" in page.run("./manage.py verify --anchors", code=1, **verify).lower()  # type: ignore[arg-type]

    # When they do not arrive: the board, doctor and /metrics say so; /readyz is not affected.
    copy.unlink()
    tmp_path.joinpath("away").mkdir()
    settings.GATEPOST_ANCHORS = (parse(f"file://{tmp_path}/gone/gatepost.jsonl"),)
    page.run("./manage.py anchor --send", code=1)
    rows("UPDATE gp_anchor_destination SET created_at = created_at - interval '11 minutes'")
    assert "Anchors are not delivered" in page.cast.client("operator").get("/").content.decode()
    settings.GATEPOST_METRICS_TOKEN = "a-token-of-monitoring"
    monitoring = Client(headers={"Authorization": f"Bearer {settings.GATEPOST_METRICS_TOKEN}"})
    metrics = monitoring.get(page.unit("/metrics")).content.decode()
    for name in re.findall(r"`(gatepost_anchor\w+)`", page.text):
        assert name in metrics, name
    assert "gatepost_anchors_late 1.0" in metrics
    scene.alive()
    page.page("/readyz", "admin")
    page.complete()


def test_each_destination_of_the_table_is_taken(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/howto/anchors.md").read_text()
    targets = re.findall(r"^\| `([^`]+:[^`]+)` \|", page, re.MULTILINE)
    authority = tmp_path / "tsa.pem"
    authority.write_text("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")
    kinds = [parse(t.replace("/etc/gatepost/tsa.pem", str(authority))).kind for t in targets]
    assert kinds == ["file", "mailto", "webhook", "tsa"]
