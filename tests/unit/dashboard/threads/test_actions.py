"""The one choke point: validation, and what each action does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from approvals import queries as gates
from checkpoints import queries, store
from checkpoints.states import EventKind, Status
from dashboard.errors import (
    AlreadyDecided,
    Conflict,
    Invalid,
    Missing,
    NotAllowedNow,
    ProposalChanged,
    Stale,
)
from dashboard.fields.validation import clean_name
from dashboard.kit.action import read
from dashboard.kit.pages.uploads import upload
from dashboard.kit.shapes.requests import Nothing
from dashboard.threads.cancel import cancel
from dashboard.threads.edit import edit, preview_edit
from dashboard.threads.fork import fork as fork_thread
from dashboard.threads.fork import preview_fork
from dashboard.threads.pause import PAUSE, RESUME, Pause, Resume
from dashboard.threads.retry import RETRY
from dashboard.threads.roll_back import preview_roll_back, roll_back
from dashboard.threads.start import start_or_continue, start_thread
from dashboard.wording.events import event_sentence
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.dashboard import scene

HASH = "0" * 64


# --- start ----------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_start_and_continue_by_name(cast: Cast, agent: UUID) -> None:
    who = cast.actor("operator")
    first, new = start_or_continue(
        who,
        agent="research",
        input={"goal": "delays"},
        name="daily",
        title="Delays",
        labels={"team": "ops"},
        pause_at="publish",
    )
    again, newer = start_or_continue(who, agent="research", input={"goal": "delays"}, name="daily")
    assert (new, newer) == (True, False)
    assert first == again
    row = queries.thread(first, workspace=cast.workspace)
    assert (row.status, row.title, row.labels) == (Status.QUEUED, "Delays", {"team": "ops"})
    assert (row.started_by, row.pause_at) == (who.id, "publish")
    assert queries.state_at(first, row.head) == {
        "goal": "delays", "limit": None, "findings": [], "file": None, "report": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("input", "path", "text"),
    [
        ({}, "$.goal", "is required"),
        ({"goal": 5}, "$.goal", "must be text, not 5"),
        ({"goal": "x"}, "$.goal", "needs at least 3 characters"),
        ({"goal": "abc", "limit": "5"}, "$.limit", 'must be a whole number or null, not "5"'),
        ({"goal": "abc", "limit": 101}, "$.limit", "at most 100"),
        ({"goal": "abc", "findings": ["a", 2]}, "$.findings[1]", "must be text, not 2"),
        ({"goal": "abc", "other": 1}, "$.other", "no such channel"),
        ({"goal": "a\0b"}, "$.goal", "NUL"),
        ({"goal": "abc", "limit": 2**60}, "$.limit", "2^53"),
        ({"goal": "abc", "report": float("nan")}, "$.report", "NaN"),
        ({"goal": "abc", "file": {"$artifact": HASH}}, "$.file", "does not have"),
    ],
)
def test_start_refuses_values_at_their_path(
    cast: Cast, agent: UUID, input: dict[str, Any], path: str, text: str
) -> None:
    with pytest.raises(Invalid) as caught:
        start_thread(cast.actor("operator"), agent="research", input=input)
    assert caught.value.path == path
    assert caught.value.request_path == f"$.input{path[1:]}"
    assert text in caught.value.reason
    assert not queries.threads(workspace=cast.workspace).rows


def test_start_names_all_faults(cast: Cast, agent: UUID) -> None:
    with pytest.raises(Invalid) as caught:
        start_thread(cast.actor("operator"), agent="research", input={"limit": "x", "report": 1})
    assert [f.path for f in caught.value.faults] == ["$.goal", "$.limit", "$.report"]


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"agent": "nothing"}, "$.agent"),
        ({"title": "x" * 301}, "$.title"),
        ({"title": "a\0"}, "$.title"),
        ({"name": "x" * 256}, "$.name"),
        ({"name": "  "}, "$.name"),
        ({"labels": {"a": 1}}, "$.labels.a"),
        ({"pause_at": "nowhere"}, "$.pause_at"),
    ],
)
def test_start_refuses_bad_parameters(
    cast: Cast, agent: UUID, more: dict[str, Any], path: str
) -> None:
    values = {"agent": "research", "input": {"goal": "abc"}, **more}
    with pytest.raises(Invalid) as caught:
        start_thread(cast.actor("operator"), **values)
    assert caught.value.request_path == path


# --- control --------------------------------------------------------------------------------------


def test_pause_resume_cancel(cast: Cast, agent: UUID) -> None:
    who, thread = cast.actor("operator"), scene.start(cast.workspace, agent)

    def status() -> Status:
        return queries.thread(thread, workspace=cast.workspace).status

    assert PAUSE.run(who, Pause(), thread) == "paused"
    assert status() == Status.PAUSED
    RESUME.run(who, Resume(), thread)
    assert status() == Status.QUEUED
    with pytest.raises(NotAllowedNow) as caught:
        RESUME.run(who, Resume(), thread)
    assert caught.value.facts["status"] == "queued"
    scene.lease(thread)
    assert PAUSE.run(who, Pause(), thread) == "requested"
    assert PAUSE.run(who, Pause(), thread) == "requested"
    cancel(who, thread, "no need")
    assert status() == Status.CANCELLED
    with pytest.raises(Conflict):
        cancel(who, thread)
    with pytest.raises(Conflict):
        PAUSE.run(who, Pause(), thread)


def test_a_pause_carries_its_reason_to_the_event_and_the_status(cast: Cast, agent: UUID) -> None:
    operator = cast.actor("operator")
    idle, busy, ahead = (scene.start(cast.workspace, agent) for _ in range(3))
    assert PAUSE.run(operator, Pause(reason="no figures yet"), idle) == "paused"
    row = queries.thread(idle, workspace=cast.workspace)
    assert row.status_reason == "Paused by a person: no figures yet"
    last = queries.events_after(idle, 0)[-1]
    assert (last.kind, last.data["reason"]) == ("thread.paused", "no figures yet")
    assert "no figures yet" in event_sentence(last)
    scene.lease(busy)
    assert PAUSE.run(operator, Pause(reason="no figures yet"), busy) == "requested"
    last = queries.events_after(busy, 0)[-1]
    assert (last.kind, last.data["reason"]) == ("pause.requested", "no figures yet")
    assert queries.pause_reason(busy) == "no figures yet"
    node = queries.thread(ahead, workspace=cast.workspace).next_nodes[0]
    PAUSE.run(operator, Pause(before_node=node, reason="no figures yet"), ahead)
    assert queries.events_after(ahead, 0)[-1].data == {"before": node, "reason": "no figures yet"}
    with pytest.raises(Invalid):
        PAUSE.run(operator, read(Pause, {"reason": "x" * 10_001}), ahead)


def test_pause_before_a_node(cast: Cast, agent: UUID) -> None:
    who, thread = cast.actor("operator"), scene.start(cast.workspace, agent)
    assert PAUSE.run(who, Pause(before_node="publish"), thread) == "requested"
    assert queries.thread(thread, workspace=cast.workspace).pause_at == "publish"
    with pytest.raises(Invalid) as caught:
        PAUSE.run(who, Pause(before_node="nowhere"), thread)
    assert caught.value.path == "$.before_node"


def test_retry_after_failure(cast: Cast, agent: UUID) -> None:
    thread = scene.start(cast.workspace, agent)
    store.leave(scene.lease(thread), EventKind.THREAD_FAILED, reason="no such column")
    RETRY.run(cast.actor("operator"), Nothing(), thread)
    assert queries.thread(thread, workspace=cast.workspace).status == Status.QUEUED


@pytest.mark.parametrize("action", ["pause", "resume", "retry", "cancel", "edit", "roll_back"])
def test_versions_are_compared(cast: Cast, agent: UUID, action: str) -> None:
    row = scene.waiting(cast.workspace, agent)
    who = cast.actor("operator")
    thread = queries.thread(row.thread, workspace=cast.workspace)
    first = queries.checkpoint_by_number(row.thread, 0).id
    acts: dict[str, Callable[..., Any]] = {
        "pause": partial(PAUSE.run, who, Pause(), row.thread),
        "resume": partial(RESUME.run, who, Resume(), row.thread),
        "retry": partial(RETRY.run, who, Nothing(), row.thread),
        "cancel": partial(cancel, who, row.thread),
        "edit": partial(edit, who, row.thread, {"goal": "abc"}, "because"),
        "roll_back": partial(roll_back, who, row.thread, first, "because"),
    }
    with pytest.raises(Stale) as caught:
        acts[action](expected_version=thread.version - 1)
    assert caught.value.facts["version"] == thread.version
    assert queries.thread(row.thread, workspace=cast.workspace) == thread
    assert gates.approval(row.id, workspace=cast.workspace).open


def test_cancel_withdraws_open_requests(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent)
    cancel(cast.actor("operator"), row.thread)
    assert gates.approval(row.id, workspace=cast.workspace).status == "withdrawn"


# --- edit -----------------------------------------------------------------------------------------


def test_edit_writes_a_checkpoint_and_withdraws(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent)
    who = cast.actor("operator")
    before = queries.thread(row.thread, workspace=cast.workspace)
    plan = preview_edit(who, row.thread, {"goal": "weather"})
    assert [a.id for a in plan.approvals] == [row.id]
    assert plan.patch == ({"op": "replace", "path": "/goal", "value": "weather"},)
    made = edit(who, row.thread, {"goal": "weather"}, "typo", before.version)
    after = queries.thread(row.thread, workspace=cast.workspace)
    assert (after.head, after.status, after.step) == (made, Status.PAUSED, before.step)
    assert queries.state_at(row.thread, made)["goal"] == "weather"
    assert gates.approval(row.id, workspace=cast.workspace).status == "withdrawn"
    kinds = [e.kind for e in queries.events(row.thread, limit=3).rows]
    assert kinds == ["checkpoint.committed", "state.edited", "approval.withdrawn"]


@pytest.mark.parametrize(
    ("changes", "reason", "path"),
    [
        ({"limit": 500}, "r", "$.changes.limit"),
        ({"other": 1}, "r", "$.changes.other"),
        ({"goal": None}, "r", "$.changes.goal"),
        ({}, "r", "$.changes"),
        ({"goal": "abc"}, "  ", "$.reason"),
        ({"goal": "abc"}, "x" * 5001, "$.reason"),
    ],
)
def test_edit_refuses(
    cast: Cast, agent: UUID, changes: dict[str, Any], reason: str, path: str
) -> None:
    row = scene.waiting(cast.workspace, agent)
    before = queries.thread(row.thread, workspace=cast.workspace)
    with pytest.raises(Invalid) as caught:
        edit(cast.actor("operator"), row.thread, changes, reason)
    assert caught.value.request_path == path
    assert queries.thread(row.thread, workspace=cast.workspace) == before
    assert gates.approval(row.id, workspace=cast.workspace).open


def test_edit_waits_for_the_worker(cast: Cast, agent: UUID) -> None:
    thread = scene.start(cast.workspace, agent)
    scene.lease(thread)
    with pytest.raises(NotAllowedNow, match="running"):
        edit(cast.actor("operator"), thread, {"goal": "abc"}, "because")


# --- fork and roll back ---------------------------------------------------------------------------


def test_fork_with_changes(cast: Cast, agent: UUID) -> None:
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="one")
    scene.effect(work)
    scene.step(work, report="two", leave_by=EventKind.THREAD_SUCCEEDED)
    first = queries.checkpoint_by_number(work.thread, 0).id
    who = cast.actor("manager")
    plan = preview_fork(who, work.thread, first, {"goal": "weather"})
    ahead = plan.expected
    fate = "maybe"  # Unknown until run: the goal is another one.
    assert (ahead.count(fate), ahead.tokens(fate), ahead.cost(fate)) == (1, 12, "0.25")
    assert plan.first_effect == "publish"
    assert plan.next_nodes == ("analyse",)
    before = queries.thread(work.thread, workspace=cast.workspace)
    new = fork_thread(who, work.thread, first, {"goal": "weather"}, title="What if")
    row = queries.thread(new, workspace=cast.workspace)
    assert (row.base, row.forked_from, row.effects) == (work.thread, first, "ask")
    assert (row.title, row.started_by) == ("What if", who.id)
    assert queries.state_at(new, row.head)["goal"] == "weather"
    assert queries.thread(work.thread, workspace=cast.workspace) == before


def test_fork_refuses_a_bad_value_at_its_field(cast: Cast, agent: UUID) -> None:
    thread = scene.start(cast.workspace, agent)
    head = queries.thread(thread, workspace=cast.workspace).head
    who = cast.actor("operator")
    for call in (fork_thread, preview_fork):
        with pytest.raises(Invalid) as caught:
            call(who, thread, head, {"findings": "no list"})
        assert caught.value.path == "$.findings"
    with pytest.raises(Invalid, match="ask or run"):
        fork_thread(who, thread, head, effects="perhaps")
    with pytest.raises(Missing):
        fork_thread(who, thread, uuid4())


def test_roll_back_does_what_the_preview_shows(cast: Cast, agent: UUID) -> None:
    work = scene.lease(scene.start(cast.workspace, agent))
    target = scene.step(work, report="one")
    undoable = scene.effect(work, key="publish:0")
    stays = scene.effect(work, undo="", key="publish:1")
    scene.step(work, report="two")
    unknown = scene.effect(work, done=False)
    who = cast.actor("manager")
    plan = preview_roll_back(who, work.thread, target)
    assert {e.activity.id: e.fate for e in plan.effects} == {
        unknown: "unknown", stays: "stays", undoable: "undoable",
    }  # fmt: skip
    assert plan.effects[0].activity.id == unknown
    assert (plan.undo, plan.steps, plan.target.id) == ((undoable,), 1, target)
    roll_back(who, work.thread, target, "wrong data", plan.version)
    row = queries.thread(work.thread, workspace=cast.workspace)
    assert row.status == Status.ROLLING_BACK
    assert row.rollback is not None
    assert row.rollback["undo"] == [str(undoable)]
    assert row.rollback["reason"] == "wrong data"
    with pytest.raises(Conflict):
        roll_back(who, work.thread, target, "again")


def test_roll_back_withdraws_open_requests(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent)
    first = queries.checkpoint_by_number(row.thread, 0).id
    who = cast.actor("manager")
    assert [a.id for a in preview_roll_back(who, row.thread, first).approvals] == [row.id]
    roll_back(who, row.thread, first, "because")
    assert gates.approval(row.id, workspace=cast.workspace).status == "withdrawn"


def test_roll_back_refuses(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent)
    who = cast.actor("manager")
    thread = queries.thread(row.thread, workspace=cast.workspace)
    first = queries.checkpoint_by_number(row.thread, 0).id
    fork = fork_thread(who, row.thread, first)
    with pytest.raises(Conflict, match="already at this checkpoint"):
        roll_back(who, row.thread, thread.head, "because")
    with pytest.raises(Missing, match="fork that one"):
        roll_back(who, fork, first, "because")
    with pytest.raises(Invalid) as caught:
        roll_back(who, row.thread, first, "")
    assert caught.value.path == "$.reason"
    assert gates.approval(row.id, workspace=cast.workspace).open


# --- decide and upload ----------------------------------------------------------------------------


def test_decide_once(cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent)
    with pytest.raises(ProposalChanged):
        decisions.decide(cast.actor("manager"), row.id, "approve", HASH)
    decided = decisions.decide(cast.actor("manager"), row.id, "approve", row.proposal_hash, "fine")
    assert (decided.outcome, decided.decided_by_name, decided.comment) == (
        "approve", "manager", "fine",
    )  # fmt: skip
    assert queries.thread(row.thread, workspace=cast.workspace).status == Status.QUEUED
    with pytest.raises(AlreadyDecided, match="manager already decided") as caught:
        decisions.decide(
            cast.actor("second_manager"), row.id, "reject", row.proposal_hash, "too late"
        )
    assert caught.value.facts["approval"].outcome == "approve"


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"verdict": "perhaps"}, "$.verdict"),
        ({"verdict": "respond", "comment": "why?", "args": 1}, "$.args"),
        ({"verdict": "respond"}, "$.comment"),
        ({"verdict": "edit"}, "$.args"),
        ({"verdict": "approve", "what_next": "stop"}, "$.what_next"),
        ({"verdict": "reject"}, "$.comment"),
        ({"verdict": "approve", "comment": "x" * 5001}, "$.comment"),
        ({"verdict": "approve", "comment": "\0"}, "$.comment"),
        ({"verdict": "approve", "args": {"report": "other"}}, "$.args"),
        ({"verdict": "approve", "proposal_hash": "\0"}, "$.proposal_hash"),
    ],
)
def test_decide_refuses(cast: Cast, agent: UUID, values: dict[str, Any], path: str) -> None:
    row = scene.waiting(cast.workspace, agent)
    with pytest.raises(Invalid) as caught:
        decisions.decide(
            cast.actor("manager"), row.id, **{"proposal_hash": row.proposal_hash, **values}
        )
    assert caught.value.request_path == path
    assert gates.approval(row.id, workspace=cast.workspace).open


def test_answers_are_judged_by_the_question(cast: Cast, agent: UUID) -> None:
    schema = {"type": "object", "properties": {"year": {"type": "integer"}}}
    row = scene.waiting(cast.workspace, agent, kind="question", tool="", schema=schema)
    who = cast.actor("manager")
    with pytest.raises(Invalid) as caught:
        decisions.decide(who, row.id, "respond", row.proposal_hash, args={"year": "x"})
    assert caught.value.request_path == "$.args.year"
    done = decisions.decide(who, row.id, "respond", row.proposal_hash, args={"year": 2013})
    assert done.decided_args == {"year": 2013}


def test_upload(cast: Cast, agent: UUID, settings: Any) -> None:
    who = cast.actor("operator")
    ref = upload(who, SimpleUploadedFile("../up/Flüge\u202e 2013.csv", b"a,b\n1,2\n"))
    assert ref["name"] == "Flüge 2013.csv"
    assert (ref["media_type"], ref["size"]) == ("text/csv", 8)
    assert queries.artifact(ref["$artifact"], workspace=cast.workspace).size == 8
    thread = start_thread(who, agent="research", input={"goal": "abc", "file": ref})
    assert thread
    settings.GATEPOST_UPLOAD_MAX_BYTES = 3
    with pytest.raises(Invalid) as caught:
        upload(who, SimpleUploadedFile("a.csv", b"1234"))
    assert caught.value.path == "$.file"


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        ("report.pdf", "report.pdf"),
        ("C:\\x\\report.pdf", "report.pdf"),
        ("/etc/passwd", "passwd"),
        ("..", "file"),
        ("", "file"),
        ("a\x00\nb.csv", "ab.csv"),
        ("x" * 300 + ".csv", "x" * 251 + ".csv"),
        (".hidden", "hidden"),
    ],
)
def test_names_are_cleaned(value: str, cleaned: str) -> None:
    assert clean_name(value) == cleaned
