"""Breakers by API and by command."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from checkpoints import leases, queries
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.people.test_people_as_code import answer, call

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G01")]


def send(cast: Cast, path: str, body: Any, who: str = "operator", **headers: str) -> Any:
    return cast.client(who).post(
        f"/api/v1{path}", json.dumps(body), content_type="application/json", headers=headers
    )


def test_by_api_from_preview_to_release(cast: Cast) -> None:
    agent = scene.make_agent()
    threads = [scene.start(cast.workspace, agent) for _ in range(4)]
    body = {"agent": "research", "reason": "Prices are wrong"}
    seen = send(cast, "/breakers/?preview=1", body)
    assert (seen.status_code, seen.json()) == (
        200,
        {"total": 4, "statuses": {"queued": 4}, "elsewhere": 0},
    )
    assert queries.breakers(cast.workspace) == []
    made = send(cast, "/breakers/", body, **{"Idempotency-Key": "once"})
    assert made.status_code == 201, made.content
    again = send(cast, "/breakers/", body, **{"Idempotency-Key": "once"})
    assert again.content == made.content
    (row,) = queries.breakers(cast.workspace)
    value = made.json()
    assert (value["id"], value["selection"]) == (str(row.id), {"agent": "research"})
    assert value["threads"] == {"stopped": 4, "at_work": 0, "waits": 0, "released": {}}
    thread = cast.client("operator").get(f"/api/v1/threads/{threads[0]}/").json()
    assert thread["why_waiting"]["kind"] == "breaker"
    assert thread["why_waiting"]["sentence"] == "A breaker stops it: Prices are wrong."
    path = f"/breakers/{row.id}/release/"
    part = send(cast, path, {"reason": "try", "percent": 25}).json()
    assert (part["released"], part["breaker"]["threads"]["released"]) == (1, {"queued": 1})
    assert part["breaker"]["closed_at"] is None
    rest = send(cast, path, {"reason": "right"}).json()
    assert (rest["released"], rest["breaker"]["threads"]) == (3, None)
    assert rest["breaker"]["closed_at"] is not None
    assert send(cast, path, {"reason": "right"}).status_code == 409
    listed = cast.client("auditor").get("/api/v1/breakers/").json()["results"]
    assert [one["id"] for one in listed] == [str(row.id)]
    assert all(leases.acquire(t, owner="worker:1") for t in threads)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$.reason"),
        ({"reason": " "}, "$.reason"),
        ({"reason": "r", "status": "running"}, "$.status"),
        ({"reason": "r", "root": "x"}, "$.root"),
        ({"reason": "r", "depth": -1}, "$.depth"),
        ({"reason": "r", "labels": {"a": 1}}, "$.labels.a"),
    ],
)
def test_what_is_refused_names_its_place(cast: Cast, body: Any, path: str) -> None:
    refused = send(cast, "/breakers/", body)
    assert refused.status_code == 422
    assert path in {fault["path"] for fault in refused.json()["errors"]}
    assert queries.breakers(cast.workspace) == []


def test_by_command_from_preview_to_release(cast: Cast) -> None:
    agent = scene.make_agent()
    for _ in range(3):
        scene.start(cast.workspace, agent)
    options = ("--agent", "research", "--reason", "Prices are wrong")
    assert answer("breaker", "trip", *options, "--preview")["total"] == 3
    assert queries.breakers(cast.workspace) == []
    made = answer("breaker", "trip", *options, "--yes")
    assert made["threads"]["stopped"] == 3
    assert [one["id"] for one in answer("breaker", "list")["results"]] == [made["id"]]
    part = answer("breaker", "release", made["id"], "--reason", "try", "--number", "1")
    assert (part["released"], part["breaker"]["closed_at"]) == (1, None)
    rest = answer("breaker", "release", made["id"], "--reason", "right")
    assert rest["released"] == 2
    code, _, err = call("breaker", "release", made["id"], "--reason", "right")
    assert (code, "released already" in err) == (1, True)
    code, _, err = call("breaker", "release", str(uuid4()), "--reason", "right")
    assert code == 3
    code, _, err = call("breaker", "release", "x", "--reason", "right")
    assert (code, "no such breaker" in err) == (3, True)
    code, _, err = call("breaker", "trip", *options)  # nobody can be asked
    assert (code, "--yes" in err) == (2, True)
    assert UUID(made["id"])
