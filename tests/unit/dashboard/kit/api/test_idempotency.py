"""`Idempotency-Key`: one change, one answer; stored with the change or not at all."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver
from pytest_django import DjangoCaptureOnCommitCallbacks

from approvals import queries as gates
from checkpoints import queries
from checkpoints.encryption.digests import fits_digest, keyed_digest
from checkpoints.models import Event, Membership, Thread
from checkpoints.state import deltas
from checkpoints.states import EventKind
from dashboard.api_urls import urlpatterns
from dashboard.identity import tokens
from dashboard.identity.permissions import RIGHTS, THREAD_ACTIONS
from dashboard.kit.api import idempotency
from dashboard.kit.api.base import MemberView
from dashboard.models import IdempotencyKey
from dashboard.threads import thread_list as api_threads
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import V1, post, refused

START = {"agent": "research", "input": {"goal": "delays"}}
REPLAYED = "Idempotency-Replayed"


def keyed(client: Client, path: str, body: Any = None, key: str = "k", **headers: str) -> Any:
    return post(client, path, body, **{"Idempotency-Key": key, **headers})


# --- one change, one answer -----------------------------------------------------------------------


def test_the_second_same_call_gets_the_first_answer(operator: Client, agent: UUID) -> None:
    first, second = keyed(operator, "/threads/", START), keyed(operator, "/threads/", START)
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.content == first.content
    assert REPLAYED not in first
    assert second[REPLAYED] == "true"
    for name in ("Location", "ETag", "Content-Type"):
        assert second[name] == first[name]
    assert Thread.objects.count() == 1
    other = keyed(operator, "/threads/", START, key="l")
    assert other.json()["id"] != first.json()["id"]


def test_the_first_answer_stays_though_the_thread_moves(operator: Client, agent: UUID) -> None:
    first = keyed(operator, "/threads/", START)
    post(operator, f"/threads/{first.json()['id']}/cancel/")
    assert keyed(operator, "/threads/", START).content == first.content


def waiting(cast: Cast, agent: UUID) -> tuple[str, gates.ApprovalRow]:
    row = scene.waiting(cast.workspace, agent)
    return f"/threads/{row.thread}", row


def paused(cast: Cast, agent: UUID) -> tuple[str, gates.ApprovalRow]:
    at, row = waiting(cast, agent)
    post(cast.client("operator"), f"{at}/pause/")
    return at, row


def failed(cast: Cast, agent: UUID) -> tuple[str, None]:
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, report="one", leave_by=EventKind.THREAD_FAILED)
    return f"/threads/{work.thread}", None


def listening(cast: Cast, agent: UUID) -> tuple[str, gates.ApprovalRow]:
    return waiting(cast, scene.make_agent("listener", inbox="findings"))


def asking(cast: Cast, agent: UUID) -> tuple[str, None]:
    return f"/threads/{scene.asking(cast.workspace, agent)[0]}", None


Scene = Callable[[Cast, UUID], tuple[str, gates.ApprovalRow | None]]


@pytest.mark.parametrize(
    ("made", "who", "verb", "body", "status"),
    [
        (waiting, "operator", "pause", {}, 200),
        (paused, "operator", "resume", {}, 200),
        (failed, "operator", "retry", {}, 200),
        (failed, "operator", "skip", {"node": "publish", "reason": "r"}, 200),
        (listening, "operator", "input", {"message": "more"}, 200),
        (asking, "operator", "settle", {"activity": "effect", "verdict": "not_happened"}, 200),
        (waiting, "operator", "cancel", {"reason": "no need"}, 200),
        (waiting, "operator", "edit", {"changes": {"goal": "weather"}, "reason": "r"}, 200),
        (waiting, "manager", "fork", {"checkpoint": "head"}, 201),
        (waiting, "manager", "rollback", {"checkpoint": "first", "reason": "r"}, 202),
        (waiting, "manager", "decide", {"verdict": "approve"}, 200),
    ],
)
def test_every_change_is_done_once(
    cast: Cast, agent: UUID, made: Scene, who: str, verb: str, body: Any, status: int
) -> None:
    at, row = made(cast, agent)
    thread = queries.thread(UUID(at.rpartition("/")[2]), workspace=cast.workspace)
    points = {"head": thread.head, "first": queries.checkpoint_by_number(thread.id, 0).id}
    if "checkpoint" in body:
        body = {**body, "checkpoint": str(points[body["checkpoint"]])}
    if "activity" in body:
        body = {**body, "activity": str(queries.activities(thread.id)[0].id)}
    path = f"{at}/{verb}/"
    if row is not None and verb == "decide":
        path = f"/approvals/{row.id}/decide/"
        body = {**body, "proposal_hash": row.proposal_hash}
    client = cast.client(who)
    first = keyed(client, path, body)
    assert first.status_code == status, first.content
    done = Event.objects.count(), Thread.objects.count()
    again = keyed(client, path, body)
    assert (again.status_code, again.content) == (status, first.content)
    assert again[REPLAYED] == "true"
    assert (Event.objects.count(), Thread.objects.count()) == done


# --- another call under the same key --------------------------------------------------------------


def test_another_call_under_the_key_is_refused(operator: Client, row: gates.ApprovalRow) -> None:
    assert keyed(operator, "/threads/", START).status_code == 201
    done = Event.objects.count(), Thread.objects.count()
    for path, body in (
        ("/threads/", {**START, "title": "Other"}),
        (f"/threads/{row.thread}/pause/", START),
        (f"/threads/{row.thread}/pause/", {}),
    ):
        problem = refused(keyed(operator, path, body), 422, "Idempotency-Key")
        assert problem["type"] == "urn:gatepost:problem:key-reused"
        assert "Idempotency-Key" in problem["detail"]
    assert (Event.objects.count(), Thread.objects.count()) == done
    assert gates.approval(row.id, workspace=row.workspace).open


def test_the_same_body_in_other_words_is_the_same(operator: Client, agent: UUID) -> None:
    first = keyed(operator, "/threads/", START)
    again = keyed(operator, "/threads/", '{ "input": {"goal":"delays"},\n "agent":"research"}')
    assert again.content == first.content


def test_a_dump_does_not_tell_the_body(operator: Client, agent: UUID) -> None:
    keyed(operator, "/threads/", START)
    [row] = IdempotencyKey.objects.all()
    assert bytes(row.body_hash) != hashlib.sha256(deltas.canonical(START)).digest()


def test_a_row_of_a_former_version_or_secret_key_still_answers(
    operator: Client, agent: UUID, settings: Any
) -> None:
    first = keyed(operator, "/threads/", START)
    plain = hashlib.sha256(deltas.canonical(START)).digest()
    IdempotencyKey.objects.update(body_hash=plain)
    assert keyed(operator, "/threads/", START).content == first.content
    refused(keyed(operator, "/threads/", {**START, "title": "t"}), 422, "Idempotency-Key")
    digest = keyed_digest(idempotency.BODY, deltas.canonical(START))
    IdempotencyKey.objects.update(body_hash=digest)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 50, [settings.SECRET_KEY]
    assert fits_digest(digest, idempotency.BODY, deltas.canonical(START))
    settings.SECRET_KEY_FALLBACKS = []
    assert not fits_digest(digest, idempotency.BODY, deltas.canonical(START))


def test_an_empty_body_is_an_empty_object(operator: Client, row: gates.ApprovalRow) -> None:
    path, key = f"{V1}/threads/{row.thread}/pause/", {"Idempotency-Key": "k"}
    first = operator.generic("POST", path, headers=key)
    again = operator.post(path, "{}", content_type="application/json", headers=key)
    assert (first.status_code, again.content) == (200, first.content)


def test_people_and_workspaces_have_keys_of_their_own(cast: Cast, agent: UUID) -> None:
    user = cast.users["manager"]
    Membership.objects.create(workspace_id=cast.workspace, user=user, role="operator")
    Membership.objects.create(workspace_id=cast.elsewhere, user=user, role="operator")
    far = tokens.make(user, made_by="test", workspace="elsewhere")[1]
    clients = (
        cast.client("operator"),
        cast.client("manager"),
        Client(headers={"Authorization": f"Bearer {far}"}),
    )
    made = [keyed(client, "/threads/", START) for client in clients]
    assert [response.status_code for response in made] == [201] * 3
    assert len({response.json()["id"] for response in made}) == 3
    # One person has the same keys at the browser and through a token.
    near = tokens.make(user, made_by="test")[1]
    script = Client(headers={"Authorization": f"Bearer {near}"})
    assert keyed(script, "/threads/", START).content == made[1].content


# --- refusals and failures leave the key free -----------------------------------------------------


def test_a_refused_call_leaves_the_key_free(cast: Cast, operator: Client, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent)
    at = f"/threads/{row.thread}"
    refused(keyed(operator, "/threads/", "{"), 400)
    refused(keyed(operator, "/threads/", {}), 422)
    refused(keyed(operator, "/threads/", {"agent": "research", "input": {}}), 422, "$.input.goal")
    refused(keyed(operator, f"/threads/{uuid4()}/pause/"), 404)
    refused(keyed(operator, f"{at}/resume/"), 409)
    refused(keyed(operator, f"{at}/pause/", None, **{"If-Match": '"999"'}), 412)
    refused(keyed(cast.client("viewer"), f"{at}/pause/"), 403)
    refused(keyed(Client(), f"{at}/pause/"), 401)
    assert not IdempotencyKey.objects.exists()
    assert keyed(operator, f"{at}/pause/").status_code == 200
    (saved,) = IdempotencyKey.objects.all()
    assert (saved.call, saved.status) == (f"POST {V1}{at}/pause/", 200)


def test_a_failure_after_the_change_takes_it_back(
    operator: Client, agent: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer could not be built: then there is no change either, and the key is free."""
    with monkeypatch.context() as broken:

        def fail(*_: Any, **__: Any) -> None:
            assert Thread.objects.count() == 1  # the change had been made
            raise RuntimeError

        broken.setattr(api_threads, "detail", fail)
        operator.raise_request_exception = False
        refused(keyed(operator, "/threads/", START), 500)
    assert (Thread.objects.count(), IdempotencyKey.objects.count()) == (0, 0)
    assert keyed(operator, "/threads/", START).status_code == 201


