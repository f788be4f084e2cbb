"""What a thread asks about an effect: on its page, by API and by command."""

from __future__ import annotations

import io
import json
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from checkpoints import leases, queries, store
from checkpoints.chain import verify_thread
from checkpoints.states import EventKind, Status
from checkpoints.verdicts import Verdict
from dashboard.errors import Conflict, Forbidden, Invalid
from dashboard.identity.permissions import allowed_actions
from dashboard.operate.doctor.standstill import standstill
from dashboard.wording import event_phrases
from dashboard.wording.events import event_sentence
from tests.support.cast import Cast
from tests.support.settled import settle
from tests.unit.dashboard import scene

V1 = "/api/v1"


@pytest.fixture
def lost(cast: Cast, agent: UUID) -> tuple[UUID, UUID]:
    """A thread that asks whether an effect happened, and the effect."""
    return scene.asking(cast.workspace, agent)


@pytest.fixture
def changed(cast: Cast, agent: UUID) -> tuple[UUID, UUID]:
    """A thread that asks what holds for other arguments, and the effect."""
    return scene.asking(cast.workspace, agent, changed=True)


def post(client: Any, thread: UUID, body: dict[str, Any], **headers: str) -> Any:
    path = f"{V1}/threads/{thread}/settle/"
    return client.post(path, json.dumps(body), "application/json", headers=headers)


# --- by API ---------------------------------------------------------------------------------------


def test_it_says_what_it_asks_and_takes_one_answer(cast: Cast, lost: tuple[UUID, UUID]) -> None:
    thread, effect = lost
    client = cast.client("operator")
    payload = client.get(f"{V1}/threads/{thread}/").json()
    assert payload["why_waiting"]["facts"] == {"asks": "unknown", "activity": str(effect)}
    assert payload["actions"]["settle"] == {"allowed": True, "why": ""}
    body = {"activity": str(effect), "verdict": "happened", "result": {"path": "p", "n": 1}}
    stale = post(client, thread, body, **{"If-Match": f'"{payload["version"] - 1}"'})
    assert stale.status_code == 412
    done = post(
        client, thread, body | {"reason": "seen"}, **{"If-Match": f'"{payload["version"]}"'}
    )
    assert (done.status_code, done.json()["status"]) == (200, "queued")
    row = queries.activity(effect)
    assert (row.state, row.result) == ("done", {"path": "p", "n": 1})
    (event,) = [e for e in queries.events_after(thread, 0) if e.kind == "effect.settled"]
    assert event.actor == cast.actor("operator").id
    assert (event.data["verdict"], event.data["reason"]) == ("happened", "seen")
    assert event_sentence(event, {event.actor: "Ada"}) == ("Ada settled publish: it happened: seen")
    again = post(client, thread, body | {"verdict": "not_happened", "result": None})
    assert again.status_code == 409
    who = cast.actor("operator").name
    assert again.json()["detail"] == f"{who} has answered this already: it happened."
    assert verify_thread(thread).intact


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"verdict": "perhaps"}, 422, "must be one of happened, not_happened"),
        ({"verdict": "not_happened", "result": 1}, 422, "is not taken with the verdict"),
        ({"verdict": "keep"}, 409, "possible: happened or not_happened or undo"),
        ({"verdict": "happened", "reason": "x" * 5_001}, 422, "is longer than 5,000"),
        ({"verdict": "happened", "result": "x" * 1_100_000}, 422, "has more than 1,048,576 bytes"),
        (
            {"verdict": "happened", "activity": str(UUID(int=0))},
            409,
            "Nothing is asked about this effect",
        ),
        ({"verdict": "happened", "activity": "none"}, 422, "must be an id"),
        ({"verdict": "happened", "known": 1}, 422, "is not taken here"),
    ],
)
def test_what_is_refused(
    cast: Cast, lost: tuple[UUID, UUID], body: dict[str, Any], status: int, text: str
) -> None:
    thread, effect = lost
    before = queries.thread(thread, workspace=cast.workspace)
    answer = post(cast.client("operator"), thread, {"activity": str(effect), **body})
    assert (answer.status_code, text in answer.json()["detail"]) == (status, True), answer.content
    assert queries.thread(thread, workspace=cast.workspace) == before


