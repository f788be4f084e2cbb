"""Tokens of the API: who comes in, what a scope opens, what the log says of it."""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals import queries as gates
from checkpoints import queries
from checkpoints.models import Membership
from dashboard.configuration.logs import logging_config, masked
from dashboard.identity import tokens
from dashboard.identity.people import people
from dashboard.identity.permissions import RIGHTS, SCOPES
from dashboard.models import Token
from dashboard.wording.sentences import person
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import V1, post, refused

Make = Callable[..., str]
# Rights without a scope: only somebody who is signed in has them.
SIGNED_IN = {"confirm", "policy", "access", "stand_for"}


@pytest.fixture
def token(cast: Cast) -> Make:
    """Makes a token of somebody."""
    return lambda who, /, **more: tokens.make(cast.users[who], made_by="test", **more)[1]


def bearer(token: str, **options: Any) -> Client:
    """A script that sends this token and nothing else."""
    return Client(headers={"Authorization": f"Bearer {token}"}, **options)


def stored(token: str) -> Token:
    return Token.objects.get(prefix=token[3:11])


# --- what is kept of a token ----------------------------------------------------------------------


def test_only_the_hash_is_kept(cast: Cast, token: Make) -> None:
    made = token("operator", name="ci")
    head, prefix, secret = made.split("_", 2)
    row = Token.objects.get()
    assert (head, prefix) == ("gp", row.prefix)
    assert (len(prefix), len(secret)) == (8, 43)
    assert bytes(row.secret_hash) == hashlib.sha256(secret.encode()).digest()
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(t)::text FROM gp_token t")
        assert secret not in cursor.fetchone()[0]
    assert token("operator") != made


def test_usual_scopes_are_what_the_roles_allow_but_to_decide(cast: Cast) -> None:
    made = {
        name: tokens.make(cast.users[name], made_by="test")[0].scopes
        for name in ("operator", "manager", "auditor", "admin")
    }
    assert made == {
        "operator": (
            "read",
            "start",
            "signal",
            "memory",
            "work",
            "control",
            "incidents",
            "views",
            "fork",
            "erase",
        ),
        "manager": ("read", "incidents", "views", "fork"),
        "auditor": ("read", "incidents", "views"),
        "admin": (
            "read",
            "control",
            "incidents",
            "views",
            "erase",
        ),  # of control only breakers are theirs
    }


def test_each_right_belongs_to_one_scope_and_each_scope_reads() -> None:
    # What only admins do has a scope that nobody gets without asking for it.
    admins = {action for action, roles in RIGHTS.items() if roles == {"admin"}}
    own = {"sign_ins", "delegate"}  # what people do for themselves, and admins for others
    assert SCOPES["administer"] | SCOPES["scim"] == (admins - SIGNED_IN) | own | {"read"}
    assert {"administer", "scim"} < set(tokens.ON_REQUEST)
    several = {
        "decide": ["decide", "decide_high"],
        "delegate": ["decide", "administer"],
        # An agent elsewhere remembers as it works; it corrects and deletes nothing.
        "remember": ["memory", "work"],
    }
    for action in RIGHTS.keys() - {"read", *SIGNED_IN}:
        opening = [scope for scope in SCOPES if action in SCOPES[scope]]
        assert opening == several.get(action, opening[:1]) != [], action
    assert not [scope for scope in SCOPES if SCOPES[scope] & SIGNED_IN]
    # A directory has an entry point of its own, and no business with threads.
    assert [scope for scope in SCOPES if "read" not in SCOPES[scope]] == ["scim"]


# --- who comes in ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_token_opens_the_api_and_its_schema(cast: Cast, token: Make, agent: UUID) -> None:
    script = bearer(token("operator"), enforce_csrf_checks=True)
    assert script.get(f"{V1}/threads/").status_code == 200
    made = post(script, "/threads/", {"agent": "research", "input": {"goal": "abc"}})
    assert made.status_code == 201  # no CSRF token, no cookie
    assert script.get("/api/schema/").status_code == 200


