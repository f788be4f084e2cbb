"""`verify` and `anchor` from the command line: what they find, what they say, how they leave."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection

from checkpoints import queries, store
from checkpoints.queries import proof as proof_queries
from checkpoints.states import EventKind
from dashboard.errors import Invalid
from dashboard.records.integrity import anchors
from dashboard.records.management.commands import verify as verify_command
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, effect, make_thread, rows
from tests.unit.dashboard.carried import run

pytestmark = pytest.mark.django_db


def alter(sql: str, *params: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(sql, params)
        cursor.execute("SET session_replication_role = DEFAULT")


@pytest.fixture
def threads(cast: Cast) -> list[UUID]:
    made = [make_thread(workspace=cast.workspace) for _ in range(3)]
    for n, thread in enumerate(made, 1):
        drive(thread, n)
    return made


def test_everything_is_verified_and_noted(threads: list[UUID]) -> None:
    code, output, _ = run("verify")
    assert code == 0
    assert (output["intact"], output["threads"], output["broken"]) == (True, 3, [])
    assert output["workspaces"] >= 1
    assert output["events"] >= sum(queries.events_after(t, 0)[-1].seq for t in threads)
    for thread in threads:
        noted = queries.verification(thread)
        assert noted is not None
        assert (noted.intact, noted.broken_seq, noted.checked_by) == (True, None, "command")
        assert noted.n_events == queries.events_after(thread, 0)[-1].seq


def test_long_work_says_how_far_it_is(threads: list[UUID], monkeypatch: pytest.MonkeyPatch) -> None:
    assert " events ..." not in run("verify")[2], "short work says nothing"
    monkeypatch.setattr(verify_command, "PROGRESS_SECONDS", 0.0)
    code, output, errors = run("verify")
    messages = [
        int(n.replace(",", "")) for n in re.findall(r"threads, ([\d,]+) events \.\.\.", errors)
    ]
    assert code == 0
    assert len(messages) >= len(threads)
    assert messages == sorted(messages)
    assert 0 < messages[-1] <= output["events"]


def test_a_broken_thread_is_named_with_its_event(threads: list[UUID]) -> None:
    alter("UPDATE gp_event SET actor = 'user:9' WHERE thread_id = %s::uuid AND seq = 2", threads[1])
    code, output, _ = run("verify")
    assert code == 1
    assert [(b["of"], b["id"], b["seq"]) for b in output["broken"]] == [
        ("thread", str(threads[1]), 2)
    ]
    noted = queries.verification(threads[1])
    assert noted is not None
    assert (noted.intact, noted.broken_seq) == (False, 2)
    code, output, _ = run("verify", str(threads[0]))
    assert (code, output["threads"], output["workspaces"]) == (0, 1, 0)
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("verify", stdout=out)
    assert "1 broken" in out.getvalue()
    assert str(threads[1]) in out.getvalue()


def test_an_altered_workspace_is_found(threads: list[UUID], cast: Cast) -> None:
    alter(
        "UPDATE gp_workspace_event SET actor = 'user:9' WHERE workspace_id = %s::uuid AND seq = 1",
        cast.workspace,
    )
    code, output, _ = run("verify")
    assert code == 1
    assert [(b["of"], b["id"], b["seq"]) for b in output["broken"]] == [
        ("workspace", str(cast.workspace), 1)
    ]


@pytest.mark.parametrize(
    ("gone", "seq", "words"),
    [
        ((), 1, "events are still there"),
        (("gp_event",), None, "checkpoints are still there"),
        (("gp_event", "gp_checkpoint"), None, "activities are still there"),
    ],
    ids=["row", "row and log", "all but activities"],
)
def test_what_is_left_of_a_thread_that_is_gone_is_named(
    threads: list[UUID], cast: Cast, gone: tuple[str, ...], seq: int | None, words: str
) -> None:
    lost = make_thread(workspace=cast.workspace)
    effect(drive(lost, 1).work, "mail#0", state="done")
    for table in gone:
        alter(f"DELETE FROM {table} WHERE thread_id = %s::uuid", lost)
    alter("DELETE FROM gp_thread WHERE id = %s::uuid", lost)
    code, output, _ = run("verify")
    assert code == 1
    assert (output["intact"], output["threads"]) == (False, 3)
    assert [(b["of"], b["id"], b["seq"]) for b in output["broken"]] == [("thread", str(lost), seq)]
    assert words in output["broken"][0]["what"]
    assert run("verify", str(threads[0]))[0] == 0
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("verify", stdout=out)
    assert str(lost) in out.getvalue()


def test_what_is_left_of_a_workspace_that_is_gone_is_named(threads: list[UUID]) -> None:
    lost = store.create_workspace("lost", actor="user:0")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # while its row is there
    alter("DELETE FROM gp_workspace WHERE id = %s::uuid", lost)
    code, output, _ = run("verify")
    assert code == 1
    assert [(b["of"], b["id"], b["seq"]) for b in output["broken"]] == [("workspace", str(lost), 1)]


def test_threads_that_are_gone_are_found_over_several_pages(
    threads: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof_queries, "AT_ONCE", 2)  # more than one page
    for lost in (threads[0], threads[2]):
        alter("DELETE FROM gp_thread WHERE id = %s::uuid", lost)
    alter("DELETE FROM gp_event WHERE thread_id = %s::uuid AND seq = 1", threads[2])
    pages = queries.ownerless_pages("gp_event", "thread")
    results = [row for page in pages for row in page]
    assert results == [(threads[0], 1), (threads[2], 2)]


def test_an_anchor_finds_what_a_chain_cannot(threads: list[UUID], tmp_path: Path) -> None:
    path = tmp_path / "safe" / "today.anchor"
    code, written, _ = run("anchor", "--to", str(path))
    assert (code, written["threads"], written["file"]) == (0, 3, str(path))
    assert run("verify", "--anchor", str(path))[0] == 0
    went_on = store.NewEvent(EventKind.VALUE_RECORDED, {"value": 1}, "user:1")
    store.add_event(threads[0], went_on)
    assert run("verify", "--anchor", str(path))[0] == 0

    cut, lost = threads[1], threads[2]
    saved = queries.events_after(cut, 0)
    last = saved[-2]
    head = rows(
        "SELECT id, number, step FROM gp_checkpoint WHERE thread_id = %s::uuid "
        "ORDER BY number DESC LIMIT 1 OFFSET 1",
        (cut,),
    )[0]
    size = rows("SELECT state_bytes FROM gp_checkpoint WHERE id = %s::uuid", (head[0],))[0][0]
    digest = rows(
        "SELECT hash FROM gp_event WHERE thread_id = %s::uuid AND seq = %s", (cut, last.seq)
    )[0][0]
    alter("DELETE FROM gp_event WHERE thread_id = %s::uuid AND seq > %s", cut, last.seq)
    alter("DELETE FROM gp_checkpoint WHERE thread_id = %s::uuid AND number > %s", cut, head[1])
    alter(
        "UPDATE gp_thread SET last_seq = %s, last_hash = %s, head = %s, number = %s, step = %s, "
        "state_bytes = %s, n_steps = n_steps - 1 WHERE id = %s",
        last.seq,
        bytes(digest),
        head[0],
        head[1],
        head[2],
        size,
        cut,
    )
    for table in ("gp_event", "gp_checkpoint"):
        alter(f"DELETE FROM {table} WHERE thread_id = %s::uuid", lost)
    alter("DELETE FROM gp_thread WHERE id = %s::uuid", lost)
    assert run("verify")[0] == 0, "a chain that was cut at its end holds in itself"
    code, output, _ = run("verify", "--anchor", str(path))
    assert code == 1
    payload = {b["id"]: b["what"] for b in output["broken"]}
    assert set(payload) == {str(cut), str(lost)}
    assert "ends before" in payload[str(cut)]
    assert "gone" in payload[str(lost)]


def test_an_altered_anchor_is_refused(threads: list[UUID], tmp_path: Path) -> None:
    path = tmp_path / "a.anchor"
    anchors.write(path)
    good = path.read_bytes()
    lines = good.splitlines(keepends=True)
    bad = {
        "a number": good.replace(b'"seq": ', b'"seq": 1', 1),
        "a line less": b"".join([*lines[:1], *lines[2:]]),
        "cut off": b"".join(lines[:-1]),
        "more behind": good + b"{}\n",
        "no anchor": b"hello\n",
        "empty": b"",
        "bytes": b"\xff\x00" * 500,
    }
    for what, content in bad.items():
        path.write_bytes(content)
        with pytest.raises(Invalid):
            list(anchors.deviations(path))
        code, _, errors = run("verify", "--anchor", str(path))
        assert code != 0, what
        assert str(path) in errors
    path.write_bytes(good)
    assert not list(anchors.deviations(path))
    code, _, errors = run("verify", "--anchor", str(tmp_path / "none.anchor"))
    assert code != 0
    assert "cannot be read" in errors


def test_another_key_signs_another_anchor(
    threads: list[UUID], tmp_path: Path, settings: Any
) -> None:
    path = tmp_path / "a.anchor"
    settings.GATEPOST_ANCHOR_KEY = "one"
    anchors.write(path)
    assert not list(anchors.deviations(path))
    settings.GATEPOST_ANCHOR_KEY = "two"
    with pytest.raises(Invalid, match="another key"):
        list(anchors.deviations(path))


def test_noting_twice_keeps_the_last(threads: list[UUID]) -> None:
    from checkpoints.chain import ChainReport

    store.note_verification(ChainReport(threads[0], False, 1, 2, "Event 2: gone."), actor="user:1")
    store.note_verification(ChainReport(threads[0], True, 5, None, ""), actor="user:1")
    noted = queries.verification(threads[0])
    assert noted is not None
    assert (noted.intact, noted.n_events, noted.what) == (True, 5, "")


def test_the_page_says_what_is_known_of_the_record(threads: list[UUID], cast: Cast) -> None:
    client = cast.client("auditor")
    address = f"/threads/{threads[0]}/"
    assert "not verified yet" in client.get(address).content.decode()
    answer = client.post(f"{address}verify/", follow=True)
    assert "events are intact" in answer.content.decode()
    assert re.search(r"intact</span>\s*<span[^>]*>events 1 to \d", answer.content.decode())
    alter("UPDATE gp_event SET actor = 'user:9' WHERE thread_id = %s::uuid AND seq = 2", threads[0])
    text = client.post(f"{address}verify/", follow=True).content.decode()
    assert "damaged at event 2" in text
    assert "Check again" in text


def test_the_api_verifies_and_a_long_thread_is_sent_to_the_command(
    threads: list[UUID], cast: Cast
) -> None:
    client = cast.client("auditor")
    address = f"/api/v1/threads/{threads[0]}/verify/"
    answer = client.post(address, {}, content_type="application/json")
    assert answer.status_code == 200
    assert answer.json()["intact"] is True
    rows("UPDATE gp_thread SET last_seq = 20001 WHERE id = %s::uuid", (threads[0],))
    answer = client.post(address, {}, content_type="application/json")
    assert answer.status_code == 409
    assert "manage.py verify" in answer.json()["detail"]
