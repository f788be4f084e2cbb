"""Policies through pages and calls: who may, what is refused and where, what trying tells."""

from __future__ import annotations

import html
import json
import re
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import Group

from approvals import queries
from approvals.policies import changes as policies
from approvals.policies import preview
from approvals.policies import queries as queries_policies
from approvals.policies.conditions import refusal
from approvals.policies.drafts import Draft
from approvals.rules.terms import Seat, Terms
from checkpoints import queries as threads
from dashboard.administration.policies import draft_from, make_policy
from dashboard.administration.policy_examples import examples
from dashboard.administration.policy_form import PolicyForm, form_of
from dashboard.errors import Forbidden, Invalid
from dashboard.identity import tokens
from tests.support import decisions
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/policies/"
FORM = {
    "name": "Large",
    "condition": "tool == 'publish'",
    "action": "ask",
    "stages": "1 of any reviewer\n2 of manager, second_manager",
    "four_eyes": "on",
    "on_expiry": "escalate",
    "escalate_to": "1 of second_manager",
    "escalate_for": "30",
    "deadline": "90",
    "reminders": "30, 60",
    "undo_window": "10",
    "valid_for": "24",
    "do": "save",
}


def post(client: Any, address: str, body: dict[str, Any], **headers: str) -> Any:
    return client.post(address, json.dumps(body), content_type="application/json", headers=headers)


def made(cast: Cast, condition: str = "tool == 'publish'", name: str = "One", **more: Any) -> Any:
    return policies.make(cast.workspace, Draft(name, condition, **more), actor="user:9")


def newest(cast: Cast) -> Any:
    return queries_policies.policies(cast.workspace)[-1]


# --- pages ----------------------------------------------------------------------------------------


def test_the_form_says_all_that_a_policy_can(cast: Cast) -> None:
    answer = cast.client("admin").post("/admin/policies/add/", FORM)
    assert answer.status_code == 303, answer.content.decode()
    row = newest(cast)
    assert row.deadline == 90 * 60
    assert row.terms == Terms(
        stages=(Seat(), Seat(people=("manager", "second_manager"), count=2)),
        four_eyes=True,
        undo_window=10,
        on_expiry="escalate",
        escalate_to=Seat(people=("second_manager",)),
        escalate_for=30 * 60,
        reminders=(30 * 60, 60 * 60),
    )
    again = PolicyForm(form_of(row))
    assert again.is_valid(), again.errors
    assert policies.draft_of(row) == draft_from(again.draft().model_dump())


def test_a_new_policy_starts_with_time_to_undo(cast: Cast) -> None:
    page = cast.client("admin").get("/admin/policies/add/").content.decode()
    assert re.search(r'name="undo_window"[^>]* value="10"', page)
    for heading in ("When it applies", "Who approves", "If nobody decides", "After the decision"):
        assert f"{heading}</h2>" in page


def test_a_misspelt_tool_is_named_with_what_it_may_mean(cast: Cast) -> None:
    scene.make_agent()
    tool = next(one for row in threads.agents(workspace=cast.workspace) for one in row.tools)
    wrong = tool[:-2] + tool[-1]
    form = FORM | {"do": "try", "condition": f"tool == '{wrong}'"}
    admin = cast.client("admin")
    page = html.unescape(admin.post("/admin/policies/add/", form).content.decode())
    warned = f"No agent announces the tool '{wrong}'. Did you mean '{tool}'?"
    assert page.count(warned) == 1
    right = form | {"condition": f"tool == '{tool}'"}
    assert "No agent announces" not in admin.post("/admin/policies/add/", right).content.decode()
    admin.post("/admin/policies/add/", form | {"do": "save"})
    saved = admin.get(f"/admin/policies/{newest(cast).policy}/").content.decode()
    assert html.unescape(saved).count(warned) == 1