@pytest.mark.parametrize("key", ["", "x" * 256, "ü", "a\tb", "a\x7fb"])
def test_keys_are_short_printable_ascii(operator: Client, agent: UUID, key: str) -> None:
    refused(keyed(operator, "/threads/", START, key=key), 400, "Idempotency-Key")
    assert Thread.objects.count() == 0


@pytest.mark.parametrize("key", ["x" * 255, '"quoted, with commas"', "~ ; DROP TABLE gp_thread"])
def test_any_printable_key_will_do(operator: Client, agent: UUID, key: str) -> None:
    first = keyed(operator, "/threads/", START, key=key)
    assert keyed(operator, "/threads/", START, key=key).content == first.content
    assert IdempotencyKey.objects.get().key == key


# --- what takes no key ----------------------------------------------------------------------------


def test_plans_and_reads_take_no_key(operator: Client, row: gates.ApprovalRow) -> None:
    at = f"/threads/{row.thread}/edit/"
    body = {"changes": {"goal": "weather"}, "reason": "r"}
    plan = keyed(operator, f"{at}?preview=1", body)
    assert "patch" in plan.json()
    refused(keyed(operator, f"{at}?preview=1", {"changes": {"goal": 1}}), 422)
    operator.get(f"{V1}/threads/", headers={"Idempotency-Key": "k"})
    assert not IdempotencyKey.objects.exists()
    assert keyed(operator, at, body).json()["status"] == "paused"


