"""F25: who began, forked or edited a thread does not decide for it, whatever they act through.

Each of them tries every entry that decides: page, call, token, bulk, command, inbound hook. All are
refused with a sentence and on record in the thread; a person counts once over all their ways.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import NoReverseMatch, reverse

from approvals import gates, queries
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from checkpoints import queries as threads
from checkpoints import store
from dashboard.administration import hooks
from dashboard.identity import tokens
from dashboard.kit.shapes.requests import Nothing
from tests.support.cast import Cast
from tests.unit.dashboard import hooking, scene

BARRED = ("initiator", "forker", "editor")


@pytest.fixture
def people(cast: Cast) -> Cast:
    """Three more people who decide as well as steer; the initiator has both roles."""
    from django.contrib.auth import get_user_model

    for name in BARRED:
        user = get_user_model().objects.create_user(name, password=f"{name}-password")
        for role in ("operator", "reviewer"):
            store.grant(cast.workspace, user.pk, role, actor="user:0")
        cast.users[name] = user
    return cast


def person(cast: Cast, name: str) -> str:
    return f"user:{cast.users[name].pk}"


def open_request(cast: Cast, *, count: int = 1) -> ApprovalRow:
    """A request that keeps them out."""
    terms = Terms(
        stages=(Seat(count=count),),
        four_eyes=True,
        barred=tuple(person(cast, name) for name in BARRED),
    )
    by = person(cast, "initiator")
    work = scene.lease(scene.start(cast.workspace, scene.make_agent(), by=by))
    scene.step(work, report="draft")
    return scene.gate(work, terms=terms)


def body(row: ApprovalRow, **more: Any) -> dict[str, Any]:
    return {"verdict": "approve", "proposal_hash": row.proposal_hash, "comment": "mine"} | more


def posted(client: Any, path: str, body: Any, **headers: str) -> Any:
    return client.generic(
        "POST", path, json.dumps(body), content_type="application/json", headers=headers
    )


def ways(cast: Cast, row: ApprovalRow) -> dict[str, Callable[[str], tuple[int, str]]]:
    """Every entry point that decides, as somebody; (status, what was said)."""
    path = f"/api/v1/approvals/{row.id}/decide/"
    admin = cast.actor("admin")
    hook = hooking.created(admin, "elsewhere")

    def answer(result: Any) -> tuple[int, str]:
        return result.status_code, result.content.decode()

    def token(name: str) -> tuple[int, str]:
        made = tokens.make(cast.users[name], made_by="user:0", scopes=["decide"])[1]
        return answer(posted(Client(), path, body(row), Authorization=f"Bearer {made}"))

    def command(name: str) -> tuple[int, str]:
        err = io.StringIO()
        words = ("approve", str(row.id), "--verdict", "approve", "--as", name)
        try:
            call_command(*words, stdout=io.StringIO(), stderr=err)
        except SystemExit:
            return 403, err.getvalue()
        return 200, ""

    def carried(name: str) -> tuple[int, str]:
        mapped = hooks.map_identity(admin, hook.id, name, cast.users[name].pk)
        hooks.CONFIRM.run(cast.actor(name), Nothing(), mapped.id)
        payload = hooking.verdict(row, by=name)
        return answer(hooking.send(Client(), hook.id, payload, secret=hook.secret))

    def bulk(name: str) -> tuple[int, str]:
        items = [{"id": str(row.id), **body(row)}]
        outcome = posted(cast.client(name), reverse("api:decide_many"), items)
        if outcome.status_code != 200:
            return answer(outcome)
        (result,) = outcome.json()["results"]
        return int(result["status"]), json.dumps(result)

    results: dict[str, Callable[[str], tuple[int, str]]] = {
        "page": lambda name: answer(
            cast.client(name).post(f"/approvals/{row.id}/decide/", body(row))
        ),
        "call": lambda name: answer(posted(cast.client(name), path, body(row))),
        "call with a key": lambda name: answer(
            posted(cast.client(name), path, body(row), **{"Idempotency-Key": f"k-{name}"})
        ),
        "token": token,
        "command": command,
        "hook": carried,
    }
    try:
        reverse("api:decide_many")
    except NoReverseMatch:
        return results
    return results | {"bulk": bulk}


def refusals(row: ApprovalRow) -> list[str]:
    """Who was refused, as the thread's log has it."""
    result = threads.events_after(row.thread, 0, limit=500)
    return [event.actor for event in result if event.kind == "decision.refused"]


@pytest.mark.slow
@pytest.mark.parametrize("name", BARRED)
def test_who_took_part_does_not_decide_through_any_entry(people: Cast, name: str) -> None:
    row = open_request(people)
    tried = 0
    for route, act in ways(people, row).items():
        code, payload = act(name)
        assert code == 403, (route, code, payload)
        assert len(payload) > 20, route
        tried += 1
        assert len(refusals(row)) == tried, f"{route}: the try is not on record"
    assert {actor.partition("/")[0] for actor in refusals(row)} == {person(people, name)}
    assert tried >= 6
    now = queries.approval(row.id, workspace=row.workspace)
    assert (now.status, now.outcome, now.decided_by) == ("pending", "", "")
    # Somebody else decides.
    assert (
        posted(
            people.client("manager"), f"/api/v1/approvals/{row.id}/decide/", body(row)
        ).status_code
        == 200
    )


@pytest.mark.slow
def test_a_person_counts_once_whatever_they_act_through(people: Cast) -> None:
    """Of two that are needed one person is one, by page, token and hook alike."""
    row = open_request(people, count=2)
    every = ways(people, row)
    for route in ("call", "token", "hook", "page", "command"):
        every[route]("manager")
        now = queries.approval(row.id, workspace=row.workspace)
        assert (now.status, now.outcome) == ("pending", ""), route
    assert every["hook"]("second_manager")[0] == 200
    now = queries.approval(row.id, workspace=row.workspace)
    assert (now.status, now.outcome) == ("settled", "approve")


@pytest.mark.slow
def test_the_gate_itself_knows_the_person_behind_a_hook(people: Cast) -> None:
    """Also past the entry point: what counts is what stands before the slash."""
    row = open_request(people)
    for through in ("", "/token:abcd1234", "/hook:slack"):
        reviewer = gates.Reviewer(id=person(people, "editor") + through, name="editor")
        with pytest.raises(Exception, match=r".{20,}"):
            gates.decide(
                row.id,
                workspace=row.workspace,
                reviewer=reviewer,
                verdict="approve",
                proposal_hash=row.proposal_hash,
            )
    assert queries.approval(row.id, workspace=row.workspace).open
    assert len(refusals(row)) == 3
