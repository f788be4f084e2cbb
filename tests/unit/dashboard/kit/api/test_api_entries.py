"""Who gets into the API, what it refuses to read, its documentation; problem+json everywhere."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client

from approvals import queries as gates
from checkpoints import queries
from tests.support.cast import Cast
from tests.unit.dashboard.calls import V1, post, refused


def calls(row: gates.ApprovalRow) -> list[tuple[str, str]]:
    """Every address of the API with its method."""
    thread, approval = f"/threads/{row.thread}", f"/approvals/{row.id}/"
    reads = ["/agents/", "/agents/research/", "/threads/", "/threads/counts/", f"{thread}/"]
    reads += [f"{thread}/{noun}/" for noun in ("state", "checkpoints", "events", "activities")]
    reads += [f"{thread}/diff/?from={row.id}", "/approvals/", approval]
    writes = ["/threads/", f"{approval}decide/", "/artifacts/"]
    verbs = ("pause", "resume", "retry", "skip", "cancel", "settle", "input", "edit", "fork")
    verbs += ("rollback",)
    writes += [f"{thread}/{verb}/" for verb in verbs]
    return [("get", r) for r in reads] + [("post", w) for w in writes]


# --- who may come in ------------------------------------------------------------------------------


def test_strangers_get_a_problem_and_never_a_page(row: gates.ApprovalRow) -> None:
    client = Client()
    for method, path in [*calls(row), ("get", "/nowhere/"), ("get", "/../schema/")]:
        response = getattr(client, method)(f"{V1}{path}")
        refused(response, 401)
        assert response["WWW-Authenticate"] == 'Bearer realm="gatepost"'


def test_people_without_a_workspace_get_nothing(cast: Cast, row: gates.ApprovalRow) -> None:
    client = cast.client("nobody")
    for method, path in calls(row):
        assert "not a member" in refused(getattr(client, method)(f"{V1}{path}"), 403)["detail"]


def test_other_workspaces_do_not_exist(cast: Cast, row: gates.ApprovalRow) -> None:
    client = cast.client("stranger")
    bodies = {
        "edit": {"changes": {"goal": "abc"}, "reason": "r"},
        "skip": {"node": "analyse", "reason": "r"},
        "fork": {"checkpoint": str(uuid4())},
        "input": {"message": "more"},
        "settle": {"activity": str(uuid4()), "verdict": "happened"},
        "rollback": {"checkpoint": str(uuid4()), "reason": "r"},
        "decide": {"verdict": "approve", "proposal_hash": row.proposal_hash},
    }
    tried = 0
    for method, path in calls(row):
        if str(row.thread) not in path and str(row.id) not in path:
            continue
        if method == "get":
            response = client.get(f"{V1}{path}")
        else:
            response = post(client, path, bodies.get(path.split("/")[-2], {}))
        refused(response, 404)
        tried += 1
    assert tried == 18
    assert client.get(f"{V1}/threads/").json()["results"] == []
    assert client.get(f"{V1}/approvals/").json()["results"] == []
    assert client.get(f"{V1}/threads/counts/").json()["open_approvals"] == 0


@pytest.mark.parametrize("name", ["manager", "auditor", "viewer", "admin"])
def test_roles_are_needed(cast: Cast, row: gates.ApprovalRow, name: str) -> None:
    client = cast.client(name)
    for verb in ("pause", "resume", "retry", "cancel"):
        problem = refused(post(client, f"/threads/{row.thread}/{verb}/"), 403)
        assert problem["detail"] == "Needs the role operator."
    refused(post(client, "/threads/", {"agent": "research"}), 403)
    upload = client.post(f"{V1}/artifacts/", {"file": SimpleUploadedFile("a", b"a")})
    refused(upload, 403)
    if name != "manager":
        body = {"verdict": "approve", "proposal_hash": row.proposal_hash}
        refused(post(client, f"/approvals/{row.id}/decide/", body), 403)
    assert client.get(f"{V1}/threads/{row.thread}/").status_code == 200


def test_changes_need_the_csrf_token(cast: Cast, row: gates.ApprovalRow) -> None:
    client = cast.client("operator", enforce_csrf_checks=True)
    assert "CSRF" in refused(post(client, f"/threads/{row.thread}/pause/"), 403)["detail"]
    token = "x" * 32
    client.cookies["csrftoken"] = token
    answer = post(client, f"/threads/{row.thread}/pause/", None, **{"X-CSRFToken": token})
    assert answer.status_code == 200


# --- what cannot be read --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("{", "$"),
        ('{"agent": "a", "input": {"goal": NaN}}', "$.input.goal"),
        ('{"agent": "a", "agent": "b"}', "$.agent"),
        ('{"agent": "a\\u0000"}', "$.agent"),
        ('{"agent": "a\\ud800"}', "$.agent"),
        ('{"agent": "a", "input": {"n": 9007199254740993}}', "$.input.n"),
        ('{"agent": "a", "input": {"n": 1e999}}', "$.input.n"),
        ('{"input": ' + "[" * 150 + "]" * 150 + "}", None),
        (b"\xff\xfe", "$"),
    ],
)
def test_bodies_that_cannot_be_read(operator: Client, body: Any, path: str | None) -> None:
    refused(post(operator, "/threads/", body), 400, path)


@pytest.mark.parametrize(
    ("body", "path", "text"),
    [
        ([], "$", "must be an object"),
        ({}, "$.agent", "is required"),
        ({"agent": 5}, "$.agent", "string"),
        ({"agent": "research", "inputs": {}}, "$.inputs", "is not taken here"),
        ({"agent": "research", "input": []}, "$.input", "dictionary"),
        ({"agent": "research", "title": 5}, "$.title", "string"),
        ({"agent": "research", "labels": {"a": 1}}, "$.labels.a", "string"),
        ({"agent": "research"}, "$.input.goal", "is required"),
        ({"agent": "research", "input": {"goal": 1}}, "$.input.goal", "must be text"),
        ({"agent": "nothing", "input": {"goal": "abc"}}, "$.agent", "No worker has announced"),
    ],
)
def test_bodies_that_do_not_fit(
    operator: Client, agent: UUID, body: Any, path: str, text: str
) -> None:
    problem = refused(post(operator, "/threads/", body), 422, path)
    assert text in problem["detail"]
    assert problem["errors"][0]["path"] == path


def test_other_ways_to_be_wrong(operator: Client, row: gates.ApprovalRow) -> None:
    refused(operator.get(f"{V1}/nowhere/"), 404)
    refused(operator.get(f"{V1}/threads/{uuid4()}/"), 404)
    refused(operator.get(f"{V1}/threads/no-id/"), 404)
    refused(operator.get(f"{V1}/agents/nothing/"), 404)
    refused(operator.get(f"{V1}/agents/%00/"), 422, "name")
    refused(operator.get(f"{V1}/threads"), 404)
    refused(operator.put(f"{V1}/threads/"), 405)
    refused(operator.post(f"{V1}/threads/", {"agent": "research"}), 415)
    refused(operator.get(f"{V1}/threads/", headers={"Accept": "image/png"}), 406)
    refused(post(operator, f"/threads/{row.thread}/pause/", None, **{"If-Match": "new"}), 400)
    for query, name in {
        "?limit=0": "limit",
        "?limit=x": "limit",
        "?limit=99999999999999999999999": "limit",
        "?status=late": "status",
        "?cursor=x": "cursor",
        "?label=a": "label",
        "?q=%00": "q",
        "?agent=%00": "agent",
    }.items():
        refused(operator.get(f"{V1}/threads/{query}"), 422, name)
    at = f"{V1}/threads/{row.thread}"
    refused(operator.get(f"{at}/events/?after=-1"), 422, "after")
    refused(operator.get(f"{at}/events/?kind=%00"), 422, "kind")
    refused(operator.get(f"{at}/checkpoints/?cursor=99999999999"), 422, "cursor")
    refused(operator.get(f"{at}/state/?checkpoint=1"), 422, "checkpoint")
    refused(operator.get(f"{at}/state/?checkpoint={uuid4()}"), 404)
    refused(operator.get(f"{at}/diff/"), 422, "from")
    refused(operator.get(f"{V1}/approvals/?status=late"), 422, "status")
    refused(operator.get(f"{V1}/approvals/?cursor=late"), 422, "cursor")
    refused(operator.get(f"{V1}/approvals/?mine=1&status=decided"), 422, "mine")


def test_failures_of_ours(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("secret address")

    monkeypatch.setattr(queries, "counts", away)
    response = operator.get(f"{V1}/threads/counts/")
    assert "secret" not in str(refused(response, 503))
    assert response["Retry-After"] == "5"

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(queries, "counts", broken)
    operator.raise_request_exception = False
    assert "secret" not in str(refused(operator.get(f"{V1}/threads/counts/"), 500))


# --- documentation --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_schema_names_every_call(operator: Client, row: gates.ApprovalRow) -> None:
    response = operator.get("/api/schema/?format=json")
    payload = response.json()
    assert payload["openapi"].startswith("3.1")
    results = {(method, path) for path, item in payload["paths"].items() for method in item}
    for method, path in calls(row):
        general = path.partition("?")[0].replace(str(row.thread), "{thread_id}")
        general = general.replace(str(row.id), "{approval_id}").replace("/research/", "/{name}/")
        assert (method, f"{V1}{general}") in results
    assert "ThreadDetail" in payload["components"]["schemas"]


def test_documentation_is_for_members(operator: Client) -> None:
    assert Client().get("/api/docs/")["Location"].startswith("/login/")
    refused(Client().get("/api/schema/"), 401)
    page = operator.get("/api/docs/")
    assert page.status_code == 200
    assert "<style" not in page.content.decode()
    assert "style=" not in page.content.decode()
    assert operator.get("/api/docs/?script=").status_code == 200
