"""Policies whose condition is no longer taken after an upgrade: they fail closed, visibly."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from approvals.policies import changes as policies
from approvals.policies import queries as queries_policies
from approvals.policies.drafts import Draft
from approvals.policies.matches import Facts, rule_for
from approvals.rules.terms import Terms
from checkpoints.errors import InvalidValue
from dashboard.operate.doctor import policies as doctor
from dashboard.operate.doctor.findings import Seen
from tests.support.cast import Cast

pytestmark = pytest.mark.django_db
REASON = "this policy's condition is no longer taken: "
# Each was taken by an older reader.
REFUSED = (
    r"args.iban.matches(r'^(\w{1,900}){5}')",
    r"args.iban.matches(r'\bLT')",
    "args.list.exists(a, args.list.exists(b, a == b))",
    "unknown == 1",
    "tool ==",
    "true || " * 300 + "true",
)


def saved(cast: Cast, condition: str, **more: Any) -> Any:
    """A policy as an older version of this product left it in the database."""
    row = policies.make(cast.workspace, Draft("Old", "true", **more), actor="user:9")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "UPDATE gp_policy_version SET condition = %s WHERE policy_id = %s",
            (condition, row.policy),
        )
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    return queries_policies.policy(row.policy, workspace=cast.workspace)


def facts(cast: Cast, **more: Any) -> Facts:
    ids: dict[str, Any] = {"workspace": cast.workspace, "thread": uuid4()}
    return Facts(**ids, agent="payments", tool="pay", args={"iban": "LT12"}, **more)


@pytest.mark.parametrize("condition", REFUSED)
def test_one_that_asks_asks_a_person_and_says_why(cast: Cast, condition: str) -> None:
    with pytest.raises(InvalidValue):
        policies.make(cast.workspace, Draft("New", condition), actor="user:9")
    saved(cast, condition, terms=Terms())
    rule = rule_for(facts(cast))
    assert rule is not None
    assert rule.action == "ask"
    assert REASON in rule.terms.rule
    # It was about effects: what people do to threads goes on unasked.
    assert rule_for(facts(cast, operation="fork")) is None


def test_one_about_operations_asks_about_those(cast: Cast) -> None:
    saved(cast, "operation == 'fork' && unknown == 1")
    assert rule_for(facts(cast)) is None
    rule = rule_for(facts(cast, operation="edit"))
    assert rule is not None
    assert REASON in rule.terms.rule


@pytest.mark.parametrize("condition", REFUSED)
def test_one_that_allows_lets_nothing_pass(cast: Cast, condition: str) -> None:
    saved(cast, condition, action="allow")
    policies.make(cast.workspace, Draft("Next", "true"), actor="user:9")
    rule = rule_for(facts(cast))
    assert rule is not None
    assert (rule.action, rule.name) == ("ask", "Next")


@pytest.mark.parametrize("action", ["ask", "allow"])
def test_doctor_and_both_pages_name_it_until_it_is_changed(cast: Cast, action: Any) -> None:
    row = saved(cast, REFUSED[0], action=action)
    (result,) = doctor.conditions(Seen())
    assert (result.level, result.name) == ("wrong", "policy “Old”")
    assert result.value.startswith(REASON)
    assert str(row.policy) in result.do
    client = cast.client("admin")
    address = f"/admin/policies/{row.policy}/"
    for page in ("/admin/policies/", address):
        text = client.get(page).content.decode()
        assert 'class="problem refused"' in text
        assert "is no longer taken: has regular expressions that are too large" in text
    form = {
        "name": "Old",
        "condition": REFUSED[0],
        "action": action,
        "stages": "1 of any reviewer",
        "on_expiry": "expire",
        "undo_window": "0",
        "valid_for": "24",
        "number": "1",
        "do": "save",
    }
    assert client.post(address, form).status_code == 422
    assert client.post(address, form | {"condition": "true"}).status_code == 303
    (result,) = doctor.conditions(Seen())
    assert (result.level, result.value) == ("ok", "1 active, each condition is taken")
    for page in ("/admin/policies/", address):
        assert "no longer taken" not in client.get(page).content.decode()


def test_other_policies_can_be_made_changed_and_moved_beside_it(cast: Cast) -> None:
    old = saved(cast, REFUSED[0])
    client = cast.client("admin")
    assert client.post(f"/admin/policies/{old.policy}/switch/", {"active": "0"}).status_code == 303
    assert rule_for(facts(cast)) is None
    assert [f.level for f in doctor.conditions(Seen())] == ["ok"]


def test_the_api_says_why(cast: Cast) -> None:
    row = saved(cast, "unknown == 1")
    client = cast.client("admin")
    (listed,) = client.get("/api/v1/policies/").json()["results"]
    one = client.get(f"/api/v1/policies/{row.policy}/").json()
    assert listed["refused"] == one["refused"] == one["versions"][0]["refused"]
    assert one["refused"].startswith(REASON)
    policies.change(
        row.policy, Draft("Old", "true"), seen=1, workspace=cast.workspace, actor="user:9"
    )
    assert client.get("/api/v1/policies/").json()["results"][0]["refused"] == ""