def test_an_example_fills_the_condition_and_keeps_the_rest(cast: Cast) -> None:
    scene.make_agent()
    admin = cast.client("admin")
    form = FORM | {"do": "example-1", "condition": "tool ==", "note": "kept"}
    answer = admin.post("/admin/policies/add/", form)
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 200
    words, text = examples(cast.workspace)[1]
    assert words == "One tool"
    assert f"{text}</textarea>" in page
    assert "kept</textarea>" in page
    assert 'role="alert"' not in page
    assert queries_policies.policies(cast.workspace) == []
    known = page.partition('aria-label="Known tools"')[2].partition("</ul>")[0]
    assert "<code>publish</code> research" in known
    # Each of them can be saved as it stands.
    for words, text in examples(cast.workspace):
        assert not refusal(text), words


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"condition": "tol == 1"}, "knows no &#x27;tol&#x27;"),
        ({"condition": "tool =="}, "it ends too early"),
        ({"stages": "ada"}, "cannot be read"),
        ({"stages": "1 of stranger"}, "is not a reviewer of this workspace"),
        ({"stages": "1 of operator"}, "is not a reviewer of this workspace"),
        ({"stages": "1 of team:Nobody"}, "is the name of no team"),
        ({"stages": "3 of manager"}, "asks for 3 of 1 people"),
        ({"escalate_to": "", "escalate_for": ""}, "name who is asked then"),
        ({"reminders": "soon"}, "takes minutes"),
        ({"reminders": "100"}, "must be from"),
        ({"name": ""}, "This field is required"),
        ({"undo_window": "nan"}, "Enter a number"),
        ({"condition": "x" * 3_000}, "at most 2000 characters"),
    ],
)
def test_what_cannot_stand_comes_back_beside_its_input(
    cast: Cast, more: dict[str, str], text: str
) -> None:
    answer = cast.client("admin").post("/admin/policies/add/", FORM | more)
    assert answer.status_code == 422
    assert text in answer.content.decode()
    assert queries_policies.policies(cast.workspace) == []


def test_trying_tells_what_would_have_matched_and_saves_nothing(cast: Cast) -> None:
    agent = scene.make_agent()
    rows = [scene.waiting(cast.workspace, agent, args={"total": t}) for t in ("10", "2000.00")]
    scene.waiting(cast.elsewhere, agent, args={"total": "9000"})
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.effect(work)
    tried = FORM | {"do": "try", "condition": "amount(args.total) > 1000"}
    page = cast.client("admin").post("/admin/policies/add/", tried).content.decode()
    # The effect has no total: where a policy asks, that counts as met.
    assert "Would have matched 2 of 3" in page
    assert "These are all on record." in page
    assert f"/approvals/{rows[1].id}/" in page
    assert f"/approvals/{rows[0].id}/" not in page
    assert f"/threads/{work.thread}/" in page
    assert "there is no total" in page
    tried["action"] = "allow"
    page = cast.client("admin").post("/admin/policies/add/", tried).content.decode()
    assert "Would have matched 1 of 3" in page
    assert queries_policies.policies(cast.workspace) == []


def test_auditors_read_and_others_do_not(cast: Cast) -> None:
    row = made(cast, note="<script>alert(1)</script>\u202e")
    one = f"/admin/policies/{row.policy}/"
    for name in ("auditor", "admin"):
        client = cast.client(name)
        assert client.get("/admin/policies/").status_code == 200
        page = client.get(one).content.decode()
        assert "<script>alert" not in page
        assert "\u202e" not in page.partition("<form")[0]
    auditor = cast.client("auditor")
    for path, form in (
        ("/admin/policies/add/", FORM),
        (one, FORM | {"number": "1"}),
        (f"{one}switch/", {"active": "0"}),
        (f"{one}move/", {"position": "1"}),
        ("/admin/policies/cap/", {"scope": "thread", "per": "day", "max_cost": "1"}),
    ):
        assert auditor.post(path, form).status_code == 403, path
        assert cast.client("operator").post(path, form).status_code == 403, path
        assert cast.client("nobody").get(path).status_code == 403, path
    assert cast.client("stranger").get(one).status_code == 404
    for path, form in ((one, FORM | {"number": "1"}), (f"{one}switch/", {"active": "0"})):
        assert cast.client("stranger").post(path, form).status_code == 404
    assert newest(cast) == row
    assert cast.client("admin").get(f"{one}switch/").status_code == 405