def test_other_arguments_by_api(cast: Cast, changed: tuple[UUID, UUID]) -> None:
    thread, effect = changed
    client = cast.client("operator")
    facts = client.get(f"{V1}/threads/{thread}/").json()["why_waiting"]["facts"]
    assert facts == {"asks": "effect", "activity": str(effect), "args": {"report": "other"}}
    done = post(client, thread, {"activity": str(effect), "verdict": "undo_again"})
    assert (done.status_code, done.json()["status"]) == (200, "rolling_back")
    work = leases.acquire(thread, owner="worker:1:boot")
    assert work is not None
    assert work.rollback is not None
    assert (work.rollback["undo"], work.rollback["stay"]) == ([str(effect)], True)
    (started,) = [e for e in queries.events_after(thread, 0) if e.kind == "rollback.started"]
    assert "had an effect undone" in event_sentence(started)


def test_nothing_is_asked_of_other_threads(cast: Cast, agent: UUID) -> None:
    work = scene.lease(scene.start(cast.workspace, agent))
    effect = scene.effect(work, done=False)
    store.leave(work, EventKind.THREAD_PARKED, reason="something else")
    actor = cast.actor("operator")
    with pytest.raises(Conflict, match="Nothing is asked about this effect"):
        settle(actor, work.thread, effect, "happened")
    row = queries.thread(work.thread, workspace=cast.workspace)
    payload = allowed_actions(actor, row)["settle"]
    assert (payload.allowed, payload.why) == (
        False,
        "The thread has no open question about an effect.",
    )


def test_parked_by_older_code_is_answered_as_well(cast: Cast, agent: UUID) -> None:
    """It stands there as started, and the question names nothing but the effect."""
    work = scene.lease(scene.start(cast.workspace, agent))
    effect = scene.effect(work, done=False)
    query = {"kind": "unknown", "activity": str(effect)}
    store.leave(work, EventKind.THREAD_PARKED, reason="unknown", waiting_on=query)
    settle(cast.actor("operator"), work.thread, effect, "happened", "r")
    assert (queries.activity(effect).state, queries.activity(effect).result) == ("done", "r")
    assert verify_thread(work.thread).intact


def test_parked_by_older_code_with_other_arguments_can_be_undone(cast: Cast, agent: UUID) -> None:
    work = scene.lease(scene.start(cast.workspace, agent))
    effect = scene.effect(work)
    query = {"kind": "effect", "activity": str(effect)}
    store.leave(work, EventKind.THREAD_PARKED, reason="other arguments", waiting_on=query)
    actor = cast.actor("operator")
    for verdict in ("keep", "again"):  # they were not bound to any arguments
        with pytest.raises(Conflict, match="possible: undo_again"):
            settle(actor, work.thread, effect, verdict)
    assert settle(actor, work.thread, effect, "undo_again") is Status.ROLLING_BACK


def test_only_operators_settle(cast: Cast, lost: tuple[UUID, UUID]) -> None:
    for name in ("manager", "auditor", "viewer", "admin"):
        with pytest.raises(Forbidden, match="Needs the role operator"):
            settle(cast.actor(name), *lost, "happened")


def test_a_result_that_cannot_be_kept_is_refused_with_its_path(
    cast: Cast, lost: tuple[UUID, UUID]
) -> None:
    with pytest.raises(Invalid) as caught:
        settle(cast.actor("operator"), *lost, "happened", {"n": 2**60})
    assert caught.value.path == "$.result.n"


# --- on the page ----------------------------------------------------------------------------------


def test_the_page_asks_and_takes_the_answer(cast: Cast, lost: tuple[UUID, UUID]) -> None:
    thread, effect = lost
    client = cast.client("operator")
    page = client.get(f"/threads/{thread}/").content.decode()
    for word in ("It happened", "It did not", "Undo it", "A worker calls unpublish"):
        assert word in page
    assert f'value="{effect}"' in page
    assert 'data-action="retry"' not in page, "it would only ask again"
    version = queries.thread(thread, workspace=cast.workspace).version
    form = {"activity": effect, "version": version, "f-result": '{"path": "q"}', "f-reason": "ok"}
    done = client.post(f"/threads/{thread}/settle/", {**form, "verdict": "happened"}, follow=True)
    assert "it continues as soon as a worker is free" in done.content.decode()
    assert queries.activity(effect).result == {"path": "q"}
    second = client.post(f"/threads/{thread}/settle/", {**form, "verdict": "not_happened"})
    assert second.status_code == 409
    assert "has answered this already: it happened." in second.content.decode()


