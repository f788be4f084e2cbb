"""Deciding through the entry: teams, four eyes, many at once, taking back; API and command."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client

from approvals import queries as gates
from approvals.rules.terms import Seat, Terms
from checkpoints import queries
from checkpoints.states import Status
from dashboard.errors import FourEyes, Invalid, NothingToTakeBack, NotYours
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import post, refused
from tests.unit.dashboard.kit.api.test_idempotency import keyed

pytestmark = pytest.mark.django_db
NEW = {"report": "better"}


def now(row: gates.ApprovalRow) -> gates.ApprovalRow:
    return gates.approval(row.id, workspace=row.workspace)


def open_request(cast: Cast, agent: UUID, **terms: Any) -> gates.ApprovalRow:
    more = {"terms": Terms(**terms), "policy_version": "p@1"} if terms else {}
    return scene.waiting(cast.workspace, agent, **more)


def kinds(row: gates.ApprovalRow) -> list[str]:
    return [event.kind for event in queries.events(row.thread).rows]


def test_groups_are_teams(cast: Cast, agent: UUID) -> None:
    row = open_request(cast, agent, stages=(Seat(teams=("finance",)),))
    manager = cast.actor("manager")
    with pytest.raises(NotYours, match="Team finance has to decide this"):
        decisions.decide(manager, row.id, "approve", row.standing_hash)
    User.objects.get(pk=manager.user_id).groups.add(Group.objects.create(name="finance"))
    assert decisions.decide(manager, row.id, "approve", row.standing_hash).outcome == "approve"


def test_people_are_user_names(cast: Cast, agent: UUID) -> None:
    row = open_request(cast, agent, stages=(Seat(people=("second_manager",)),))
    with pytest.raises(NotYours):
        decisions.decide(cast.actor("manager"), row.id, "approve", row.standing_hash)
    decisions.decide(cast.actor("second_manager"), row.id, "approve", row.standing_hash)
    assert now(row).status == "settled"


@pytest.mark.parametrize("key", [False, True])
def test_the_try_of_a_barred_person_stays_on_record(cast: Cast, agent: UUID, key: bool) -> None:
    who = cast.actor("manager")
    row = open_request(cast, agent, four_eyes=True, barred=(who.person,))
    with pytest.raises(FourEyes):
        decisions.decide(who, row.id, "approve", row.standing_hash)
    body = {"verdict": "approve", "proposal_hash": row.standing_hash}
    send = keyed if key else post
    assert refused(send(cast.client("manager"), f"/approvals/{row.id}/decide/", body), 403)[
        "type"
    ].endswith(":four-eyes")
    assert kinds(row).count("decision.refused") == 2
    assert now(row).open


def test_of_many_each_is_decided_for_itself(cast: Cast, agent: UUID) -> None:
    rows = [open_request(cast, agent) for _ in range(4)]
    result = decisions.decide_many(
        cast.actor("manager"),
        [
            {"id": rows[0].id, "verdict": "approve", "proposal_hash": rows[0].standing_hash},
            {"id": rows[1].id, "verdict": "approve", "proposal_hash": "0" * 64},
            {"id": uuid4(), "verdict": "approve", "proposal_hash": "0" * 64},
            {"id": rows[2].id, "verdict": "reject", "proposal_hash": rows[2].standing_hash},
            {
                "id": rows[3].id,
                "verdict": "reject",
                "proposal_hash": rows[3].standing_hash,
                "comment": "enough",
                "what_next": "stop",
            },
        ],
    )
    codes = [one.error.code if one.error else one.row and one.row.outcome for one in result]
    assert codes == ["approve", "proposal-changed", "missing", "invalid", "reject"]
    assert [now(row).status for row in rows] == ["settled", "pending", "pending", "settled"]
    ended = queries.thread(rows[3].thread, workspace=cast.workspace)
    assert ended.status == Status.CANCELLED
    item = {"id": rows[1].id, "verdict": "approve", "proposal_hash": "0" * 64}
    with pytest.raises(Invalid, match="at most 200"):
        decisions.decide_many(cast.actor("manager"), [item] * 201)


def alone(cast: Cast, agent: UUID) -> list[gates.ApprovalRow]:
    """What needs a look of its own: high risk, several people in turn, a question."""
    more: list[dict[str, Any]] = [
        {"risk": "high"},
        {"terms": Terms(stages=(Seat(), Seat())), "policy_version": "p@1"},
        {"kind": "question", "tool": ""},
    ]
    return [scene.waiting(cast.workspace, agent, **item) for item in more]


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_what_the_page_opens_is_refused_of_many_alone(
    cast: Cast, agent: UUID, verdict: str
) -> None:
    """Page and call name the same sentence for the same requests, and decide the same others."""
    client, saved = cast.client("manager"), alone(cast, agent)
    for route in ("call", "page"):
        good = open_request(cast, agent)
        if route == "call":
            items = [
                {
                    "id": str(row.id),
                    "verdict": verdict,
                    "proposal_hash": row.standing_hash,
                    "comment": "so",
                }
                for row in [*saved, good]
            ]
            *refusals, done = post(client, "/approvals/decide/", items).json()["results"]
            assert (done["status"], done["approval"]["outcome"]) == (200, verdict)
            assert {one["status"] for one in refusals} == {409}
            assert {one["problem"]["type"] for one in refusals} == {
                "urn:gatepost:problem:decided-alone"
            }
            messages = [one["problem"]["detail"] for one in refusals]
            assert [text.partition(" is decided on its own page")[0] for text in messages] == [
                "High risk",
                "What several people approve in turn",
                "A question",
            ]
        else:
            form = {"verdict": verdict, "confirmed": "1", "comment": "so"}
            form |= {"item": [f"{row.id}:{row.standing_hash}" for row in [*saved, good]]}
            html = client.post("/approvals/decide/", form).content.decode()
            assert all(text in html for text in messages)
        assert now(good).outcome == verdict
    assert all(now(row).open for row in saved)
    # A call of its own takes each.
    body = {"verdict": "reject", "proposal_hash": saved[0].standing_hash, "comment": "no"}
    assert post(client, f"/approvals/{saved[0].id}/decide/", body).json()["outcome"] == "reject"


def test_of_many_none_is_edited_or_asked_back(cast: Cast, agent: UUID) -> None:
    rows = [open_request(cast, agent) for _ in range(3)]
    messages = [
        {"verdict": "edit", "args": NEW},
        {"verdict": "respond", "comment": "why?"},
        {"verdict": "perhaps"},
    ]
    items = [
        {"id": row.id, "proposal_hash": row.standing_hash, **one}
        for row, one in zip(rows, messages, strict=True)
    ]
    result = decisions.decide_many(cast.actor("manager"), items)
    codes = [one.error and one.error.code for one in result]
    assert codes == ["decided-alone", "decided-alone", "invalid"]
    assert [now(row) for row in rows] == rows
    # Who was first still says more.
    decisions.decide(cast.actor("second_manager"), rows[0].id, "approve", rows[0].standing_hash)
    [late] = decisions.decide_many(cast.actor("manager"), items[:1])
    assert late.error is not None
    assert late.error.code == "already-decided"


def test_the_description_of_many_names_the_rule(cast: Cast) -> None:
    schema = json.loads(cast.client("manager").get("/api/schema/?format=json").content)
    description = schema["paths"]["/api/v1/approvals/decide/"]["post"]["description"]
    assert "decided-alone" in description
    assert "high risk" in description.lower()


def test_many_through_the_api(cast: Cast, agent: UUID) -> None:
    client: Client = cast.client("manager")
    rows = [open_request(cast, agent) for _ in range(2)]
    items = [
        {"id": str(row.id), "verdict": "approve", "proposal_hash": row.standing_hash}
        for row in rows
    ]
    items[1]["proposal_hash"] = "f" * 64
    answer = post(client, "/approvals/decide/", items)
    assert answer.status_code == 200
    first, second = answer.json()["results"]
    assert (first["status"], first["approval"]["outcome"], first["problem"]) == (
        200, "approve", None,
    )  # fmt: skip
    assert (second["status"], second["approval"]) == (409, None)
    assert second["problem"]["type"] == "urn:gatepost:problem:proposal-changed"
    for bad in ({}, [{"id": "x"}], [{**items[0], "more": 1}], [items[0]] * 201):
        assert post(client, "/approvals/decide/", bad).status_code == 422, bad
    assert post(cast.client("operator"), "/approvals/decide/", items).status_code == 403


def test_an_edit_and_a_question_through_the_api(cast: Cast, agent: UUID) -> None:
    client: Client = cast.client("manager")
    row = open_request(cast, agent)
    path = f"/approvals/{row.id}/decide/"
    body = {"verdict": "respond", "proposal_hash": row.standing_hash, "comment": "why?"}
    assert post(client, path, body).json()["status"] == "pending"
    body = {"verdict": "edit", "proposal_hash": row.standing_hash, "args": NEW}
    payload = post(client, path, body).json()
    assert (payload["outcome"], payload["decided_args"], payload["shown_args"]) == (
        "edit",
        NEW,
        NEW,
    )
    assert payload["standing_hash"] != payload["proposal_hash"] == row.proposal_hash


def test_taking_back_through_the_api(cast: Cast, agent: UUID) -> None:
    row = open_request(cast, agent, undo_window=3600)
    client, path = cast.client("manager"), f"/approvals/{row.id}/take-back/"
    assert refused(post(client, path, {}), 409)["type"].endswith(":nothing-to-take-back")
    decisions.decide(cast.actor("manager"), row.id, "approve", row.standing_hash)
    assert refused(post(cast.client("second_manager"), path, {}), 409)["type"].endswith(
        ":nothing-to-take-back"
    )
    assert post(cast.client("operator"), path, {}).status_code == 403
    assert post(client, path, {}).json()["status"] == "pending"
    with pytest.raises(NothingToTakeBack):
        decisions.take_back(cast.actor("manager"), row.id)
    foreign = scene.waiting(cast.elsewhere, agent, terms=Terms(undo_window=9))
    assert post(client, f"/approvals/{foreign.id}/take-back/", {}).status_code == 404


def test_the_command_edits_and_takes_back(cast: Cast, agent: UUID, capsys: Any) -> None:
    row = open_request(cast, agent, undo_window=3600)
    values = ["approve", str(row.id), "--as", "manager"]
    call_command(*values, "--verdict", "edit", "--args", json.dumps(NEW))
    assert "It counts from" in capsys.readouterr().err
    assert (now(row).status, now(row).shown_args) == ("held", NEW)
    call_command(*values, "--take-back")
    assert now(row) == row
    call_command(*values, "--verdict", "reject", "--comment", "enough", "--what-next", "roll_back")
    assert now(row).what_next == "roll_back"
