"""People interrupt a thread that is being worked on: what they are told before and after."""

from __future__ import annotations

import html
import io
import json
from uuid import UUID

import pytest
from django.core.management import call_command

from checkpoints import queries, store
from dashboard.wording.events import event_sentence
from tests.support.cast import Cast
from tests.unit.dashboard import scene

UNKNOWN = "publish had started; whether it happened is unknown."


@pytest.fixture
def agent(cast: Cast) -> UUID:
    agent = scene.make_agent()
    scene.alive(agent)
    return agent


@pytest.fixture
def busy(cast: Cast, agent: UUID) -> UUID:
    """A thread whose worker is in the middle of publishing."""
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="draft")
    scene.effect(work, done=False)
    return work.thread


def page(cast: Cast, thread: UUID, who: str = "operator", what: str = "") -> str:
    return html.unescape(cast.client(who).get(f"/threads/{thread}/{what}").content.decode())


def test_the_page_says_before_a_cancel_what_it_cuts_off(
    cast: Cast, agent: UUID, busy: UUID
) -> None:
    shown = page(cast, busy, what="cancel/")
    assert "The current work of publish is discarded." in shown
    assert "publish has started: whether it happened will be unknown." in shown
    # Nothing is under way in a thread that nobody works on.
    idle = page(cast, scene.start(cast.workspace, agent), what="cancel/")
    assert "It ends here for good" in idle
    assert "is discarded" not in idle
    assert "will be unknown" not in idle


def test_a_cancel_says_afterwards_which_effect_had_started(cast: Cast, busy: UUID) -> None:
    client = cast.client("operator")
    answer = client.post(f"/threads/{busy}/cancel/", follow=True)
    shown = html.unescape(answer.content.decode())
    assert f"Cancelled. {UNKNOWN}" in shown  # the notice
    assert f"The thread was cancelled. {UNKNOWN}" in shown  # and the note that stays
    assert 'data-state="unknown"' in shown
    assert "cancelled while this was under way" in shown
    api = cast.client("operator")
    rows = api.get(f"/api/v1/threads/{busy}/activities/").json()["results"]
    assert [(a["tool"], a["state"]) for a in rows] == [("publish", "unknown")]
    messages = [event_sentence(e) for e in queries.events_after(busy, 0)[-2:]]
    assert messages[0] == "publish had started; its outcome is unknown"
    assert messages[1].endswith("; publish had started, with an unknown outcome")
    assert api.get(f"/api/v1/threads/{busy}/").json()["why_waiting"]["sentence"].endswith(UNKNOWN)
    board = html.unescape(client.get("/?status=cancelled").content.decode())
    assert UNKNOWN in board


def test_the_command_says_it_too(cast: Cast, busy: UUID) -> None:
    err = io.StringIO()
    call_command("threads", "cancel", str(busy), stdout=io.StringIO(), stderr=err)
    assert UNKNOWN in err.getvalue()


def test_a_cancel_of_an_idle_thread_says_nothing_of_it(cast: Cast, agent: UUID) -> None:
    thread = scene.start(cast.workspace, agent)
    answer = cast.client("operator").post(f"/threads/{thread}/cancel/", follow=True)
    assert "Cancelled. Its effects so far stay." in answer.content.decode()


def test_a_rollback_shows_it_as_unknown_before_and_after(cast: Cast, busy: UUID) -> None:
    client = cast.client("manager")
    url = f"/threads/{busy}/rollback/?checkpoint=0"
    shown = html.unescape(client.get(url).content.decode())
    assert "nobody knows yet whether it happened" in shown
    answer = client.post(url, {"reason": "wrong data", "known": "on"}, follow=True)
    assert answer.redirect_chain[-1][1] == 303
    (effect,) = queries.activities(busy)
    assert (effect.state, effect.tool) == ("unknown", "publish")


@pytest.mark.requirement("A43")
def test_a_thread_is_told_on_its_page_to_stop_before_a_node(cast: Cast, agent: UUID) -> None:
    client = cast.client("operator")
    working = scene.lease(scene.start(cast.workspace, agent)).thread
    url = f"/threads/{working}/"
    shown = page(cast, working)
    assert '<option value="publish"' in shown
    assert '<option value="analyse"' not in shown  # it is being worked on
    answer = client.post(f"{url}pause/", {"before_node": "publish"}, follow=True)
    assert answer.redirect_chain == [(url, 303)]
    shown = html.unescape(answer.content.decode())
    assert shown.count("It stops before publish.") == 2  # the notice, and beside the choice
    assert "Stops before publish" in shown
    assert '<option value="publish" selected>' in shown
    row = queries.thread(working, workspace=cast.workspace)
    # The worker goes on and keeps what it does: neither its lease nor a wish to pause at once.
    assert (row.status, row.pause_at, row.wish) == ("running", "publish", "")
    assert row.lease_owner


@pytest.mark.requirement("A43")
def test_an_unknown_node_is_refused_with_its_path(cast: Cast, busy: UUID) -> None:
    client = cast.client("operator")
    answer = client.post(
        f"/api/v1/threads/{busy}/pause/",
        json.dumps({"before_node": "publsh"}),
        content_type="application/json",
    )
    assert answer.status_code == 422
    assert "$.before_node" in answer.content.decode()
    assert "it has analyse, publish" in answer.content.decode()
    refused = client.post(f"/threads/{busy}/pause/", {"before_node": "publsh"})
    assert refused.status_code == 422
    assert "$.before_node" not in refused.content.decode(), "a path is for programs"
    assert "has no such node" in html.unescape(refused.content.decode())
    with pytest.raises(SystemExit):
        call_command("threads", "pause", str(busy), "--before", "publsh", stderr=io.StringIO())
    assert queries.thread(busy, workspace=cast.workspace).pause_at == ""


@pytest.mark.requirement("A43")
def test_a_paused_thread_can_be_told_where_to_stop_next(cast: Cast, agent: UUID) -> None:
    thread = scene.start(cast.workspace, agent)
    store.pause(thread, actor="user:1")
    call_command("threads", "pause", str(thread), "--before", "publish", stdout=io.StringIO())
    row = queries.thread(thread, workspace=cast.workspace)
    assert (row.status, row.pause_at) == ("paused", "publish")
    store.resume(thread, actor="user:1")
    assert queries.thread(thread, workspace=cast.workspace).pause_at == "publish"


def test_who_may_not_control_and_who_is_done_sees_no_choice(cast: Cast, busy: UUID) -> None:
    assert '<option value="publish"' not in page(cast, busy, "viewer")
    store.cancel(busy, actor="user:1")
    shown = page(cast, busy)
    assert '<option value="publish"' not in shown
    refused = cast.client("operator").post(f"/threads/{busy}/pause/", {"before_node": "publish"})
    assert refused.status_code == 409
