"""No byte of an erased thread is left anywhere, all others stay, and the proof holds."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.core.files.storage import default_storage
from django.db import connection

from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.chain.workspaces import verify_workspace
from checkpoints.models import Artifact
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.people.test_people_as_code import answer

from .canaries import Words, places, plant, post

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.requirement("G02")]


def erase(cast: Cast, thread: UUID, committed: Any, scope: str = "family") -> Any:
    body = {"reason": "Consent withdrawn", "scope": scope}
    seen = post(cast, "operator", f"/threads/{thread}/erasure/?preview=1", body)
    assert seen["obstacle"] == ""
    made = post(cast, "operator", f"/threads/{thread}/erasure/", body)
    with committed(execute=True):
        post(cast, "admin", f"/erasures/{made['id']}/decide/", {"verdict": "approve"})
    return cast.client("auditor").get(f"/api/v1/erasures/{made['id']}/").json() | {"seen": seen}


def test_a_raw_search_finds_no_byte(
    cast: Cast, django_capture_on_commit_callbacks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    word, other = Words("canary"), Words("beside")
    with django_capture_on_commit_callbacks(execute=True):
        thread, fork = plant(cast, word)
        beside, _ = plant(cast, other)
    before = places(word.planted)
    hidden = set(word.planted) - set(before)
    assert len(before) >= 20, hidden
    assert {"gp_event", "gp_checkpoint", "gp_content", "gp_keyframe", "gp_activity"} <= set().union(
        *before.values()
    )
    assert {
        "valkey",
        "gp_approval",
        "gp_decision",
        "gp_idempotency_key",
        "gp_outbox",
    } <= set().union(*before.values())
    untouched = places(other.planted)
    row = erase(cast, thread, django_capture_on_commit_callbacks)
    assert (row["state"], row["n_threads"], row["n_files"]) == ("done", 2, 1)
    assert places(word.planted) == {}
    assert not any(one in caplog.text for one in word.planted)
    assert places(other.planted) == untouched

    for one in (thread, fork):
        report = verify(one)
        assert report.intact, report.what
        assert report.erased == (
            f"Erased by operator (user:{cast.users['operator'].pk}), approved by admin "
            f"(user:{cast.users['admin'].pk}): Consent withdrawn"
        )
    assert verify(beside).intact
    result = verify_workspace(cast.workspace)
    assert result.intact, result.what
    verified = answer("verify")
    assert verified["intact"] is True
    assert {one["id"] for one in verified["erased"]} == {str(thread), str(fork)}


def test_what_others_refer_to_stays(cast: Cast, django_capture_on_commit_callbacks: Any) -> None:
    word = Words("shared")
    with django_capture_on_commit_callbacks(execute=True):
        thread, fork = plant(cast, word)
    sha = next(
        event.data["sha256"]
        for event in queries.events_after(thread, 0)
        if event.kind == "artifact.stored"
    )
    body = {"agent": "research", "input": {"goal": "tea", "report": json.dumps({"$artifact": sha})}}
    other = post(cast, "operator", "/threads/", body)["id"]
    row = erase(cast, thread, django_capture_on_commit_callbacks)
    assert (row["state"], row["n_files"]) == ("done", 0)
    # Its bytes, and its name in the list of files.
    assert set(places(word.planted)) == {word("file"), word("bytes")}
    assert verify(UUID(other)).intact
    assert fork


PAGES = (
    *("/threads/{}/", "/threads/{}/?tab=state", "/threads/{}/?tab=anatomy", "/threads/{}/?cp=0"),
    *("/threads/{}/?kind=approval", "/api/v1/threads/{}/", "/api/v1/threads/{}/events/"),
    *("/api/v1/threads/{}/checkpoints/", "/api/v1/threads/{}/activities/", "/"),
    *("/api/v1/threads/", "/approvals/", "/erasures/", "/admin/"),
)


def test_an_erased_thread_is_shown_with_its_holes_and_takes_nothing(
    cast: Cast, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        thread, fork = plant(cast, Words("shown"))
    erase(cast, thread, django_capture_on_commit_callbacks)
    for who in ("operator", "manager", "auditor", "admin"):
        for one in (thread, fork):
            for address in PAGES:
                shown = cast.client(who).get(address.format(one))
                assert shown.status_code in (200, 302, 403), (who, address, shown.content[:2000])
    page = cast.client("operator").get(f"/threads/{thread}/").content.decode()
    assert "Erased by operator, approved by admin: Consent withdrawn" in page
    assert "its content was erased" in page
    detail = cast.client("operator").get(f"/api/v1/threads/{thread}/").json()
    assert detail["erased"]["reason"] == "Consent withdrawn"
    assert not any(one["allowed"] for one in detail["actions"].values())
    listed = cast.client("operator").get(f"/api/v1/threads/{thread}/checkpoints/").json()
    first = listed["results"][-1]["id"]
    state = cast.client("operator").get(f"/api/v1/threads/{thread}/state/")
    assert (state.status_code, state.json()["title"]) == (410, "Erased")
    assert "approved by admin" in state.json()["detail"]
    for verb, body in {
        "pause": {},
        "resume": {},
        "retry": {},
        "cancel": {"reason": "r"},
        "skip": {"node": "publish", "reason": "r"},
        "input": {"message": "m"},
        "edit": {"changes": {"report": "r"}, "reason": "r"},
        "fork": {"checkpoint": first},
        "rollback": {"checkpoint": first, "reason": "r"},
        "erasure": {"reason": "again"},
        "hold": {"reason": "late"},
    }.items():
        who = "admin" if verb == "hold" else "operator"
        for query in ("", "?preview=1") if verb in ("edit", "fork", "rollback") else ("",):
            refused = cast.client(who).post(
                f"/api/v1/threads/{thread}/{verb}/{query}",
                json.dumps(body),
                content_type="application/json",
            )
            assert refused.status_code in (409, 410), (verb, refused.status_code, refused.content)
            assert any(w in refused.json()["detail"] for w in ("closed", "rased", "too late")), (
                verb,
                refused.content,
            )
    assert verify(thread).intact


def files_there(sha: str) -> tuple[int, bool]:
    """(rows that name a file, whether its bytes are stored)."""
    listed = Artifact.objects.filter(sha256=sha)
    return listed.count(), any(default_storage.exists(one.path) for one in listed)


def stored_file(cast: Cast, text: str) -> dict[str, Any]:
    return dict(
        store.put_artifact(
            cast.workspace, name="a.txt", media_type="text/plain", chunks=[text.encode()]
        )
    )


def test_a_file_that_a_reviewer_put_into_an_edit_goes(
    cast: Cast, django_capture_on_commit_callbacks: Any
) -> None:
    ref = stored_file(cast, "of the edit")
    row = scene.waiting(cast.workspace, scene.make_agent(), args={"report": "as it was"})
    verdict = {"verdict": "edit", "proposal_hash": row.proposal_hash, "args": {"report": ref}}
    post(cast, "manager", f"/approvals/{row.id}/decide/", verdict)
    post(cast, "operator", f"/threads/{row.thread}/cancel/", {"reason": "not needed"})
    made = erase(cast, row.thread, django_capture_on_commit_callbacks)
    assert (made["state"], made["n_files"]) == ("done", 1)
    assert files_there(ref["$artifact"]) == (0, False)


def test_a_file_that_only_a_cursor_names_goes(
    cast: Cast, django_capture_on_commit_callbacks: Any
) -> None:
    ref = stored_file(cast, "of the cursor")
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    done = scene.effect(work, result={"path": "a"})
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_activity SET cursor = %s::jsonb WHERE thread_id = %s",
            (json.dumps({"got": ref}), work.thread),
        )
    assert done
    post(cast, "operator", f"/threads/{work.thread}/cancel/", {"reason": "not needed"})
    made = erase(cast, work.thread, django_capture_on_commit_callbacks)
    assert (made["state"], made["n_files"]) == ("done", 1)
    assert files_there(ref["$artifact"]) == (0, False)


@pytest.mark.parametrize("holder", ["proposal", "edit", "cursor"])
def test_a_file_that_another_thread_still_needs_stays(
    cast: Cast, django_capture_on_commit_callbacks: Any, holder: str
) -> None:
    ref = stored_file(cast, "of both")
    agent = scene.make_agent()
    args = {"report": ref if holder == "proposal" else "r"}
    other = scene.waiting(cast.workspace, agent, args=args)
    if holder == "edit":
        verdict = {"verdict": "edit", "proposal_hash": other.proposal_hash}
        post(
            cast,
            "manager",
            f"/approvals/{other.id}/decide/",
            {**verdict, "args": {"report": ref}},
        )
    if holder == "cursor":
        work = scene.lease(scene.start(cast.workspace, agent))
        scene.effect(work, result={"path": "a"})
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE gp_activity SET cursor = %s::jsonb WHERE thread_id = %s",
                (json.dumps({"got": ref}), work.thread),
            )
    body = {"agent": "research", "input": {"goal": "tea time", "file": ref}}
    thread = UUID(post(cast, "operator", "/threads/", body)["id"])
    post(cast, "operator", f"/threads/{thread}/cancel/", {"reason": "not needed"})
    made = erase(cast, thread, django_capture_on_commit_callbacks)
    assert (made["state"], made["n_files"]) == ("done", 0)
    assert files_there(ref["$artifact"]) == (1, True)