def test_a_verification_is_never_remembered(operator: Client, row: gates.ApprovalRow) -> None:
    path = f"/threads/{row.thread}/verify/"
    first, again = keyed(operator, path), keyed(operator, path)
    assert first.json()["intact"]
    assert again.json()["intact"]
    assert REPLAYED not in again
    assert not IdempotencyKey.objects.exists()


def test_uploads_are_the_same_without_a_key(operator: Client) -> None:
    def upload() -> Any:
        file = {"file": SimpleUploadedFile("a.csv", b"1,2")}
        return operator.post(f"{V1}/artifacts/", file, headers={"Idempotency-Key": "k"})

    assert upload().json() == upload().json()
    assert not IdempotencyKey.objects.exists()


# --- rights ---------------------------------------------------------------------------------------


def test_whoever_lost_the_right_gets_no_stored_answer(cast: Cast, agent: UUID) -> None:
    operator = cast.client("operator")
    assert keyed(operator, "/threads/", START).status_code == 201
    narrow = tokens.make(cast.users["operator"], made_by="test", scopes=["read", "fork"])[1]
    script = Client(headers={"Authorization": f"Bearer {narrow}"})
    assert "scope 'start'" in refused(keyed(script, "/threads/", START), 403)["detail"]
    member = Membership.objects.get(user=cast.users["operator"])
    member.role = "viewer"
    member.save()
    refused(keyed(operator, "/threads/", START), 403)
    member.delete()
    refused(keyed(operator, "/threads/", START), 403)
    cast.users["operator"].is_active = False
    cast.users["operator"].save()
    refused(keyed(operator, "/threads/", START), 401)


