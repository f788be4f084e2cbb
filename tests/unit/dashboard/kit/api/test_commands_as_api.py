"""`--json` of a command is what the API answers to the same person for the same thing."""

from __future__ import annotations

import io
import json
from typing import Any
from uuid import UUID

import pytest
import yaml
from django.core.management import call_command

from checkpoints import queries
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.dashboard import scene


@pytest.fixture
def thread(cast: Cast) -> UUID:
    """Two steps, an effect, paused; the person is the operator at both entry points."""
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="one")
    scene.effect(work)
    scene.step(work, report="two", leave_by=EventKind.THREAD_PAUSED)
    return work.thread


def output_of(*words: object) -> str:
    out = io.StringIO()
    call_command(*map(str, words), "--as", "operator", stdout=out, stderr=io.StringIO())
    return out.getvalue()


def json_of(*words: object) -> Any:
    return json.loads(output_of(*words, "--json"))


def test_lists_and_one(cast: Cast, thread: UUID) -> None:
    web = cast.client("operator")
    api = f"/api/v1/threads/{thread}/"
    assert json_of("threads", "list") == web.get("/api/v1/threads/").json()
    stuck = json_of("threads", "list", "--stuck")
    assert stuck == web.get("/api/v1/threads/?stuck=true").json()
    assert json_of("threads", "show", thread) == web.get(api).json()
    assert json_of("threads", "checkpoints", thread) == web.get(f"{api}checkpoints/").json()
    assert json_of("threads", "activities", thread) == web.get(f"{api}activities/").json()
    assert json_of("threads", "events", thread) == web.get(f"{api}events/").json()
    some = json_of(
        "threads", "events", thread, "--after", 2, "--limit", 2, "--kind", "effect,lease"
    )
    assert some == web.get(f"{api}events/?after=2&limit=2&kind=effect,lease").json()


def test_states_and_differences(cast: Cast, thread: UUID) -> None:
    web = cast.client("operator")
    api = f"/api/v1/threads/{thread}/"
    first = queries.checkpoint_by_number(thread, 1).id
    now = web.get(f"{api}state/").json()
    assert json_of("threads", "state", thread) == now
    assert yaml.safe_load(output_of("threads", "state", thread, "--yaml")) == now
    then = web.get(f"{api}state/?checkpoint={first}").json()
    assert json_of("threads", "state", thread, "--checkpoint", 1) == then
    assert then["state"]["report"] == "one"
    diff = web.get(f"{api}diff/?from={first}").json()
    assert json_of("threads", "diff", thread, "--from", 1) == diff
    fork = json_of("threads", "fork", thread, "--checkpoint", 1, "--set", "goal=other")["id"]
    across = web.get(f"{api}diff/?from={first}&to_thread={fork}").json()
    assert json_of("threads", "diff", thread, "--from", 1, "--to-thread", fork) == across


def test_previews(cast: Cast, thread: UUID) -> None:
    web = cast.client("operator")
    api = f"/api/v1/threads/{thread}/"
    first = str(queries.checkpoint_by_number(thread, 1).id)

    def previewed(verb: str, **body: Any) -> Any:
        answer = web.post(f"{api}{verb}/?preview=1", json.dumps(body), "application/json")
        assert answer.status_code == 200, answer.content
        return answer.json()

    edit = previewed("edit", changes={"goal": "other"}, reason="r")
    assert json_of("threads", "edit", thread, "--set", "goal=other", "--preview") == edit
    fork = previewed("fork", checkpoint=first, changes={})
    assert json_of("threads", "fork", thread, "--checkpoint", 1, "--preview") == fork
    back = previewed("rollback", checkpoint=first, reason="r")
    assert json_of("threads", "rollback", thread, 1, "--preview") == back
    assert queries.thread(thread, workspace=cast.workspace).number == 2, "nothing was done"


def test_requests(cast: Cast) -> None:
    row = scene.waiting(cast.workspace, scene.make_agent())
    web = cast.client("operator")
    assert json_of("approve") == web.get("/api/v1/approvals/").json()
    assert json_of("approve", str(row.id)) == web.get(f"/api/v1/approvals/{row.id}/").json()


def test_a_thread_by_its_name(cast: Cast) -> None:
    scene.make_agent()
    made = json_of("threads", "start", "research", "--set", "goal=abc", "--name", "order 17")
    assert json_of("threads", "show", "order 17")["id"] == made["id"]
    again = json_of("threads", "start", "research", "--set", "goal=abc", "--name", "order 17")
    assert again["id"] == made["id"]
    assert json_of("threads", "pause", "order 17", "--version", made["version"])["wish"] in (
        "",
        "pause",
    )
    err = io.StringIO()
    words = ("threads", "resume", "order 17", "--version", "1", "--as", "operator")
    with pytest.raises(SystemExit) as ended:
        call_command(*words, stdout=io.StringIO(), stderr=err)
    assert ended.value.code == 1
    assert "reload and retry" in err.getvalue()
