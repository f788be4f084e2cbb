"""Step-up: high risk is decided by somebody who has just shown who they are, by every entry."""

from __future__ import annotations

import html
import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries
from dashboard.errors import NeedsConfirmation
from dashboard.identity import tokens
from dashboard.identity.permissions import Grant, Login
from dashboard.identity.second_factor import codes, records
from dashboard.models import Passkey
from dashboard.people import step_up
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.dashboard import hooking, scene
from tests.unit.dashboard.authenticator import Authenticator

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G07")]
PASSWORD = "manager-password"


@pytest.fixture
def high(cast: Cast, settings: Any) -> ApprovalRow:
    """A request of high risk, where a decision needs a confirmation of the last ten minutes."""
    settings.GATEPOST_STEP_UP_MINUTES = 10
    return request(cast, "high")


def request(cast: Cast, risk: str) -> ApprovalRow:
    return scene.waiting(cast.workspace, scene.make_agent(), risk=risk)


def stale(cast: Cast) -> Client:
    """The manager's browser, signed in an hour ago."""
    client: Client = cast.client("manager")
    session = client.session
    session["confirmed_at"] = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    session.save()
    return client


def form(row: ApprovalRow, **more: str) -> dict[str, str]:
    """A form whose second question is answered."""
    sent = {"verdict": "approve", "proposal_hash": row.standing_hash, "comment": "fine"}
    return sent | {"confirmed": "1"} | more


def send(client: Client, path: str, body: Any, **more: Any) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json", **more)


def confirmed_in_event(row: ApprovalRow) -> str:
    events = queries.events(row.thread, limit=1000).rows
    [data] = [e.data for e in events if str(e.kind) == "approval.decided"]
    return str(data.get("confirmed_at", ""))


def test_the_page_asks_inline_and_keeps_what_was_sent(cast: Cast, high: ApprovalRow) -> None:
    client, path = stale(cast), f"/approvals/{high.id}/decide/"
    answer = client.post(path, form(high))
    text = answer.content.decode()
    assert answer.status_code == 403
    assert "Confirm that it’s you" in text
    assert '<input type="hidden" name="comment" value="fine">' in text
    assert f'name="proposal_hash" value="{high.standing_hash}"' in text
    wrong = client.post(path, form(high, password="guess"))
    assert wrong.status_code == 403
    assert "This is not your password." in wrong.content.decode()
    assert "guess" not in wrong.content.decode()
    assert gates.approval(high.id, workspace=cast.workspace).open
    assert client.post(path, form(high, password=PASSWORD)).status_code == 303
    assert not gates.approval(high.id, workspace=cast.workspace).open
    at = datetime.fromisoformat(confirmed_in_event(high))
    assert datetime.now(UTC) - at < timedelta(minutes=5)


def test_signing_in_confirms_and_low_risk_asks_for_nothing(cast: Cast, high: ApprovalRow) -> None:
    answer = cast.client("manager").post(f"/approvals/{high.id}/decide/", form(high))
    assert answer.status_code == 303
    assert confirmed_in_event(high)
    low = request(cast, "low")
    assert stale(cast).post(f"/approvals/{low.id}/decide/", form(low)).status_code == 303
    assert confirmed_in_event(low) == ""


def test_it_is_off_unless_it_is_set(cast: Cast) -> None:
    row = request(cast, "high")
    assert stale(cast).post(f"/approvals/{row.id}/decide/", form(row)).status_code == 303
    assert confirmed_in_event(row) == ""


def test_an_edit_asks_in_its_form_and_keeps_the_values(cast: Cast, high: ApprovalRow) -> None:
    client, path = stale(cast), f"/approvals/{high.id}/decide/"
    sent = {"as": "json", "args": '{"report": "mine"}', "verdict": "edit"}
    answer = client.post(path, form(high, **sent))
    text = answer.content.decode()
    assert answer.status_code == 403
    assert 'id="confirm-password"' in text
    assert "mine" in text
    assert client.post(path, form(high, password=PASSWORD, **sent)).status_code == 303
    row = gates.approval(high.id, workspace=cast.workspace)
    assert row.decided_args == {"report": "mine"}