def test_a_token_opens_nothing_else(cast: Cast, token: Make, row: gates.ApprovalRow) -> None:
    cast.users["auditor"].is_staff = cast.users["auditor"].is_superuser = True
    cast.users["auditor"].save()
    script = bearer(token("auditor"))
    assert script.get(f"{V1}/threads/{row.thread}/").status_code == 200
    pages = ("/", f"/threads/{row.thread}/", "/approvals/", "/api/docs/", "/threads/new/")
    for path in pages:
        assert script.get(path)["Location"].startswith("/login/"), path
    for path in ("/admin/", "/admin/checkpoints/thread/"):
        assert "login" in script.get(path)["Location"]


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("Bearer", "not a token of Gatepost"),
        ("Bearer gp_short", "not a token of Gatepost"),
        ("Bearer {token}x", "not a token of Gatepost"),
        ("Bearer {token}, Bearer {token}", "not a token of Gatepost"),
        ("Bearer {token} {token}", "not a token of Gatepost"),
        ("Bearer gp_aaaaaaaa_" + "a" * 43, "is unknown"),
        ("Bearer {swapped}", "is unknown"),
        ("Bearer " + "ü" * 60, "not a token of Gatepost"),
        ("Bearer " + "x" * 7_000, "not a token of Gatepost"),
        ("Token {token}", "Authorization: Bearer gp_"),
        ("{token}", "Authorization: Bearer gp_"),
    ],
)
def test_bad_tokens_are_told_so_and_no_cookie_helps(
    cast: Cast, token: Make, header: str, text: str
) -> None:
    good = token("operator")
    swapped = f"{good[:3]}{'b' * 8}{good[11:]}"  # the right secret under another prefix
    sent = header.format(token=good, swapped=swapped)
    for client in (Client(), cast.client("operator")):
        response = client.get(f"{V1}/threads/", headers={"Authorization": sent})
        assert text in refused(response, 401)["detail"]
        assert response["WWW-Authenticate"].startswith('Bearer realm="gatepost"')
        assert good not in response.content.decode()


def test_ended_tokens_say_why(cast: Cast, token: Make) -> None:
    made = token("operator", expires_in=timedelta(hours=1))
    script = bearer(made)
    assert script.get(f"{V1}/threads/").status_code == 200
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_token SET expires_at = clock_timestamp()")
    expired = script.get(f"{V1}/threads/")
    assert "expired on" in refused(expired, 401)["detail"]
    assert 'error="invalid_token"' in expired["WWW-Authenticate"]
    made = token("operator")
    tokens.revoke(made[3:11], by="user:1")
    assert "revoked on" in refused(bearer(made).get(f"{V1}/threads/"), 401)["detail"]
    made = token("operator")
    cast.users["operator"].is_active = False
    cast.users["operator"].save()
    assert "disabled" in refused(bearer(made).get(f"{V1}/threads/"), 401)["detail"]


def test_withdrawn_roles_count_at_once(cast: Cast, token: Make, row: gates.ApprovalRow) -> None:
    script = bearer(token("operator"))
    at = f"/threads/{row.thread}/pause/"
    operator = Membership.objects.get(user=cast.users["operator"])
    operator.role = "viewer"
    operator.save()
    assert refused(post(script, at), 403)["detail"] == "Needs the role operator."
    assert script.get(f"{V1}/threads/{row.thread}/").status_code == 200
    operator.delete()
    assert "the token's workspace" in refused(script.get(f"{V1}/threads/"), 403)["detail"]


def test_a_token_stays_in_its_workspace(cast: Cast, token: Make, row: gates.ApprovalRow) -> None:
    user = cast.users["operator"]
    Membership.objects.create(workspace_id=cast.elsewhere, user=user, role="operator")
    here, there = bearer(token("operator")), bearer(token("operator", workspace="elsewhere"))
    assert here.get(f"{V1}/threads/{row.thread}/").status_code == 200
    refused(there.get(f"{V1}/threads/{row.thread}/"), 404)
    assert post(there, "/threads/", {"agent": "research", "input": {"goal": "abc"}}).json()["id"]
    assert len(here.get(f"{V1}/threads/").json()["results"]) == 1


