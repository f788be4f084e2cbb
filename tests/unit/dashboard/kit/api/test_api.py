"""What each call of the API does, as a browser's session sees it."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from approvals import queries as gates
from checkpoints import queries
from checkpoints.states import EventKind, Status
from dashboard.kit.pages.uploads import upload
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import V1, post, refused

# --- agents and threads ---------------------------------------------------------------------------


def test_agents(operator: Client, agent: UUID) -> None:
    scene.alive(agent)
    (result,) = operator.get(f"{V1}/agents/").json()["results"]
    assert (result["agent"], result["version"], result["live_workers"]) == ("research", 1, 1)
    assert result["schema"] == scene.SCHEMA
    detail = operator.get(f"{V1}/agents/research/").json()
    assert [one["tool"] for one in detail.pop("held_tools")] == ["publish"]
    assert detail == result


def test_start_and_continue(operator: Client, agent: UUID) -> None:
    body = {
        "agent": "research",
        "input": {"goal": "delays"},
        "name": "daily",
        "title": "Delays",
        "labels": {"team": "ops"},
    }
    first, second = post(operator, "/threads/", body), post(operator, "/threads/", body)
    assert (first.status_code, second.status_code) == (201, 200)
    made = first.json()
    assert second.json()["id"] == made["id"]
    assert first["Location"] == f"{V1}/threads/{made['id']}/"
    assert first["ETag"] == f'"{made["version"]}"'
    assert (made["status"], made["title"], made["labels"]) == (
        "queued",
        "Delays",
        {"team": "ops"},
    )
    assert made["why_waiting"]["kind"] == "no_worker"
    assert made["actions"]["pause"] == {"allowed": True, "why": ""}
    assert not made["actions"]["rollback"]["allowed"]


def test_one_thread(cast: Cast, operator: Client, row: gates.ApprovalRow) -> None:
    response = operator.get(f"{V1}/threads/{row.thread}/")
    payload = response.json()
    thread = queries.thread(row.thread, workspace=cast.workspace)
    assert response["ETag"] == f'"{thread.version}"'
    assert (payload["id"], payload["head"], payload["fence"]) == (
        str(thread.id),
        str(thread.head),
        thread.fence,
    )
    assert payload["lease"] is None
    assert payload["approvals"] == [str(row.id)]
    assert payload["why_waiting"]["sentence"] == "Waiting for a decision: Publish this report?"
    assert payload["why_waiting"]["action"] == "A reviewer decides."
    assert set(payload["actions"]) == {
        "pause", "resume", "retry", "skip", "settle", "input", "signal", "edit", "fork", "rollback",
        "cancel",
    }  # fmt: skip
    assert payload["totals"]["steps"] == 1


def test_a_worker_is_named(operator: Client, cast: Cast, agent: UUID) -> None:
    work = scene.lease(scene.start(cast.workspace, agent))
    payload = operator.get(f"{V1}/threads/{work.thread}/").json()
    assert (payload["lease"]["owner"], payload["lease"]["fence"]) == (work.owner, work.fence)
    assert payload["why_waiting"]["kind"] == "working"


def test_lists_page_by_cursor(operator: Client, cast: Cast, agent: UUID) -> None:
    made = {str(scene.start(cast.workspace, agent)) for _ in range(5)}
    scene.waiting(cast.workspace, agent)
    seen: list[str] = []
    cursor = ""
    for _ in range(3):
        page = operator.get(f"{V1}/threads/?status=queued&limit=2&cursor={cursor}").json()
        seen += [t["id"] for t in page["results"]]
        cursor = page["next_cursor"]
    assert cursor == ""
    assert (len(seen), set(seen)) == (5, made)
    counts = operator.get(f"{V1}/threads/counts/").json()
    assert counts["counts"]["queued"] == 5
    assert counts["counts"]["waiting"] == counts["open_approvals"] == 1


def test_lists_are_filtered(operator: Client, cast: Cast, agent: UUID) -> None:
    body = {"agent": "research", "input": {"goal": "abc"}, "labels": {"team": "ops"}}
    marked = post(operator, "/threads/", {**body, "title": "Weather 100%"}).json()["id"]
    scene.start(cast.workspace, agent)

    def ids(query: str) -> list[str]:
        return [t["id"] for t in operator.get(f"{V1}/threads/?{query}").json()["results"]]

    for query in ("label=team:ops", "q=weather", "q=100%25", f"q={marked}"):
        assert ids(query) == [marked]
    assert ids("label=team:other") == ids("stuck=1") == ids("status=waiting,failed") == []
    assert len(ids("agent=research")) == 2


# --- the past -------------------------------------------------------------------------------------


def test_state_now_and_then(operator: Client, cast: Cast, agent: UUID) -> None:
    ref = upload(cast.actor("operator"), SimpleUploadedFile("a.csv", b"1,2"))
    work = scene.lease(scene.start(cast.workspace, agent, file=ref))
    scene.step(work, report="draft: ü\n- 1")
    first = queries.checkpoint_by_number(work.thread, 0).id
    at = f"{V1}/threads/{work.thread}/state/"
    now = operator.get(at).json()
    assert set(now) == {
        "name", "session_id", "version", "step", "status", "thread_status", "created_at",
        "updated_at", "context", "artifacts", "state",
    }  # fmt: skip
    assert (now["step"], now["status"], now["state"]["report"]) == (1, "running", "draft: ü\n- 1")
    assert now["artifacts"] == [ref]
    assert now["context"]["head"] is True
    then = operator.get(f"{at}?checkpoint={first}").json()
    assert (then["step"], then["state"]["report"], then["context"]["head"]) == (0, "", False)
    for response in (
        operator.get(f"{at}?format=yaml"),
        operator.get(at, headers={"Accept": "application/yaml"}),
    ):
        assert response["Content-Type"].startswith("application/yaml")
        assert yaml.safe_load(response.content)["state"] == now["state"]
    refused(operator.get(f"{at}?format=yaml&checkpoint=x"), 422, "checkpoint")


def test_checkpoints_events_activities(operator: Client, cast: Cast, agent: UUID) -> None:
    work = scene.lease(scene.start(cast.workspace, agent))
    for number in range(3):
        scene.step(work, report=str(number))
    scene.effect(work)
    at = f"{V1}/threads/{work.thread}"
    page = operator.get(f"{at}/checkpoints/?limit=3").json()
    assert [c["number"] for c in page["results"]] == [3, 2, 1]
    rest = operator.get(f"{at}/checkpoints/?cursor={page['next_cursor']}").json()
    assert [c["source"] for c in rest["results"]] == ["input"]
    assert rest["next_cursor"] == ""

    seen: list[int] = []
    after, more = 0, True
    while more:
        page = operator.get(f"{at}/events/?after={after}&limit=2").json()
        seen += [e["seq"] for e in page["results"]]
        after, more = page["last_seq"], bool(page["next_cursor"])
    last = queries.thread(work.thread, workspace=cast.workspace).last_seq
    assert seen == list(range(1, last + 1))
    some = operator.get(f"{at}/events/?kind=effect,checkpoint.committed&limit=4").json()
    assert [e["kind"] for e in some["results"]] == [
        "checkpoint.committed", "checkpoint.committed", "checkpoint.committed", "effect.started",
    ]  # fmt: skip
    assert some["next_cursor"]
    none = operator.get(f"{at}/events/?after={last}").json()
    assert none == {"results": [], "last_seq": last, "next_cursor": ""}

    (result,) = operator.get(f"{at}/activities/").json()["results"]
    assert (result["kind"], result["tool"], result["state"]) == ("effect", "publish", "done")
    assert result["result"] == {"path": "p"}
    assert result["approval"] is None
    approval = uuid4()
    rows("UPDATE gp_activity SET approval_id = %s WHERE id = %s", [approval, result["id"]])
    (result,) = operator.get(f"{at}/activities/").json()["results"]
    assert result["approval"] == str(approval)


def test_diff_of_a_fork_and_its_base(operator: Client, cast: Cast, agent: UUID) -> None:
    work = scene.lease(scene.start(cast.workspace, agent))
    first = scene.step(work, report="one")
    second = scene.step(work, report="two", leave_by=EventKind.THREAD_SUCCEEDED)
    at = f"{V1}/threads/{work.thread}/diff/"
    payload = operator.get(f"{at}?from={first}").json()
    assert payload["patch"] == [{"op": "replace", "path": "/report", "value": "two"}]
    assert payload["common"]["checkpoint"] == str(first)
    assert payload["diverged"]["from"] is None
    assert payload["diverged"]["to"]["data"]["checkpoint"] == str(second)
    body = {"checkpoint": str(first), "changes": {"goal": "weather"}}
    fork = post(operator, f"/threads/{work.thread}/fork/", body).json()["id"]
    payload = operator.get(f"{at}?from={second}&to_thread={fork}").json()
    assert {op["path"] for op in payload["patch"]} == {"/report", "/goal"}
    assert payload["common"]["checkpoint"] == str(first)
    assert payload["diverged"]["from"]["data"]["checkpoint"] == str(second)
    assert payload["diverged"]["to"]["kind"] == "thread.forked"
    elsewhere = scene.start(cast.elsewhere, agent)
    refused(operator.get(f"{at}?from={first}&to_thread={elsewhere}"), 404)


# --- changes --------------------------------------------------------------------------------------


def test_control(operator: Client, cast: Cast, agent: UUID) -> None:
    at = f"/threads/{scene.start(cast.workspace, agent)}"
    for verb, body, status in (
        ("pause", None, "paused"),
        ("resume", None, "queued"),
        ("pause", {"before_node": "publish"}, "queued"),
        ("cancel", {"reason": "no need"}, "cancelled"),
    ):
        response = post(operator, f"{at}/{verb}/", body)
        assert response.status_code == 200, response.content
        assert response.json()["status"] == status
        assert response["ETag"] == f'"{response.json()["version"]}"'
    problem = refused(post(operator, f"{at}/retry/"), 409)
    assert problem["type"] == "urn:gatepost:problem:not-allowed-now"
    assert problem["thread_status"] == "cancelled"
    refused(post(operator, f"{at}/resume/", {"reason": "x"}), 422, "$.reason")


def test_a_body_is_not_needed(operator: Client, cast: Cast, agent: UUID) -> None:
    thread = scene.start(cast.workspace, agent)
    assert operator.generic("POST", f"{V1}/threads/{thread}/pause/").status_code == 200


@pytest.mark.parametrize("verb", ["pause", "resume", "retry", "cancel", "edit", "rollback"])
def test_versions_are_compared(
    operator: Client, cast: Cast, row: gates.ApprovalRow, verb: str
) -> None:
    first = queries.checkpoint_by_number(row.thread, 0).id
    body = {
        "edit": {"changes": {"goal": "abc"}, "reason": "r"},
        "rollback": {"checkpoint": str(first), "reason": "r"},
    }.get(verb)
    version = queries.thread(row.thread, workspace=cast.workspace).version
    at = f"/threads/{row.thread}/{verb}/"
    problem = refused(post(operator, at, body, **{"If-Match": f'"{version - 1}"'}), 412)
    assert problem["version"] == version
    response = post(operator, at, body, **{"If-Match": f'"{version}"'})
    assert response.status_code == (409 if verb in ("resume", "retry") else response.status_code)
    assert response.status_code in (200, 202, 409)


def test_edit_with_preview(operator: Client, row: gates.ApprovalRow) -> None:
    at = f"/threads/{row.thread}/edit/"
    plan = post(operator, f"{at}?preview=1", {"changes": {"goal": "weather"}}).json()
    assert plan["withdrawn_approvals"] == [str(row.id)]
    assert plan["patch"] == [{"op": "replace", "path": "/goal", "value": "weather"}]
    refused(post(operator, at, {"changes": {"goal": "weather"}}), 422, "$.reason")
    problem = refused(
        post(operator, at, {"changes": {"findings": [1], "limit": "x"}, "reason": "r"}), 422
    )
    assert [e["path"] for e in problem["errors"]] == ["$.changes.findings[0]", "$.changes.limit"]
    done = post(operator, at, {"changes": {"goal": "weather"}, "reason": "typo"})
    assert (done.status_code, done.json()["status"]) == (200, "paused")
    assert done.json()["approvals"] == []


def test_fork_with_preview(manager: Client, cast: Cast, row: gates.ApprovalRow) -> None:
    first = str(queries.checkpoint_by_number(row.thread, 0).id)
    at = f"/threads/{row.thread}/fork/"
    plan = post(manager, f"{at}?preview=1", {"checkpoint": first}).json()
    assert (plan["checkpoint"]["id"], plan["next_nodes"]) == (first, ["analyse"])
    assert len(queries.threads(workspace=cast.workspace).rows) == 1
    body = {"checkpoint": first, "changes": {"goal": "weather"}, "title": "What if"}
    response = post(manager, at, body)
    made = response.json()
    assert response.status_code == 201
    assert response["Location"] == f"{V1}/threads/{made['id']}/"
    assert (made["base"], made["title"], made["effects"]) == (str(row.thread), "What if", "ask")
    refused(post(manager, at, {"checkpoint": "x"}), 422, "$.checkpoint")
    refused(post(manager, at, {"checkpoint": str(uuid4())}), 404)
    refused(post(manager, at, {"checkpoint": first, "effects": "maybe"}), 422, "$.effects")
    refused(
        post(manager, at, {"checkpoint": first, "changes": {"limit": 1000}}),
        422,
        "$.changes.limit",
    )
    assert gates.approval(row.id, workspace=cast.workspace).open


@pytest.mark.requirement("A19")
def test_roll_back_with_preview(manager: Client, cast: Cast, agent: UUID) -> None:
    work = scene.lease(scene.start(cast.workspace, agent))
    target = str(scene.step(work, report="one"))
    undone = scene.effect(work)
    scene.step(work, report="two", leave_by=EventKind.THREAD_SUCCEEDED)
    at = f"/threads/{work.thread}/rollback/"
    plan = post(manager, f"{at}?preview=1", {"checkpoint": target}).json()
    assert [(e["activity"]["id"], e["fate"]) for e in plan["effects"]] == [
        (str(undone), "undoable")
    ]
    assert (plan["steps"], plan["checkpoint"]["id"]) == (1, target)
    refused(post(manager, at, {"checkpoint": target}), 422, "$.reason")
    keep = {"checkpoint": target, "reason": "r", "compensate": "no"}
    refused(post(manager, at, keep), 422, "$.compensate")
    done = post(manager, at, {"checkpoint": target, "reason": "wrong data"})
    assert (done.status_code, done.json()["status"]) == (202, "rolling_back")
    refused(post(manager, at, {"checkpoint": target, "reason": "again"}), 409)


def test_upload(operator: Client, cast: Cast, agent: UUID, settings: Any) -> None:
    made = operator.post(f"{V1}/artifacts/", {"file": SimpleUploadedFile("a.csv", b"1,2")})
    assert made.status_code == 201
    ref = made.json()
    assert set(ref) == {"$artifact", "name", "media_type", "size"}
    body = {"agent": "research", "input": {"goal": "abc", "file": ref}}
    assert post(operator, "/threads/", body).status_code == 201
    refused(operator.post(f"{V1}/artifacts/", {}), 422, "$.file")
    settings.GATEPOST_UPLOAD_MAX_BYTES = 1_000
    for size in (1_001, 100_000):  # told by the file, told by the length of the request
        big = {"file": SimpleUploadedFile("a.csv", b"x" * size)}
        assert "at most 1,000" in refused(operator.post(f"{V1}/artifacts/", big), 413)["detail"]
    other = {**body["input"], "file": {**ref, "$artifact": "0" * 64}}
    refused(post(operator, "/threads/", {**body, "input": other}), 422, "$.input.file")


# --- approvals ------------------------------------------------------------------------------------


def test_inbox(cast: Cast, manager: Client, agent: UUID) -> None:
    made = [str(scene.waiting(cast.workspace, agent).id) for _ in range(3)]
    page = manager.get(f"{V1}/approvals/?limit=2").json()
    rest = manager.get(f"{V1}/approvals/?limit=2&cursor={page['next_cursor']}").json()
    assert [a["id"] for a in page["results"] + rest["results"]] == made
    assert manager.get(f"{V1}/approvals/?mine=1").json()["results"]
    auditor = cast.client("auditor")
    assert auditor.get(f"{V1}/approvals/?mine=1").json()["results"] == []
    payload = auditor.get(f"{V1}/approvals/{made[0]}/").json()
    assert payload["decide"] == {"allowed": False, "why": "Needs the role reviewer."}
    assert auditor.get(f"{V1}/approvals/?status=decided").json()["results"] == []
    assert len(auditor.get(f"{V1}/approvals/?status=all").json()["results"]) == 3


def test_one_approval(manager: Client, row: gates.ApprovalRow) -> None:
    payload = manager.get(f"{V1}/approvals/{row.id}/").json()
    assert (payload["proposal_hash"], payload["args"]) == (row.proposal_hash, {"report": "r"})
    assert payload["verdicts"] == ["approve", "edit", "respond", "reject"]
    assert payload["decide"]["allowed"] is True
    assert payload["thread"] == str(row.thread)


def test_the_second_decider_learns_the_outcome(
    cast: Cast, manager: Client, row: gates.ApprovalRow
) -> None:
    at = f"/approvals/{row.id}/decide/"
    wrong = {"verdict": "approve", "proposal_hash": "0" * 64}
    problem = refused(post(manager, at, wrong), 409)
    assert problem["type"] == "urn:gatepost:problem:proposal-changed"
    body = {"verdict": "approve", "proposal_hash": row.proposal_hash, "comment": "fine"}
    done = post(manager, at, body)
    assert (done.status_code, done.json()["outcome"]) == (200, "approve")
    second = cast.client("second_manager")
    late = {"verdict": "reject", "proposal_hash": row.proposal_hash, "comment": "no"}
    problem = refused(post(second, at, late), 409)
    assert problem["type"] == "urn:gatepost:problem:already-decided"
    assert problem["approval"]["outcome"] == "approve"
    assert problem["approval"]["decided_by_name"] == "manager"
    assert "manager already decided" in problem["detail"]
    assert queries.thread(row.thread, workspace=cast.workspace).status == Status.QUEUED


def test_a_get_never_decides(manager: Client, cast: Cast, row: gates.ApprovalRow) -> None:
    refused(manager.get(f"{V1}/approvals/{row.id}/decide/?verdict=approve"), 405)
    assert gates.approval(row.id, workspace=cast.workspace).open