def test_a_result_that_is_no_json_comes_back_beside_its_field(
    cast: Cast, lost: tuple[UUID, UUID]
) -> None:
    thread, effect = lost
    client = cast.client("operator")
    form = {"activity": effect, "verdict": "happened", "f-result": "{path: 1}", "f-reason": "me"}
    answer = client.post(f"/threads/{thread}/settle/", form)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "is not JSON that can be stored" in page
    assert "{path: 1}" in page
    assert ">me</textarea>" in page
    assert '<input id="f-' not in page, "Enter in one would press the first of the answers"
    assert queries.activity(effect).state == "unknown"
    # With another answer nobody looks at it.
    done = client.post(f"/threads/{thread}/settle/", {**form, "verdict": "not_happened"})
    assert done.status_code == 303


def test_the_page_shows_both_arguments(cast: Cast, changed: tuple[UUID, UUID]) -> None:
    thread, effect = changed
    page = cast.client("operator").get(f"/threads/{thread}/").content.decode()
    for word in ("Keep the outcome", "Undo and repeat", "Do it again", "Requested now", "other"):
        assert word in page
    assert "f-result" not in page
    form = {"activity": effect, "verdict": "undo_again", "f-reason": "wrong"}
    done = cast.client("operator").post(f"/threads/{thread}/settle/", form, follow=True)
    assert "A worker undoes it now." in done.content.decode()


def test_others_see_the_question_and_no_button(cast: Cast, lost: tuple[UUID, UUID]) -> None:
    page = cast.client("manager").get(f"/threads/{lost[0]}/").content.decode()
    assert "Needs the role operator." in page
    assert 'value="happened"' not in page


def test_the_form_by_its_own_address(cast: Cast, agent: UUID, lost: tuple[UUID, UUID]) -> None:
    client = cast.client("operator")
    assert "What happened?" in client.get(f"/threads/{lost[0]}/settle/").content.decode()
    quiet = client.get(f"/threads/{scene.start(cast.workspace, agent)}/settle/")
    assert quiet.status_code == 409
    bad = {"activity": "x", "verdict": "happened"}
    assert client.post(f"/threads/{lost[0]}/settle/", bad).status_code == 400
    assert client.get(f"/threads/{lost[0]}/settle/").status_code == 200


# --- by command -----------------------------------------------------------------------------------


def output_of(*words: object) -> str:
    out = io.StringIO()
    call_command(*map(str, words), stdout=out)
    return out.getvalue()


def test_by_command(cast: Cast, lost: tuple[UUID, UUID], changed: tuple[UUID, UUID]) -> None:
    thread, effect = lost
    payload = json.loads(
        output_of("threads", "settle", thread, "happened", "--result", '{"path": 1}', "--json")
    )
    assert payload["status"] == "queued"
    assert queries.activity(effect).result == {"path": 1}
    err = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("threads", "settle", str(thread), "not-happened", stderr=err)
    assert ended.value.code == 1
    assert "has no open question about an effect" in err.getvalue()
    output_of("threads", "settle", changed[0], "undo-again", "--reason", "wrong")
    assert queries.thread(changed[0], workspace=cast.workspace).status is Status.ROLLING_BACK


def test_doctor_names_the_answers(cast: Cast, lost: tuple[UUID, UUID]) -> None:
    payload = standstill(cast.actor("operator"), lost[0])
    commands = [remedy.command for remedy in payload.remedies]
    for word in ("happened", "not-happened", "undo"):
        assert f"./manage.py threads settle {lost[0]} {word}" in commands
    assert not [
        c for c in standstill(cast.actor("auditor"), lost[0]).remedies if "settle" in c.command
    ]


def test_every_verdict_has_words(cast: Cast) -> None:
    assert set(event_phrases._OUTCOMES) == {str(v) for v in Verdict}