def test_a_token_in_address_or_body_is_never_read(cast: Cast, token: Make) -> None:
    made = token("operator")
    for query in (f"?token={made}", f"?access_token={made}", f"?authorization=Bearer%20{made}"):
        refused(Client().get(f"{V1}/threads/{query}"), 401)
    for name in ("token", "access_token"):
        refused(post(Client(), "/threads/", {"agent": "research", name: made}), 401)
    refused(Client(headers={"Cookie": f"token={made}"}).get(f"{V1}/threads/"), 401)


def test_beside_a_cookie_the_token_alone_counts(
    cast: Cast, token: Make, row: gates.ApprovalRow
) -> None:
    narrow = {"Authorization": f"Bearer {token('operator', scopes=['read'])}"}
    response = post(cast.client("operator"), f"/threads/{row.thread}/pause/", None, **narrow)
    assert "lacks the scope 'control'" in refused(response, 403)["detail"]


def test_other_schemes_leave_the_cookie_alone(cast: Cast) -> None:
    """A proxy in front may ask for a password of its own."""
    basic = {"Authorization": "Basic bWFyeTpwb25pZXM="}
    assert cast.client("operator").get(f"{V1}/threads/", headers=basic).status_code == 200
    refused(Client().get(f"{V1}/threads/", headers=basic), 401)


# --- what a scope opens ---------------------------------------------------------------------------


@pytest.mark.slow
def test_scopes_narrow_what_roles_allow(cast: Cast, token: Make, agent: UUID) -> None:
    """Each scope tried on each action: those of the scope are refused for no lack of it."""
    user = cast.users["operator"]
    Membership.objects.create(workspace_id=cast.workspace, user=user, role="reviewer")
    tried = 0
    others = ("administer", "scim")  # of admins alone, the second of a directory
    narrowed = {name: opened for name, opened in SCOPES.items() if name not in others}
    for scope, opened in narrowed.items():
        row = scene.waiting(cast.workspace, agent)
        script = bearer(token("operator", scopes=[scope]))
        at = f"/threads/{row.thread}"
        head = str(queries.thread(row.thread, workspace=cast.workspace).head)
        verdict = {"verdict": "approve", "proposal_hash": "0"}
        bodies: dict[str, tuple[str, Any]] = {
            "start": ("/threads/", {"agent": "research", "input": {"goal": "abc"}}),
            "work": (f"{at}/lease/", {"name": "host-1"}),
            "pause": (f"{at}/pause/", None),
            "resume": (f"{at}/resume/", None),
            "retry": (f"{at}/retry/", None),
            "skip": (f"{at}/skip/", {"node": "analyse", "reason": "r"}),
            "settle": (f"{at}/settle/", {"activity": head, "verdict": "happened"}),
            "edit": (f"{at}/edit/", {"changes": {"goal": "abc"}, "reason": "r"}),
            "fork": (f"{at}/fork/", {"checkpoint": head}),
            "roll_back": (f"{at}/rollback/", {"checkpoint": head, "reason": "r"}),
            "decide": (f"/approvals/{row.id}/decide/", verdict),
            "cancel": (f"{at}/cancel/", None),
        }
        for action, (path, body) in bodies.items():
            response = post(script, path, body)
            if action in opened:
                assert response.status_code in (200, 201, 202, 409), (scope, action)
            else:
                wanted = next(s for s in SCOPES if action in SCOPES[s])
                message = refused(response, 403)["detail"]
                assert message == f"This token lacks the scope '{wanted}'."
            tried += 1
        assert script.get(f"{V1}{at}/").status_code == 200
    assert tried == 156


def test_a_token_never_widens(cast: Cast, token: Make, row: gates.ApprovalRow) -> None:
    made = token("auditor")
    Token.objects.update(scopes=list(SCOPES))
    script = bearer(made)
    for path in ("pause", "cancel", "fork"):
        response = post(script, f"/threads/{row.thread}/{path}/")
        assert "Needs the role" in refused(response, 403)["detail"]
    body = {"verdict": "approve", "proposal_hash": row.proposal_hash}
    refused(post(script, f"/approvals/{row.id}/decide/", body), 403)


