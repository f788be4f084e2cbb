"""No policy allows on a fact that the controlled party writes itself, however it is spelt."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from approvals.policies import changes as policies
from approvals.policies import queries as queries_policies
from approvals.policies.drafts import Draft
from approvals.policies.facts import CLAIMED, FACTS, KNOWN
from approvals.policies.matches import Facts, rule_for
from checkpoints.errors import InvalidValue
from dashboard.operate.doctor import policies as doctor
from dashboard.operate.doctor.findings import Seen
from tests.support.cast import Cast
from tests.unit.dashboard import calls

pytestmark = pytest.mark.django_db

# Conditions that look at a claimed fact, as text, by member, in a macro, in a list, negated.
SPELLINGS = {
    "labels": (
        "labels.team == 'trusted'",
        "labels['team'] == 'trusted'",
        "tool == 'pay' && has(labels.team)",
        "[labels].exists(l, l.team == 'trusted')",
        "'team' in labels",
        "!(  labels . team != 'trusted')",
        "size(labels) == 1 // labels",
    ),
    "risk": ("risk == 'low'", "risk != 'high'", "risk in ['low', '']", "lower(risk) == 'low'"),
    "cost": ("cost < 20", "tool == 'pay' && cost <= 1.0", "double(cost) < 3.0", "[cost][0] < 5"),
}
SWEEP = [(fact, text) for fact, texts in SPELLINGS.items() for text in texts]
TRUE_OF = {"labels": {"team": "trusted"}, "risk": "low", "cost": "0.5"}


def facts(cast: Cast, **more: Any) -> Facts:
    values: dict[str, Any] = {"agent": "payments", "tool": "pay", "args": {"total": "9"}}
    return Facts(workspace=cast.workspace, thread=uuid4(), **(values | TRUE_OF | more))


def saved(cast: Cast, condition: str, name: str = "Old") -> Any:
    """A policy that allows, as an older version of this product left it."""
    row = policies.make(cast.workspace, Draft(name, "true", action="allow"), actor="user:9")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "UPDATE gp_policy_version SET condition = %s WHERE policy_id = %s",
            (condition, row.policy),
        )
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    return queries_policies.policy(row.policy, workspace=cast.workspace)


def test_each_claimed_fact_is_tried() -> None:
    assert set(SPELLINGS) == set(CLAIMED)
    assert set(KNOWN) | set(CLAIMED) == set(FACTS)


@pytest.mark.requirement("E02")
@pytest.mark.parametrize(("fact", "text"), SWEEP)
def test_saving_one_that_allows_on_a_claim_is_refused_by_name(
    cast: Cast, fact: str, text: str
) -> None:
    draft = {"name": "Small", "condition": text, "action": "allow"}
    refused = calls.post(cast.client("admin"), "/policies/", draft)
    assert refused.status_code == 422
    assert refused.json()["path"] == "$.condition"
    assert f"uses '{fact}', which is only claimed" in refused.json()["detail"]
    row = policies.make(cast.workspace, Draft("Small", "true", action="allow"), actor="user:9")
    with pytest.raises(InvalidValue, match="only claimed"):
        policies.change(
            row.policy,
            Draft("Small", text, action="allow"),
            workspace=cast.workspace,
            seen=1,
            actor="user:9",
        )
    policies.make(cast.workspace, Draft("Asks", text), actor="user:9")


@pytest.mark.requirement("E02")
@pytest.mark.parametrize(("fact", "text"), SWEEP)
def test_one_from_before_asks_instead_of_allowing(cast: Cast, fact: str, text: str) -> None:
    row = saved(cast, text)
    rule = rule_for(facts(cast))
    assert rule is not None
    assert (rule.action, rule.version) == ("ask", row.label)
    assert f"'{fact}', which is only claimed" in rule.terms.rule


@pytest.mark.parametrize(
    "text", ["tool == 'pay'", "args.labels == 'x' || true", "tool == 'pay' && 'risk' != 'cost'"]
)
def test_known_facts_allow_also_where_a_text_or_member_is_named_like_a_claim(
    cast: Cast, text: str
) -> None:
    policies.make(cast.workspace, Draft("Known", text, action="allow"), actor="user:9")
    rule = rule_for(facts(cast, args={"labels": "x"}))
    assert rule is not None
    assert rule.action == "allow"


def test_a_node_is_a_claim_of_an_agent_that_works_elsewhere(cast: Cast) -> None:
    draft = Draft("Drafts", "node == 'draft'", action="allow")
    policies.make(cast.workspace, draft, actor="user:9")
    for elsewhere, action in ((False, "allow"), (True, "ask")):
        rule = rule_for(facts(cast, tool="", args={}, node="draft", elsewhere=elsewhere))
        assert rule is not None
        assert rule.action == action


def test_pages_api_and_doctor_flag_one_that_would_allow_on_a_claim(cast: Cast) -> None:
    row = saved(cast, "risk == 'low' && labels.team == 'trusted'")
    client = cast.client("admin")
    one = f"/admin/policies/{row.policy}/"
    for page in ("/admin/policies/", one):
        text = client.get(page).content.decode()
        assert 'class="problem claims"' in text
        assert "<code>risk</code>, <code>labels</code>" in text
    (listed,) = client.get("/api/v1/policies/").json()["results"]
    assert listed["claims"] == ["risk", "labels"]
    (result,) = doctor.conditions(Seen())
    assert (result.level, result.name) == ("warning", "policy “Old”")
    assert "risk, labels" in result.value
    tried = calls.post(client, "/policies/try/", {"condition": "cost < 5", "action": "allow"})
    assert tried.json()["claims"] == ["cost"]
    change = Draft("Old", "tool == 'pay'", action="allow")
    policies.change(row.policy, change, workspace=cast.workspace, seen=1, actor="user:9")
    assert "problem claims" not in client.get(one).content.decode()
    assert [f.level for f in doctor.conditions(Seen())] == ["ok"]


def test_the_editor_and_the_docs_say_of_each_fact_whether_it_is_known(cast: Cast) -> None:
    page = cast.client("admin").get("/admin/policies/add/").content.decode()
    table = Path("docs/howto/policies.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (\w+)", table, re.MULTILINE))
    assert rows.keys() == FACTS.keys()
    for name in FACTS:
        word = "claimed" if name in CLAIMED else "known"
        assert rows[name] == word
        shown = re.search(rf"<code>{name}</code>\s*(?:<strong>)?(\w+)", page)
        assert shown is not None
        assert shown[1] == word