def test_order_switch_and_caps_by_buttons(cast: Cast) -> None:
    first, second = made(cast, name="First"), made(cast, name="Second")
    admin = cast.client("admin")
    admin.post(f"/admin/policies/{second.policy}/move/", {"position": "1"})
    admin.post(f"/admin/policies/{first.policy}/switch/", {"active": "0"})
    rows = queries_policies.policies(cast.workspace)
    assert [(r.name, r.active) for r in rows] == [("Second", True), ("First", False)]
    form = {
        "scope": "agent",
        "per": "day",
        "max_cost": "2.50",
        "agent": "research",
        "active": "true",
    }
    assert admin.post("/admin/policies/cap/", form).status_code == 303
    [cap] = queries_policies.caps(cast.workspace)
    assert (cap.scope, cap.agent, f"{cap.max_cost.normalize():f}", cap.active) == (
        "agent",
        "research",
        "2.5",
        True,
    )
    admin.post("/admin/policies/cap/", form | {"active": "false"})
    assert not queries_policies.caps(cast.workspace)[0].active


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"max_cost": "much"}, "max_cost", "Must be a decimal"),
        ({"max_cost": ""}, "max_cost", "is required"),
        ({"agent": "x" * 101}, "agent", "longer than 100"),
        ({"scope": "workspace"}, "agent", "goes with the scopes"),
        ({"scope": "moon"}, "scope", "must be one of"),
        ({"per": ""}, "per", "is required"),
    ],
)
def test_a_refused_cap_keeps_what_was_typed(
    cast: Cast, changed: dict[str, str], field: str, words: str
) -> None:
    form = {"scope": "agent", "agent": "re<b>search", "per": "day", "max_cost": "2.50"}
    form |= {"active": "false"} | changed
    answer = cast.client("admin").post("/admin/policies/cap/", form)
    assert answer.status_code == 422
    page = answer.content.decode()
    beside = page.partition(f'id="{field}-hint"')[2].partition("</p>")[0]
    assert words.lower() in html.unescape(beside).lower(), beside
    assert page.count('aria-invalid="true"') == 1
    for name in form.keys() & {"agent", "max_cost"}:
        assert f'name="{name}"' in page
        assert html.escape(form[name]) in page
    for name in {"scope", "per", "active"} - {field}:
        drawn = page.partition(f'<select id="{name}"')[2].partition("</select>")[0]
        assert f'<option value="{form[name]}" selected>' in drawn, name
    assert queries_policies.caps(cast.workspace) == []


# --- calls ----------------------------------------------------------------------------------------


def test_a_change_says_what_becomes_of_waiting_requests(cast: Cast) -> None:
    agent, admin = scene.make_agent(), cast.client("admin")
    row = made(cast)
    old = scene.waiting(cast.workspace, agent, policy_version=row.label)
    address = f"{ADDRESS}{row.policy}/"
    draft = {"name": "One", "condition": "tool == 'mail'"}
    refused = post(admin, address, {"draft": draft, "number": 1})
    assert refused.status_code == 409
    assert refused.json()["waiting"] == 1
    assert "keep or reopen" in refused.json()["detail"]
    payload = post(admin, address, {"draft": draft, "number": 1, "waiting": "keep"}).json()
    assert (payload["number"], payload["reopened"], payload["waiting"]) == (2, 0, 1)
    assert queries.approval(old.id, workspace=cast.workspace).open
    stale = post(admin, address, {"draft": draft, "number": 1, "waiting": "keep"})
    assert stale.status_code == 412
    body = {"draft": draft | {"note": "now"}, "number": 2, "waiting": "reopen"}
    result = post(admin, address, body, **{"Idempotency-Key": "x"}).json()
    assert (result["number"], result["reopened"], result["waiting"]) == (3, 1, 0)
    assert [v["number"] for v in result["versions"]] == [3, 2, 1]
    row_now = queries.approval(old.id, workspace=cast.workspace)
    assert (row_now.status, row_now.policy_version) == ("withdrawn", row.label)
    assert "was changed" in row_now.comment
    assert threads.thread(old.thread, workspace=cast.workspace).status == "queued"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$"),
        ({"draft": {"name": "One", "condition": "true"}}, "$.number"),
        ({"waiting": "keep"}, "$"),
        ({"active": True, "waiting": "keep"}, "$.draft"),
        ({"position": 9}, "$.position"),
        ({"draft": {"name": "One", "condition": "x"}, "number": 1}, "$.draft.condition"),
        (
            {
                "draft": {
                    "name": "One",
                    "condition": "true",
                    "terms": {"stages": [{"people": ["nobody"]}]},
                },
                "number": 1,
            },
            "$.draft.terms.stages[0].people[0]",
        ),
        (
            {"draft": {"name": "One", "condition": "true", "terms": {"stages": []}}, "number": 1},
            "$.draft.terms.stages",
        ),
        (
            {"draft": {"name": "One", "condition": "true", "dealine": 3.0}, "number": 1},
            "$.draft.dealine",
        ),
        ({"draft": {"name": "One", "condition": "tr\u0000ue"}, "number": 1}, ""),
    ],
)
def test_refusals_name_the_value(cast: Cast, body: dict[str, Any], path: str) -> None:
    row = made(cast)
    answer = post(cast.client("admin"), f"{ADDRESS}{row.policy}/", body)
    assert 400 <= answer.status_code < 500, answer.content
    if path:
        assert answer.json()["path"] == path, answer.content
    assert newest(cast) == row