def test_a_token_decides_only_when_asked_for(
    cast: Cast, token: Make, row: gates.ApprovalRow
) -> None:
    body = {"verdict": "approve", "proposal_hash": row.proposal_hash}
    usual = bearer(token("manager"))
    message = refused(post(usual, f"/approvals/{row.id}/decide/", body), 403)["detail"]
    assert message == "This token lacks the scope 'decide'."
    assert usual.get(f"{V1}/approvals/?mine=1").json()["results"] == []
    assert usual.get(f"{V1}/approvals/{row.id}/").json()["decide"]["why"] == message
    named = bearer(token("manager", scopes=["decide"], name="night shift"))
    (waiting,) = named.get(f"{V1}/approvals/?mine=1").json()["results"]
    assert waiting["decide"]["allowed"]
    done = post(named, f"/approvals/{row.id}/decide/", body)
    assert done.json()["decided_by_name"] == "manager (token night shift)"


def test_very_long_names_still_decide(cast: Cast, token: Make, row: gates.ApprovalRow) -> None:
    user = cast.users["manager"]
    user.first_name, user.last_name = "F" * 150, "L" * 150
    user.save()
    script = bearer(token("manager", scopes=["decide"], name="t" * 60))
    body = {"verdict": "approve", "proposal_hash": row.proposal_hash}
    done = post(script, f"/approvals/{row.id}/decide/", body)
    assert done.json()["decided_by_name"].endswith(f"F (token {'t' * 60})")


def test_allowed_actions_follow_the_scopes(cast: Cast, token: Make, row: gates.ApprovalRow) -> None:
    script = bearer(token("operator", scopes=["fork"]))
    payload = script.get(f"{V1}/threads/{row.thread}/").json()["actions"]
    assert payload["fork"]["allowed"]
    assert payload["pause"] == {"allowed": False, "why": "This token lacks the scope 'control'."}


# --- the log --------------------------------------------------------------------------------------


def test_the_log_names_person_and_token(cast: Cast, token: Make, agent: UUID) -> None:
    made = token("operator", name="ci")
    body = {"agent": "research", "input": {"goal": "abc"}}
    started = post(bearer(made), "/threads/", body).json()
    who = f"user:{cast.users['operator'].pk}/token:{made[3:11]}"
    assert started["started_by"] == who
    thread = UUID(started["id"])
    post(cast.client("operator"), f"/threads/{thread}/pause/")
    events = queries.events_after(thread, 0)
    assert [e.actor for e in events] == [who, f"user:{cast.users['operator'].pk}"]
    assert {e.actor.partition("/")[0] for e in events} == {cast.actor("operator").id}
    assert people(e.actor for e in events) == {
        who: "operator (token ci)",
        cast.actor("operator").id: "operator",
    }
    page = cast.client("auditor").get(f"/threads/{thread}/").content.decode()
    assert "operator (token ci) started research" in page


def test_actors_without_a_name_stay_readable(cast: Cast) -> None:
    assert people(["user:99999/token:abcdefgh", "worker:a:1:b", "user:x"]) == {}
    assert person("user:99999/token:abcdefgh") == "user 99999/token:abcdefgh"
    pk = cast.users["operator"].pk
    gone = f"user:{pk}/token:abcdefgh"
    assert people([gone]) == {gone: "operator (token abcdefgh)"}


@pytest.mark.parametrize("form", ["console", "json"])
def test_lines_never_hold_a_secret(cast: Cast, token: Make, form: str) -> None:
    made = token("operator")
    secret = made[12:]
    for text in (f"Authorization: Bearer {made}", f"GET /x?token={made}", f"bad value {made}"):
        assert secret not in masked(text)
    assert masked(f"bad value {made}") == f"bad value {made[:12]}[masked]"
    assert masked(f"by user:7/token:{made[3:11]}.") == f"by user:7/token:{made[3:11]}."
    assert masked(f"at user:7/token:{secret}") == "at user:7/token:[masked]"
    # A secret may begin like a prefix and go on with a hyphen.
    for begins in ("KJgjiLt1-", "KJgjiLt1_", "kjgjilt12"):
        assert masked(f"at user:7/token:{begins}Mlqezp01DMiM") == "at user:7/token:[masked]"
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    config = logging_config(level="INFO", form=form)["formatters"]["lines"]
    handler.setFormatter(config.pop("()")(**config))
    record = logging.LogRecord("x", 30, __file__, 1, "sent %s", (made,), None)
    handler.emit(record)
    assert made[:12] in lines.getvalue()
    assert secret not in lines.getvalue()


