"""`verify --anchors FILE`: a copy elsewhere shows what was cut off, rewritten or removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.anchors.destinations import parse
from checkpoints import store
from tests.unit.checkpoints.builders import drive, make_thread
from tests.unit.dashboard.carried import run


def alter(sql: str, *params: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(sql, params)
        cursor.execute("SET session_replication_role = DEFAULT")


def broken(copy: Path) -> list[tuple[str, str, int]]:
    code, output, _ = run("verify", "--no-files", "--anchors", str(copy))
    findings = [(b["of"], b["id"], b["seq"]) for b in output["broken"]]
    assert code == bool(findings)
    return findings


def hashes_alone(path: Path, to: Path) -> Path:
    """The newest line as a mail carries it."""
    value = json.loads(path.read_bytes().splitlines()[-1])
    del value["heads"]
    to.write_text(json.dumps(value) + "\n")
    return to


@pytest.mark.slow
@pytest.mark.requirement("A38")
def test_a_copy_of_the_anchors_shows_each_break(
    real_db: str, tmp_path: Path, settings: Any
) -> None:
    workspace: UUID = store.create_workspace("audited", actor="user:1")
    whole = tmp_path / "whole.jsonl"
    settings.GATEPOST_ANCHORS = (parse(f"file://{whole}"),)
    first, second = (make_thread(workspace=workspace) for _ in range(2))
    driver = drive(first, 2)
    code, output, _ = run("anchor", "--send")
    assert (code, output["results"][0]["number"]) == (0, 1)
    driver.step()
    other = drive(second, 1)
    assert run("anchor", "--send")[0] == 0
    alone = hashes_alone(whole, tmp_path / "alone.jsonl")
    other.step()  # what comes later breaks nothing
    assert broken(whole) == broken(alone) == []

    # The end of a log is cut off, and its thread made to agree.
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_seq FROM gp_thread WHERE id = %s::uuid", (first,))
        (last,) = cursor.fetchone()
    for copy in (whole, alone):
        findings = {(of, ident) for of, ident, _ in broken(copy)}
        assert findings == set()
    alter("DELETE FROM gp_event WHERE thread_id = %s::uuid AND seq = %s", first, last)
    for copy in (whole, alone):
        assert ("thread", str(first), last) in broken(copy)

    # A whole thread is gone with all its rows: only the copy knows of it.
    for table in ("gp_event", "gp_checkpoint", "gp_activity", "gp_keyframe", "gp_content"):
        alter(f"DELETE FROM {table} WHERE thread_id = %s::uuid", first)
    alter("DELETE FROM gp_thread WHERE id = %s::uuid", first)
    for copy in (whole, alone):
        assert ("thread", str(first)) in {row[:2] for row in broken(copy)}

    # Our own anchors are altered so as to agree: their hash is not the one of the copy.
    alter("UPDATE gp_anchor SET heads = '[]' WHERE number = 1")
    assert ("anchor", str(UUID(int=1)), 1) in broken(whole)
    assert ("anchor", str(UUID(int=1)), 1) in broken(alone)
    alter("DELETE FROM gp_anchor WHERE number = 1")
    assert ("anchor", str(UUID(int=1)), 1) in broken(whole)


@pytest.mark.slow
def test_a_copy_that_was_altered_itself_is_refused(
    real_db: str, tmp_path: Path, settings: Any
) -> None:
    store.create_workspace("audited", actor="user:1")
    whole = tmp_path / "whole.jsonl"
    settings.GATEPOST_ANCHORS = (parse(f"file://{whole}"),)
    for _ in range(3):
        run("anchor", "--send")
    sound = whole.read_bytes().splitlines(keepends=True)

    def refused(lines: list[bytes]) -> str:
        whole.write_bytes(b"".join(lines))
        code, _, errors = run("verify", "--no-files", "--anchors", str(whole))
        assert code == 1
        return errors

    def changed(**values: Any) -> bytes:
        return json.dumps(json.loads(sound[1]) | values).encode() + b"\n"

    assert "line 2" in refused([sound[0], changed(at=1), sound[2]])
    assert "heads have another hash" in refused([sound[0], changed(heads=[]), sound[2]])
    assert "another key" in refused([sound[0], changed(signature="00" * 32), sound[2]])
    assert "not an anchor" in refused([sound[0], b"{}\n"])
    assert "behind 3" in refused([sound[0], sound[2], sound[1]])
    # A crash left a line half-written, and the batch came again; a line less is no break.
    whole.write_bytes(b"".join([sound[0], sound[1][:20], b"\n", *sound]))
    assert run("verify", "--no-files", "--anchors", str(whole))[0] == 0
    whole.write_bytes(sound[0] + sound[2])
    assert run("verify", "--no-files", "--anchors", str(whole))[0] == 0
    assert run("verify", "--anchors", str(tmp_path / "none"))[0] == 1