def test_the_call_says_so_and_takes_a_confirmation(cast: Cast, high: ApprovalRow) -> None:
    client, path = stale(cast), f"/api/v1/approvals/{high.id}/decide/"
    body = {"verdict": "approve", "proposal_hash": high.standing_hash}
    answer = send(client, path, body)
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:gatepost:problem:step-up")
    confirm = "/api/v1/sign-ins/confirm/"
    assert send(client, confirm, {"password": "guess"}).status_code == 403
    assert send(client, confirm, {"password": PASSWORD}).status_code == 200
    assert send(client, path, body).status_code == 200


def test_a_token_decides_high_risk_only_with_its_own_scope(cast: Cast, high: ApprovalRow) -> None:
    manager = cast.users["manager"]
    path = f"/api/v1/approvals/{high.id}/decide/"
    body = {"verdict": "approve", "proposal_hash": high.standing_hash}
    for scopes, status in ((["decide"], 403), (["decide_high"], 200)):
        _, secret = tokens.make(manager, made_by="user:0", scopes=scopes)
        head = {"headers": {"Authorization": f"Bearer {secret}"}}
        assert send(Client(), "/api/v1/sign-ins/confirm/", {"password": PASSWORD}, **head)
        assert send(Client(), path, body, **head).status_code == status
    assert "decide_high" not in tokens.make(manager, made_by="user:0")[0].scopes


def test_hook_command_and_many_at_once_are_held_to_it(cast: Cast, high: ApprovalRow) -> None:
    hook, secret = hooking.made(cast, "chat", U1="manager")
    answer = hooking.send(Client(), hook, hooking.verdict(high, by="U1"), secret=secret)
    assert answer.status_code == 403
    with pytest.raises(SystemExit):
        call_command(
            "approve", str(high.id), verdict="approve", as_user="manager", stderr=StringIO()
        )
    item = {"id": high.id, "verdict": "approve", "proposal_hash": high.standing_hash}
    actor = replace(cast.actor("manager"), login=Login("x", datetime.now(UTC)))
    [one] = decisions.decide_many(actor, [item])
    assert one.error is not None
    assert one.error.code == "decided-alone"
    assert gates.approval(high.id, workspace=cast.workspace).open


def test_the_command_takes_the_password(
    cast: Cast, high: ApprovalRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(f"{PASSWORD}\n"))
    call_command(
        "approve",
        str(high.id),
        verdict="approve",
        as_user="manager",
        password_stdin=True,
        stdout=StringIO(),
        stderr=StringIO(),
    )
    assert confirmed_in_event(high)