# --- what it costs --------------------------------------------------------------------------------


def test_a_token_costs_two_queries(cast: Cast, token: Make, row: gates.ApprovalRow) -> None:
    """Who it is (token, user and workspace at once) and their roles of now."""
    script = bearer(token("operator"))
    path = f"{V1}/threads/{row.thread}/"
    assert script.get(path).status_code == 200  # notes the first use
    with CaptureQueriesContext(connection) as whole:
        assert script.get(path).status_code == 200
    actor = cast.actor("operator")
    with CaptureQueriesContext(connection) as work:
        from dashboard.threads.answers import thread_detail

        thread_detail(actor, row.thread)
    assert len(whole) - len(work) == 2
    assert "gp_token" in whole[0]["sql"]
    assert "gp_membership" in whole[1]["sql"]


def test_use_is_noted_once_a_minute(cast: Cast, token: Make) -> None:
    made = token("operator")
    script = bearer(made)
    assert stored(made).last_used_at is None

    def noted() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert script.get(f"{V1}/threads/counts/").status_code == 200
        return sum("UPDATE gp_token" in query["sql"] for query in queries)

    assert [noted(), noted(), noted()] == [1, 0, 0]
    first = stored(made).last_used_at
    assert first is not None
    Token.objects.update(last_used_at=first - timedelta(seconds=61))
    assert [noted(), noted()] == [1, 0]
    script.get(f"{V1}/threads/", headers={"Authorization": "Bearer gp_nonsense"})
    refused_ones = bearer(f"{made[:-1]}{'a' if made[-1] != 'a' else 'b'}")
    last = stored(made).last_used_at
    refused(refused_ones.get(f"{V1}/threads/"), 401)
    assert stored(made).last_used_at == last


def test_many_at_once_do_not_wait_for_the_note(real_db: str) -> None:
    """The row of the token is locked by somebody else: requests go through all the same."""
    cast = make_cast()
    made = tokens.make(cast.users["operator"], made_by="test")[1]

    def ask(_: int) -> int:
        try:
            return bearer(made).get(f"{V1}/threads/counts/").status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        from django.db import transaction

        with transaction.atomic():
            Token.objects.select_for_update(no_key=True).get()
            assert list(pool.map(ask, range(8))) == [200] * 8
        assert stored(made).last_used_at is None
        assert list(pool.map(ask, range(8))) == [200] * 8
    assert stored(made).last_used_at is not None


# --- documentation --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_schema_names_both_ways_in_and_the_scope_needed(cast: Cast) -> None:
    payload = json.loads(cast.client("operator").get("/api/schema/?format=json").content)
    schemes = payload["components"]["securitySchemes"]
    assert schemes["token"]["scheme"] == "bearer"
    assert schemes["cookieAuth"]["in"] == "cookie"
    needed = {}
    for path, item in payload["paths"].items():
        for method, operation in item.items():
            if path == f"{V1}/hooks/decide/":
                continue  # a service that signs; see test_hooks
            token, cookie = operation["security"]
            assert cookie == {"cookieAuth": []}
            (needed[f"{method} {path}"],) = token["token"]
    assert {needed[name] for name in needed if name.startswith("get ")} == {"read"}
    at = f"post {V1}/threads/"
    assert needed[at] == needed[f"post {V1}/artifacts/"] == "start"
    assert needed[f"{at}{{thread_id}}/pause/"] == needed[f"{at}{{thread_id}}/edit/"] == "control"
    assert needed[f"{at}{{thread_id}}/fork/"] == needed[f"{at}{{thread_id}}/rollback/"] == "fork"
    assert needed[f"post {V1}/approvals/{{approval_id}}/decide/"] == "decide"
