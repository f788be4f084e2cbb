"""docs/howto/capsule.md: a thread leaves, comes in elsewhere, and is changed in an editor."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from pathlib import Path

import pytest

from checkpoints import queries, store
from checkpoints.states import EventKind
from tests.contract.written import taken_back
from tests.docs.performing import Performance
from tests.support.cast import Cast
from tests.unit.dashboard import calls, scene
from tests.unit.dashboard.carried import empty

pytestmark = pytest.mark.django_db


def has(names: set[str], member: str) -> bool:
    """Whether a member of the table is in a capsule; `<id>`, `000012` stand for any."""
    pattern = re.sub(r"<\w+>", r"[^/]+", re.sub(r"\d{6}", r"\\d{6}", re.escape(member)))
    pattern = pattern.replace("\\<", "<").replace("\\>", ">")
    pattern = re.sub(r"<\w+>", r"[^/]+", pattern)
    return any(re.match(pattern, name) for name in names)


def test_a_thread_is_carried_elsewhere(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = Performance("capsule", cast)
    work = scene.lease(scene.start(cast.workspace, scene.make_agent("market-research")))
    scene.effect(work)
    scene.step(work, report="rough")
    scene.step(work, report="draft")
    row = scene.gate(work)
    thread, names = work.thread, {"demo-flights": work.thread}

    made = page.run("./manage.py export demo-flights", "operator", **names)
    capsule = Path(made["file"])
    assert re.fullmatch(r"market-research-[0-9a-f-]+\.zip", capsule.name)
    with zipfile.ZipFile(capsule) as packed:
        members = set(packed.namelist())
        assert {info.compress_type for info in packed.infolist()} == {zipfile.ZIP_STORED}
        manifest = packed.read("MANIFEST").decode()
        for line in manifest.splitlines():
            digest, name = line.split(None, 1)
            assert hashlib.sha256(packed.read(name.lstrip(" *"))).hexdigest() == digest
    table = page.text.partition("| member |")[2].partition("\n\n")[0]
    listed = re.findall(r"`([\w<>./]+)`", "".join(re.findall(r"^\| (.*?) \|", table, re.M)))
    # This thread has no large value, no file, no cursor, no base and no child, and was exported
    # without memories.
    lacks = ("memories.jsonl", "contents/", "artifacts/", "bases/", "children/")
    for member in listed:
        assert has(members, member) or member.startswith(lacks), member
    assert len(listed) >= 14
    start = "./manage.py export demo-flights"
    page.run(f"{start} --checkpoint 2", "operator", more="--to one.zip", **names)
    page.run(f"{start} --children", "operator", more="--to tree.zip", **names)
    page.run(f"{start} --memories", "operator", more="--to known.zip", **names)
    with zipfile.ZipFile("known.zip") as packed:
        assert "memories.jsonl" in packed.namelist()
    counts = page.run(f"{start} --memories --preview", "operator", **names)
    assert counts == {"texts": 0, "gone": 0, "withheld": 0}
    with zipfile.ZipFile("one.zip") as packed:
        assert "checkpoints/000002.json" in packed.namelist()
        assert "checkpoints/000001.json" not in packed.namelist()

    # The call answers the same bytes; the workspace's log says who took it.
    answer = page.call("GET /threads/{id}/capsule/", "auditor", ID=thread)
    assert b"".join(answer.streaming_content) == capsule.read_bytes()
    assert cast.client("manager").get(f"/threads/{thread}/").content.decode()
    assert "Download capsule" in cast.client("operator").get(f"/threads/{thread}/").content.decode()
    kinds = [str(e.kind) for e in queries.workspace_events(cast.workspace, limit=9).rows]
    assert kinds.count("capsule.exported") >= 3
    for query in re.findall(r"`\?((?:number|children|memories)=\w+)`", page.text):
        one = page.client("auditor").get(f"/api/v1/threads/{thread}/capsule/?{query}")
        with zipfile.ZipFile(io.BytesIO(b"".join(one.streaming_content))) as packed:  # type: ignore[attr-defined]
            assert "state.json" in packed.namelist(), query

    # In another installation: the same history, paused; the open request is withdrawn.
    history = [event.hash for event in queries.events_after(thread, 0)]
    with taken_back():
        empty(agents=False)
        start = "./manage.py import market-research-0199a3.zip"
        brought = page.run(start, "operator", **{"market-research-0199a3.zip": capsule})
        after = queries.events_after(thread, 0)
        assert [event.hash for event in after][: len(history)] == history
        assert (brought["thread"], brought["status"]) == (str(thread), "paused")
        assert "thread.imported" in {str(event.kind) for event in after}
        request = cast.client("operator").get(f"/api/v1/approvals/{row.id}/").json()
        assert (request["status"], request["imported"]) == ("withdrawn", True)
        again = page.run(start, "operator", code=1, **{"market-research-0199a3.zip": capsule})
        assert "already" in again, "a thread is imported once"
        body = {"children": True}
        page.call("POST /threads/{id}/resume/", "operator", body, ID=thread)
        assert queries.thread(thread, workspace=cast.workspace).status == "queued"

    # A thread that met other code is pinned to its own, until somebody lifts that.
    changed = scene.lease(scene.start(cast.workspace, version := scene.make_agent()))
    query = {"kind": "code", "version": str(version), "choices": ["pin", "accept", "fork"]}
    store.leave(changed, EventKind.THREAD_PARKED, reason="The code changed", waiting_on=query)
    answer = calls.post(
        cast.client("operator"), f"/threads/{changed.thread}/code/", {"choice": "pin"}
    )
    assert answer.json()["pinned"], answer.content
    assert not page.run("threads code ID unpin", "operator", ID=changed.thread)["pinned"]
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "a-long-password")
    page.run("./manage.py createsuperuser", more="--username root --email r@e.example --noinput")
    page.page("/admin/", "admin")

    # A state in an editor.
    page.run("./manage.py threads state demo-flights", "operator", **names)
    state = Path("state.yaml")
    text = state.read_text()
    edited = text.replace("report: draft", "report: final")
    assert edited != text
    state.write_text(edited)  # this is what $EDITOR is for
    page.unit("$EDITOR state.yaml")
    fork = page.run(
        "./manage.py threads fork demo-flights --from", "operator", more="--yes", **names
    )
    assert queries.state_at(fork["id"], fork["head"])["report"] == "final"
    page.run("./manage.py threads edit demo-flights --from", "operator", more="--yes", **names)
    row_now = queries.thread(thread, workspace=cast.workspace)
    assert queries.state_at(thread, row_now.head)["report"] == "final"
    for odd in ("no", "010", "1e3"):
        state.write_text(text.replace("report: draft", f"report: {odd}"))
        refused = page.run(
            "./manage.py threads edit demo-flights --from",
            "operator",
            code=1,
            more="--yes",
            **names,
        )
        assert "$.state.report" in refused, odd
    page.complete(
        {"from gatepost import Harness": "tests/unit/workers/testing/test_tape.py runs it"}
    )