def test_the_command_takes_a_code_of_the_second_factor_once(
    cast: Cast, high: ApprovalRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager, secret = cast.users["manager"], codes.new_secret()
    options: dict[str, Any] = {"verdict": "approve", "as_user": "manager", "code_stdin": True}

    def decide(code: str) -> str:
        monkeypatch.setattr("sys.stdin", StringIO(f"{code}\n"))
        errors = StringIO()
        try:
            call_command("approve", str(high.id), stdout=StringIO(), stderr=errors, **options)
        except SystemExit:
            return errors.getvalue()
        return ""

    code = codes.code_at(secret, time.time())
    assert "There is no second factor." in decide(code)
    records.add(manager, secret, 0, actor="user:0")
    assert "This code is wrong" in decide("000000" if code != "000000" else "111111")
    assert gates.approval(high.id, workspace=cast.workspace).open
    assert decide(code) == ""
    assert confirmed_in_event(high)
    other = request(cast, "high")
    assert "or was used before" in decide(code)
    assert gates.approval(other.id, workspace=cast.workspace).open


@pytest.mark.parametrize(
    ("login", "age", "passes"),
    [
        (None, None, False),
        (Login("x"), None, False),
        (Login("x"), timedelta(minutes=11), False),
        (Login("x"), timedelta(hours=-1), False),
        (Login("x"), timedelta(minutes=1), True),
    ],
)
def test_one_function_decides(
    cast: Cast, high: ApprovalRow, login: Login | None, age: timedelta | None, passes: bool
) -> None:
    if login is not None and age is not None:
        login = replace(login, confirmed_at=datetime.now(UTC) - age)
    actor = replace(cast.actor("manager"), login=login)
    if passes:
        assert step_up.confirmed_for(actor, high.id, "approve")
    else:
        with pytest.raises(NeedsConfirmation):
            step_up.confirmed_for(actor, high.id, "approve")
    assert step_up.confirmed_for(actor, high.id, "respond") == "", "a question decides nothing"


def test_a_repeat_counts_as_high_risk(cast: Cast, high: ApprovalRow) -> None:
    repeat = replace(high, kind="repeat", risk="low")
    assert step_up.needs(repeat, "approve")
    assert not step_up.needs(replace(high, risk="medium"), "approve")


def test_a_grant_without_the_scope_is_told_which(cast: Cast, high: ApprovalRow) -> None:
    grant = Grant("abc", "ci", cast.workspace, "default", frozenset({"decide"}))
    actor = replace(cast.actor("manager"), grant=grant)
    with pytest.raises(NeedsConfirmation, match="lacks the scope 'decide_high'"):
        step_up.confirmed_for(actor, high.id, "approve")


# --- with a second factor ------------------------------------------------------------------------


def with_app(cast: Cast) -> str:
    """The secret of an app of the manager, which has shown no code yet."""
    secret = codes.new_secret()
    records.add(cast.users["manager"], secret, 0, actor="user:0")
    return secret


def test_the_page_takes_a_code_where_there_is_a_second_factor(
    cast: Cast, high: ApprovalRow
) -> None:
    secret, client, path = with_app(cast), stale(cast), f"/approvals/{high.id}/decide/"
    text = client.post(path, form(high)).content.decode()
    assert "Code from your authenticator app" in text
    assert 'name="password"' not in text
    wrong = client.post(path, form(high, confirm_code="000000"))
    assert wrong.status_code == 403
    assert "This code is wrong" in wrong.content.decode()
    assert gates.approval(high.id, workspace=cast.workspace).open
    code = codes.code_at(secret, time.time())
    answer = client.post(path, form(high, confirm_code=code))
    assert answer.status_code == 303
    assert confirmed_in_event(high)


def test_the_page_takes_a_passkey_beside_the_code(cast: Cast, high: ApprovalRow) -> None:
    with_app(cast)
    key, client, path = Authenticator(), stale(cast), f"/approvals/{high.id}/decide/"
    assert "data-passkey" not in client.post(path, form(high)).content.decode()
    key.added(cast.users["manager"])

    def offered(answer: Any) -> str:
        text = answer.content.decode()
        assert "js/passkey.js" in text
        return html.unescape(text.partition('data-options="')[2].partition('"')[0])

    answer = client.post(path, form(high))
    forged = key.sign(offered(answer), site="http://elsewhere.example")
    answer = client.post(path, form(high, confirm_code="", confirm_passkey=forged))
    assert (answer.status_code, "This passkey was refused" in answer.content.decode()) == (
        403,
        True,
    )
    key.count = -1  # a copy of one that has counted on
    Passkey.objects.update(sign_count=5)
    copied = key.sign(offered(answer))
    answer = client.post(path, form(high, confirm_code="", confirm_passkey=copied))
    assert answer.status_code == 403
    kinds = [str(e.kind) for e in queries.workspace_events(cast.workspace).rows]
    assert "passkey.refused" in kinds, "on record although nothing is decided"
    assert gates.approval(high.id, workspace=cast.workspace).open
    key.count = 5
    good = key.sign(offered(answer))
    assert client.post(path, form(high, confirm_passkey=good)).status_code == 303
    assert confirmed_in_event(high)


def test_a_code_by_the_api_confirms_once(cast: Cast, high: ApprovalRow) -> None:
    secret, client = with_app(cast), stale(cast)
    body = {"verdict": "approve", "proposal_hash": high.standing_hash}
    path = f"/api/v1/approvals/{high.id}/decide/"
    assert send(client, path, body).status_code == 403
    code = {"code": codes.code_at(secret, time.time())}
    assert send(client, "/api/v1/second-factor/confirm/", code).status_code == 200
    assert send(client, "/api/v1/second-factor/confirm/", code).status_code == 403
    assert send(client, path, body).status_code == 200


def test_the_form_of_edits_takes_a_code_too(cast: Cast, high: ApprovalRow) -> None:
    with_app(cast)
    Authenticator().added(cast.users["manager"])
    sent = {"as": "json", "args": '{"report": "mine"}', "verdict": "edit"}
    page = stale(cast).post(f"/approvals/{high.id}/decide/", form(high, **sent))
    assert 'name="confirm_code"' in page.content.decode()
    assert 'name="confirm_passkey"' in page.content.decode()
    assert "js/passkey.js" in page.content.decode()
