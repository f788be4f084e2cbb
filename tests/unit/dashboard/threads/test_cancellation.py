"""Cancel with undo through every entry point: what it would do, that it does it, and who may."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from approvals import queries as gates
from checkpoints import queries, store
from checkpoints.records import Work
from checkpoints.states import EventKind, Status
from checkpoints.views import ThreadRow
from dashboard import errors
from dashboard.threads.cancel import cancel, preview_cancel
from dashboard.wording.events import event_sentence
from dashboard.wording.why import why_waiting
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import post, refused
from tests.unit.dashboard.threads.test_commands import json_of, output_of


@pytest.fixture
def busy(cast: Cast) -> Work:
    """A thread with an effect of each fate, that waits at a gate; a worker of it is at work."""
    agent = scene.make_agent()
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="one")
    scene.effect(work, key="publish:0")
    scene.step(work, report="two")
    scene.effect(work, key="mail:0", undo="")
    scene.effect(work, key="publish:1", done=False)
    return work


def row_of(cast: Cast, work: Work) -> ThreadRow:
    return queries.thread(work.thread, workspace=cast.workspace)


def fates(thread: UUID) -> dict[str, str]:
    return {e.activity.key: e.fate for e in queries.effects_of(thread)}


def test_the_preview_says_what_would_be_undone_and_does_nothing(
    cast: Cast, busy: Work, operator: Client
) -> None:
    at = f"/threads/{busy.thread}/cancel/?preview=1"
    before = row_of(cast, busy)
    plans = [
        post(operator, at, body).json()
        for body in ({}, {"undo": True}, {"undo": True, "undo_unknown": True})
    ]
    assert [e["fate"] for e in plans[0]["effects"]] == ["unknown", "stays", "undoable"]
    keys = {e["activity"]["id"]: e["activity"]["key"] for e in plans[0]["effects"]}
    assert [[keys[i] for i in plan["undo"]] for plan in plans] == [
        [], ["publish:0"], ["publish:1", "publish:0"],
    ]  # fmt: skip
    numbers = [plan["checkpoint"] and plan["checkpoint"]["number"] for plan in plans]
    assert numbers == [None, 1, 1]  # before the first effect that is undone
    assert row_of(cast, busy) == before
    refused(post(operator, at, {"undo_unknown": True, "undo": 1}), 422, "$.undo")
    refused(post(cast.client("auditor"), at, {}), 403)


def test_by_call_it_is_rolled_back_first_and_the_plan_says_the_rest(
    cast: Cast, busy: Work, operator: Client
) -> None:
    at = f"/threads/{busy.thread}/cancel/"
    refused(post(operator, at, {"undo_unknown": True}), 422, "$.undo_unknown")
    refused(post(operator, at, {"undo": True}, **{"If-Match": '"999"'}), 412)
    version = row_of(cast, busy).version
    body = {"undo": True, "reason": "ordered twice"}
    answer = post(operator, at, body, **{"If-Match": f'"{version}"'})
    assert (answer.status_code, answer.json()["status"]) == (202, "rolling_back")
    row = row_of(cast, busy)
    assert row.rollback is not None
    assert (row.rollback["then"], row.rollback["number"]) == ("cancelled", 1)
    assert row.rollback["stays"] == [
        "publish of step 3 (nobody knows whether it happened)",
        "publish of step 3 (cannot be undone)",
    ]
    assert row.rollback["by"] == cast.actor("operator").id
    event = queries.events_after(busy.thread, row.last_seq - 1)[0]
    assert event.kind == "rollback.started"
    assert event_sentence(event, {cast.actor("operator").id: "ada"}) == (
        "ada cancels the thread; its effects are undone first, most recent first: ordered twice; "
        "publish had started, with an unknown outcome"
    )
    refused(post(operator, at, {}), 409)  # a worker ends it


def test_without_anything_to_undo_it_is_cancelled_at_once(cast: Cast, operator: Client) -> None:
    request = scene.waiting(cast.workspace, scene.make_agent())
    answer = post(operator, f"/threads/{request.thread}/cancel/", {"undo": True})
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    assert gates.approval(request.id, workspace=cast.workspace).status == "withdrawn"


def test_the_dialog_lists_each_effect_with_its_fate(
    cast: Cast, busy: Work, operator: Client
) -> None:
    url = f"/threads/{busy.thread}/cancel/"
    html = operator.get(url).content.decode()
    assert re.findall(r'data-fate="(\w+)"', html) == ["unknown", "stays", "undoable"]
    assert "Undo what can be undone, most recent first" in html
    assert "Can be undone" in html
    assert "Will be undone" not in html
    assert "before the first of them" in html
    assert not re.search(
        r'name="undo"\s+value="1"\s+checked', html
    )  # nothing is undone by a mere click
    assert 'name="undo_unknown"' in html
    thread = operator.get(f"/threads/{busy.thread}/").content.decode()
    assert f'href="{url}"' in thread
    for form, status, words in (
        ({"undo_unknown": "1"}, 422, "Goes with undo only"),
        ({"version": "999", "undo": "1", "reason": "as I wrote"}, 412, "as I wrote"),
    ):
        answer = operator.post(url, form)
        assert answer.status_code == status
        assert words in answer.content.decode()
    assert row_of(cast, busy).status is Status.RUNNING
    answer = operator.post(url, {"undo": "1", "reason": "enough"}, follow=True)
    assert answer.redirect_chain == [(f"/threads/{busy.thread}/", 303)]
    assert "A worker is undoing its effects, most recent first. Then the thread is cancelled." in (
        answer.content.decode()
    )
    assert row_of(cast, busy).status is Status.ROLLING_BACK
    assert operator.get(url).status_code == 409
    assert cast.client("auditor").get(url).status_code == 403
    assert cast.client("stranger").get(url).status_code == 404


def test_a_thread_that_did_nothing_is_simply_cancelled_by_its_dialog(
    cast: Cast, operator: Client
) -> None:
    thread = scene.start(cast.workspace, scene.make_agent())
    url = f"/threads/{thread}/cancel/"
    html = operator.get(url).content.decode()
    assert "It changed nothing outside" in html
    assert 'name="undo"' not in html
    answer = operator.post(url, {"reason": "no need"}, follow=True)
    assert "Cancelled. Its effects so far stay." in answer.content.decode()
    assert queries.thread(thread, workspace=cast.workspace).status is Status.CANCELLED


def test_by_command(cast: Cast, busy: Work) -> None:
    plan = json_of("threads", "cancel", busy.thread, "--undo", "--preview")
    assert len(plan["undo"]) == 1
    shown = output_of("threads", "cancel", busy.thread, "--undo", "--undo-unknown", "--preview")
    assert "2 of 3 effects" in shown
    assert "cannot be undone and stays done" in shown
    assert row_of(cast, busy).status is Status.RUNNING
    answer = json_of("threads", "cancel", busy.thread, "--undo", "--yes", "--reason", "twice")
    assert answer["status"] == "rolling_back"


def test_a_plan_holds_for_the_head_it_was_made_for(cast: Cast, busy: Work) -> None:
    """Between the dialog and the click the worker did more: the version says so."""
    who = cast.actor("operator")
    version = preview_cancel(who, busy.thread).version
    scene.step(busy, report="three")
    with pytest.raises(errors.Stale):
        cancel(who, busy.thread, undo_effects=True, expected_version=version)
    assert row_of(cast, busy).status is Status.RUNNING


def test_the_way_out_of_an_undo_that_never_works(cast: Cast, busy: Work, operator: Client) -> None:
    """Taken back by hand: a rollback that calls no undo, or a cancel that leaves it."""
    cancel(cast.actor("operator"), busy.thread, undo_effects=True)
    work = scene.lease(busy.thread)
    (effect,) = (work.rollback or {})["undo"]
    waits = {"kind": "undo", "activities": [effect]}
    store.leave(
        work, EventKind.THREAD_PARKED, reason="Not undone: publish (gone)", waiting_on=waits
    )
    row = row_of(cast, busy)
    why = why_waiting(row)
    assert why is not None
    assert why.sentence == "Not undone: publish (gone)."
    assert "it continues with exactly these" in why.action
    target = str(queries.checkpoint_by_number(busy.thread, 0).id)
    body: dict[str, Any] = {"checkpoint": target, "reason": "done by hand", "compensate": False}
    answer = post(cast.client("manager"), f"/threads/{busy.thread}/rollback/", body)
    assert answer.status_code == 202
    assert (row_of(cast, busy).rollback or {})["undo"] == []


def test_a_rollback_may_leave_everything_done(cast: Cast, busy: Work) -> None:
    page = cast.client("manager")
    url = f"/threads/{busy.thread}/rollback/?checkpoint=0"
    assert 'name="keep_effects"' in page.get(url).content.decode()
    form = {"reason": "by hand", "known": "1", "keep_effects": "1"}
    assert page.post(url, form).status_code == 303
    assert (row_of(cast, busy).rollback or {})["undo"] == []


def test_a_resting_undo_says_when_it_is_tried_again(cast: Cast, busy: Work) -> None:
    cancel(cast.actor("operator"), busy.thread, undo_effects=True)
    work = scene.lease(busy.thread)
    (effect,) = (work.rollback or {})["undo"]
    store.record_compensation(
        work,
        UUID(effect),
        kind=EventKind.COMPENSATION_FAILED,
        tool="publish",
        error="no answer",
        again_in=40.0,
    )
    row = row_of(cast, busy)
    assert (row.status, row.lease_owner) == (Status.ROLLING_BACK, "")
    why = why_waiting(row)
    assert why is not None
    assert why.sentence.startswith("An undo failed; it is tried again at ")
    (event,) = queries.events_after(busy.thread, row.last_seq - 1)
    assert event_sentence(event, {}) == ("Undoing publish failed, next attempt in 40 s: no answer")
    shown = json.loads(output_of("threads", "show", busy.thread, "--json"))
    assert shown["why_waiting"]["kind"] == "timer"