def views(patterns: list[Any]) -> list[type[MemberView]]:
    """Every view of the API."""
    types: list[type[MemberView]] = []
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            types += views(pattern.url_patterns)
        elif isinstance(pattern, URLPattern):
            view = getattr(pattern.callback, "cls", None)
            if isinstance(view, type) and issubclass(view, MemberView):
                types.append(view)
    return types


def test_every_view_that_changes_names_its_right() -> None:
    changing = [view for view in views([*urlpatterns]) if hasattr(view, "post")]
    assert len(changing) >= 10
    assert [view for view in changing if view.changes not in RIGHTS] == []
    assert {view.changes for view in changing} >= {*THREAD_ACTIONS, "start", "upload", "decide"}
    for other in ("put", "patch", "delete"):
        assert not any(hasattr(view, other) for view in views([*urlpatterns]))


@pytest.mark.slow
def test_the_schema_names_the_header_on_every_change(operator: Client) -> None:
    payload = json.loads(operator.get("/api/schema/?format=json").content)
    seen = 0
    for path, item in payload["paths"].items():
        for method, operation in item.items():
            names = [p["name"] for p in operation.get("parameters", [])]
            # Of many verdicts each is a transaction of its own; a secret is shown once and kept in
            # no answer; a trial changes nothing.
            takes = method == "post" and not path.endswith(
                (
                    "/artifacts/",
                    "/verify/",
                    "/approvals/decide/",
                    "/threads/code/",  # of many choices, too
                    "/threads/many/",
                    "/hooks/decide/",  # a delivery has an id of its own
                    "/policies/try/",
                    "/otlp/v1/traces",  # a span has an id of its own
                    "/endpoints/",
                    "/v1/hooks/",
                    "/v1/users/",  # a stored call would be a stored password
                    "/v1/users/{user_id}/password/",
                    "/v1/sign-ins/password/",
                    "/v1/memories/",  # a stored call would be a stored text; `key` makes it once
                    "/memories/{memory_id}/correct/",
                    "/reveal/",  # a stored call would be a stored value
                    "/records/questions/",  # no transaction is open while a model writes
                    "/v1/sign-ins/confirm/",
                    # These hold passwords, secrets or codes.
                    "/v1/second-factor/",
                    "/v1/second-factor/propose/",
                    "/v1/second-factor/remove/",
                    "/v1/second-factor/confirm/",
                    "/v1/second-factor/passkeys/{passkey_id}/remove/",
                    "/rotate/",
                )
            )
            assert ("Idempotency-Key" in names) is takes, (method, path)
            seen += takes
            if takes:
                answers = operation["responses"]
                assert {"400", "409", "422"} <= answers.keys()
                good = [answer for code, answer in answers.items() if code < "300"]
                assert good
                assert all(REPLAYED in answer["headers"] for answer in good)
    assert seen >= 9