def test_other_workspaces_and_roles_and_tokens_change_nothing(cast: Cast) -> None:
    row = made(cast)
    address = f"{ADDRESS}{row.policy}/"
    assert cast.client("viewer").get(address).status_code == 200
    for name, status in (("viewer", 403), ("operator", 403), ("manager", 403), ("stranger", 404)):
        assert post(cast.client(name), address, {"active": False}).status_code == status, name
    assert cast.client("stranger").get(address).status_code == 404
    assert cast.client("stranger").get(ADDRESS).json() == {"results": []}
    assert post(cast.client("admin"), f"{ADDRESS}{uuid4()}/", {"active": False}).status_code == 404
    _, secret = tokens.make(cast.users["admin"], made_by="user:1", name="ci")
    from django.test import Client

    bearer = Client(headers={"Authorization": f"Bearer {secret}"})
    assert post(bearer, address, {"active": False}).status_code == 403
    assert newest(cast) == row


def test_admins_decide_nothing_under_their_own_rules(cast: Cast) -> None:
    row = scene.waiting(cast.workspace, scene.make_agent())
    with pytest.raises(Forbidden):
        decisions.decide(cast.actor("admin"), row.id, "approve", row.standing_hash)


def test_a_team_is_a_group_that_exists(cast: Cast) -> None:
    draft = Draft("Team", "true", terms=Terms(stages=(Seat(teams=("Treasury",)),)))
    with pytest.raises(Invalid, match="no team"):
        make_policy(cast.actor("admin"), draft)
    Group.objects.create(name="Treasury")
    assert make_policy(cast.actor("admin"), draft).terms.stages[0].teams == ("Treasury",)


def test_trying_by_call_gives_what_it_takes_to_look(cast: Cast) -> None:
    row = scene.waiting(cast.workspace, scene.make_agent())
    payload = post(
        cast.client("admin"), f"{ADDRESS}try/", {"condition": "tool == 'publish'"}
    ).json()
    assert (payload["n_matched"], payload["looked_at"], payload["there"]) == (1, 1, 1)
    assert UUID(payload["matched"][0]["approval"]) == row.id
    assert payload["matched"][0]["outcome"] == "pending"
    assert payload["since"] is None


def test_trying_says_how_far_back_it_looked(cast: Cast, monkeypatch: Any) -> None:
    monkeypatch.setattr(preview, "SECONDS_MAX", -1.0)
    row = scene.waiting(cast.workspace, scene.make_agent())
    client, tried = cast.client("admin"), FORM | {"do": "try", "condition": "true"}
    page = client.post("/admin/policies/add/", tried).content.decode()
    assert "stopped early, out of 1" in page
    assert f"Complete back to {row.requested_at:%Y-%m-%d %H:%M:%S}" in page
    since = post(client, f"{ADDRESS}try/", {"condition": "true"}).json()["since"]
    assert datetime.fromisoformat(since) == row.requested_at
