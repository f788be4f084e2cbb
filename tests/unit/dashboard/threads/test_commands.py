"""`./manage.py threads` and `approve`: the same entry point, from a terminal."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from approvals import queries as gates
from checkpoints import queries
from checkpoints.states import EventKind, Status
from tests.support.cast import Cast
from tests.unit.dashboard import scene


class Terminal(io.StringIO):
    """Somebody at a terminal, who types this."""

    def isatty(self) -> bool:
        return True


def output_of(*words: object) -> str:
    out = io.StringIO()
    call_command(*map(str, words), stdout=out)
    return out.getvalue()


def json_of(*words: object) -> Any:
    return json.loads(output_of(*words, "--json"))


def note(*words: object) -> str:
    """What is said on stderr by a command that does its work."""
    err = io.StringIO()
    call_command(*map(str, words), stdout=io.StringIO(), stderr=err)
    return err.getvalue()


def refused(*words: object, code: int = 1) -> str:
    """The one sentence on stderr."""
    err = io.StringIO()
    with pytest.raises(SystemExit) as caught:
        call_command(*map(str, words), stdout=io.StringIO(), stderr=err)
    assert caught.value.code == code
    line = err.getvalue().strip()
    assert line
    assert "\n" not in line
    assert line.endswith((".", "!", "?"))
    return line


def test_start_list_show(cast: Cast, agent: UUID, tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("a,b\n")
    (tmp_path / "input.json").write_text('{"report": "none yet"}')
    made = json_of(
        "threads", "start", "research", "--input", f"@{tmp_path}/input.json",
        "--set", "goal=2013", "--set", "limit=5", "--file", f"file={file}",
        "--title", "Delays", "--label", "team=ops",
    )  # fmt: skip
    row = queries.thread(UUID(made["id"]), workspace=cast.workspace)
    state = queries.state_at(row.id, row.head)
    assert (state["goal"], state["limit"], state["report"]) == ("2013", 5, "none yet")
    assert state["file"]["name"] == "data.csv"
    assert row.started_by == cast.actor("operator").id
    assert row.labels == {"team": "ops"}
    (listed,) = json_of("threads", "list", "--status", "queued,running")["results"]
    assert listed["id"] == made["id"]
    assert json_of("threads", "list", "--status", "failed")["results"] == []
    assert output_of("threads", "list", "-q", "nothing") == ""
    assert note("threads", "list", "-q", "nothing") == "No threads.\n"
    assert "Delays" in output_of("threads", "list")
    shown = output_of("threads", "show", made["id"][:20])
    assert "No worker is running" in shown
    assert "data.csv" in shown
    assert json_of("threads", "show", made["id"])["id"] == made["id"]
    assert "operator started" in output_of("threads", "events", made["id"])
    assert json_of("threads", "events", made["id"])["results"][0]["kind"] == "thread.started"


def test_control(cast: Cast, agent: UUID) -> None:
    thread = scene.start(cast.workspace, agent)
    for words, status in (
        (("pause",), "paused"),
        (("resume",), "queued"),
        (("pause", "--before", "publish"), "queued"),
        (("cancel", "--reason", "no need"), "cancelled"),
    ):
        verb, *rest = words
        assert json_of("threads", verb, thread, *rest)["status"] == status
    assert refused("threads", "retry", thread) == (
        "Retrying is not possible while the thread is cancelled."
    )


def test_edit_fork_rollback(cast: Cast, agent: UUID) -> None:
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="one")
    undone = scene.effect(work)
    scene.step(work, report="two", leave_by=EventKind.THREAD_PAUSED)
    at = work.thread
    json_of("threads", "edit", at, "--set", "goal=weather", "--reason", "typo")
    row = queries.thread(at, workspace=cast.workspace)
    assert queries.state_at(at, row.head)["goal"] == "weather"
    assert "$.reason is required." in refused("threads", "edit", at, "--set", "goal=abc")
    assert refused("threads", "edit", at, "--set", "limit=x", "--reason", "r") == (
        '$.changes.limit must be a whole number or null, not "x".'
    )
    assert "reload and retry" in refused(
        "threads", "edit", at, "--set", "goal=abc", "--reason", "r", "--version", 1
    )
    assert "call again" in output_of("threads", "fork", at, "--checkpoint", 1, "--preview")
    fork = json_of("threads", "fork", at, "--checkpoint", 1, "--set", "goal=what if")
    assert fork["base"] == str(at)
    plan = json_of("threads", "rollback", at, 1, "--preview")
    assert [e["activity"]["id"] for e in plan["effects"]] == [str(undone)]
    assert "1 of 1 effects" in output_of("threads", "rollback", at, 1, "--preview")
    assert "$.reason is required." in refused("threads", "rollback", at, 1, "--yes")
    back = json_of("threads", "rollback", at, 1, "--reason", "wrong", "--as", "manager", "--yes")
    assert back["status"] == "rolling_back"


def test_cancel_asks_where_undo_follows(
    cast: Cast, agent: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.effect(work)
    scene.step(work, report="one", leave_by=EventKind.THREAD_PAUSED)
    at = work.thread

    def status() -> Status:
        return queries.thread(at, workspace=cast.workspace).status

    err = io.StringIO()
    with pytest.raises(SystemExit) as caught:
        call_command("threads", "cancel", str(at), "--undo", stdout=io.StringIO(), stderr=err)
    assert caught.value.code == 2
    assert "--yes is needed where nobody can be asked." in err.getvalue()
    assert status() is Status.PAUSED
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    shown = note("threads", "cancel", at, "--undo")
    assert "1 of 1 effects would be undone." in shown
    assert "Undo these and cancel? [y/N] Nothing was done." in shown
    assert status() is Status.PAUSED
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert "A worker undoes 1 of 1 effects" in note("threads", "cancel", at, "--undo")
    assert status() is Status.ROLLING_BACK


@pytest.mark.parametrize("words", [(), ("--undo", "--yes"), ("--undo", "--undo-unknown", "--yes")])
def test_cancel_asks_nothing_else(cast: Cast, agent: UUID, words: tuple[str, ...]) -> None:
    thread = scene.start(cast.workspace, agent)
    assert json_of("threads", "cancel", thread, *words)["status"] == "cancelled"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("list", "--status", "late"), 2, "--status does not know late; it knows queued,"),
        (("list", "--label", "team"), 2, "--label is written key=value, not team."),
        (("list", "--as", "ghost"), 3, "There is no active user ghost."),
        (
            ("list", "--as", "nobody"),
            1,
            "You are not a member of any workspace yet; ask an admin.",
        ),
        (("start", "research", "--as", "auditor"), 1, "Needs the role operator."),
        (("start", "research"), 1, "$.input.goal is required."),
        (("start", "ghost"), 1, "$.agent No worker has announced an agent named 'ghost'."),
        (("start", "research", "--input", "{"), 2, "--input $: not JSON"),
        (("start", "research", "--input", "[]"), 2, "--input must be an object"),
        (("start", "research", "--input", "@/no/file"), 2, "--input /no/file: No such file"),
        (("start", "research", "--set", "goal"), 2, "--set is written channel=value, not goal."),
        (("start", "research", "--file", "file=/no/file"), 2, "--file /no/file: No such file"),
        (("show", "ffff"), 3, "No thread's id begins with ffff, and none has that name;"),
        (("show", "00000000-0000-0000-0000-000000000000"), 3, "There is no such thread"),
    ],
)
def test_refusals(
    cast: Cast, agent: UUID, words: tuple[str, ...], code: int, sentence: str
) -> None:
    assert refused("threads", *words, code=code).startswith(sentence)


def test_other_workspaces_do_not_exist(cast: Cast, agent: UUID) -> None:
    thread = scene.start(cast.workspace, agent)
    assert json_of("threads", "list", "--as", "stranger")["results"] == []
    assert "no such thread" in refused("threads", "cancel", thread, "--as", "stranger", code=3)
    begun = str(thread)[:18]
    assert refused("threads", "show", begun, "--as", "stranger", code=3).startswith("No thread")
    assert json_of("threads", "show", begun)["id"] == str(thread)


def test_approve(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent)
    assert "Publish this report?" in output_of("approve")
    shown = output_of("approve", str(row.id))
    assert row.proposal_hash in shown
    assert "unpublish" in shown
    assert gates.approval(row.id, workspace=cast.workspace).open
    assert refused("approve", row.id, "--verdict", "approve", "--as", "operator") == (
        "Needs the role reviewer."
    )
    assert refused("approve", row.id, "--verdict", "reject").startswith("$.comment give a reason")
    assert "changed since you opened it" in refused(
        "approve", row.id, "--verdict", "approve", "--hash", "0" * 64
    )
    done = json_of("approve", row.id, "--verdict", "approve", "--comment", "fine")
    assert (done["outcome"], done["decided_by_name"]) == ("approve", "manager")
    assert queries.thread(row.thread, workspace=cast.workspace).status == Status.QUEUED
    late = refused("approve", row.id, "--verdict", "approve", "--as", "second_manager")
    assert late == "manager already decided this request: approve."
    assert json_of("approve") == {"results": [], "next_cursor": ""}
    assert note("approve") == "Nothing is waiting for a decision.\n"
    assert refused("approve", "--verdict", "approve", code=2).startswith("--verdict needs")
    assert refused("approve", "ffff", code=3).startswith("No open request has an id that begins")


def test_agent_text_cannot_steer_the_terminal(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent, title="Publish\x1b[2J [red]this[/red] \u202eltd?")
    for text in (
        output_of("approve"),
        output_of("approve", row.id),
        output_of("threads", "show", row.thread),
    ):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[red]this[/red]" in text