# --- costs and age --------------------------------------------------------------------------------


def statements(captured: CaptureQueriesContext) -> list[str]:
    return [q["sql"] for q in captured if "SAVEPOINT" not in q["sql"]]


def test_a_key_costs_two_statements_and_so_does_its_answer(operator: Client, agent: UUID) -> None:
    operator.get(f"{V1}/agents/")  # the first request of a login reads it by itself
    with CaptureQueriesContext(connection) as plain:
        post(operator, "/threads/", START)
    with CaptureQueriesContext(connection) as first:
        keyed(operator, "/threads/", START)
    with CaptureQueriesContext(connection) as again:
        assert keyed(operator, "/threads/", START)[REPLAYED]
    with CaptureQueriesContext(connection) as reading:
        operator.get(f"{V1}/threads/nothing/")
    assert len(statements(first)) - len(statements(plain)) == 2
    assert len(statements(again)) - len(statements(reading)) == 2


@pytest.mark.parametrize("verb", ["pause", "cancel", "edit", "decide"])
def test_the_key_comes_before_all_locks_and_the_answer_last(
    cast: Cast, row: gates.ApprovalRow, verb: str
) -> None:
    path, body, who = f"/threads/{row.thread}/{verb}/", {}, "operator"
    if verb == "edit":
        body = {"changes": {"goal": "weather"}, "reason": "r"}
    if verb == "decide":
        path, who = f"/approvals/{row.id}/decide/", "manager"
        body = {"verdict": "approve", "proposal_hash": row.proposal_hash}
    client = cast.client(who)
    with CaptureQueriesContext(connection) as queries:
        assert keyed(client, path, body).status_code == 200
    message = statements(queries)
    locks = [i for i, sql in enumerate(message) if "gp_thread" in sql or "gp_approval" in sql]
    (taken,) = [i for i, sql in enumerate(message) if sql.startswith("INSERT INTO gp_idempotency")]
    assert taken < locks[0]
    assert message[-1].startswith("UPDATE gp_idempotency_key")


def test_old_keys_go_a_few_at_a_time(
    operator: Client,
    agent: UUID,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    settings.GATEPOST_IDEMPOTENCY_HOURS = 24
    monkeypatch.setattr(idempotency, "SWEPT_EVERY", 1)
    monkeypatch.setattr(idempotency, "SWEPT_AT_ONCE", 3)
    for n in range(6):
        keyed(operator, "/threads/", START, key=f"old {n}")
    IdempotencyKey.objects.update(created_at=F("created_at") - timedelta(hours=24, seconds=5))
    with django_capture_on_commit_callbacks(execute=True):
        keyed(operator, "/threads/", START, key="new")
    assert IdempotencyKey.objects.count() == 4
    with django_capture_on_commit_callbacks(execute=True):
        assert keyed(operator, "/threads/", START, key="new")[REPLAYED]  # sweeps nothing
    assert IdempotencyKey.objects.count() == 4
    IdempotencyKey.objects.filter(key="new").update(
        created_at=F("created_at") - timedelta(hours=23, minutes=59)
    )
    with django_capture_on_commit_callbacks(execute=True):
        keyed(operator, "/threads/", START, key="newer")
    assert {k.key for k in IdempotencyKey.objects.all()} == {"new", "newer"}


def test_most_changes_sweep_nothing_and_more_keys_go_than_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    swept: list[int] = []
    monkeypatch.setattr(idempotency, "_changes", itertools.count())
    monkeypatch.setattr(idempotency, "sweep", lambda: swept.append(1))
    for _ in range(3 * idempotency.SWEPT_EVERY):
        idempotency.sweep_in_turn()
    assert len(swept) == 3
    assert idempotency.SWEPT_AT_ONCE > idempotency.SWEPT_EVERY
