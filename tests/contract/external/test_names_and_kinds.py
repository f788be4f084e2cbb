"""Each kind of a call times each spelling of its names, generated: none escapes a policy."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from approvals.policies import changes as policies
from approvals.policies import matches
from approvals.policies.drafts import Draft
from approvals.policies.matches import Facts
from checkpoints import queries
from checkpoints.names import name_fault
from dashboard.external import reports
from dashboard.threads.fork import fork
from tests.support.cast import Cast

from .entry import Agent

pytestmark = pytest.mark.django_db
KINDS = ["activity", "model", "effect"]
# Other spellings of `charge`: each is another name, or none.
SPELLINGS = [
    *("Charge", "CHARGE", "charge ", " charge", "cha\u200brge", "charge\u00a0", "ch\u0430rge"),
    *("\u202echarge", "cha\u00adrge", "ｃｈａｒｇｅ", "char\u0261e", "сһагɡе", "charge\u2060"),
]
CONDITIONS = [
    "tool == 'charge'",
    "tool in ['refund', 'charge']",
    "tool.startsWith('char')",
    "tool.endsWith('arge')",
    "tool.contains('harg')",
    "lower(tool) == 'charge' && agent != 'x'",
    "tool.startsWith('ch') && tool != 'choose'",
    "tool.matches('^charge$')",
    "tool.matches('^(charge|refund)$') && agent != 'x'",
    "tool.matches('arge$')",
    "tool.matches(r'^c[a-h]*r\\w+')",
    "tool.matches('^CHARGE$')",
]


def demand(cast: Cast, condition: str = "tool == 'charge'") -> Any:
    return policies.make(cast.workspace, Draft("Charges", condition), actor="user:0")


@pytest.mark.slow
@pytest.mark.requirement("E02")
@pytest.mark.parametrize("kind", KINDS)
def test_no_spelling_of_any_kind_escapes_at_the_entry(agent: Agent, cast: Cast, kind: str) -> None:
    demand(cast)
    held = refused = 0
    for n, tool in enumerate(SPELLINGS):
        announced = {} if name_fault(tool) else {tool: {}}
        agent.lease = ""
        agent.start(name=f"{kind} {n}", tools=announced)
        agent.take()
        body = {"node": "work", "key": "c#0", "kind": kind, "tool": tool, "args": {}}
        answer = agent.call("POST", "activities/begin/", body)
        if answer.status == 200:
            assert answer.body["do"] == "wait", ascii(tool)
            held += 1
        else:
            assert answer.status in (400, 422), (ascii(tool), answer)
            refused += 1
        assert queries.activities(UUID(agent.thread)) == [], ascii(tool)
    assert held + refused == len(SPELLINGS)
    assert held >= 3
    assert refused >= 5


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_spelling_escapes_a_condition(cast: Cast, condition: str) -> None:
    demand(cast, condition)
    held = [tool for tool in ["charge", *SPELLINGS] if _asks(cast, tool=tool)]
    assert held == ["charge", *SPELLINGS]
    assert not _asks(cast, tool="choose")
    assert not _asks(cast, tool="look_up")


@pytest.mark.parametrize(("field", "name"), [("agent", "Payments"), ("agent", "p\u0430yments")])
def test_agents_that_look_alike_are_held(cast: Cast, field: str, name: str) -> None:
    demand(cast, f"{field} == 'payments' && tool == 'charge'")
    assert _asks(cast, **{field: name})
    assert not _asks(cast, **{field: "repayments"})


def test_a_policy_that_allows_takes_the_name_as_it_is(cast: Cast) -> None:
    draft = Draft("Small", "tool == 'charge'", action="allow")
    policies.make(cast.workspace, draft, actor="user:0")
    demand(cast, "tool.startsWith('c')")
    assert not _asks(cast, tool="charge")
    assert all(_asks(cast, tool=tool) for tool in SPELLINGS)


@pytest.mark.requirement("E02")
@pytest.mark.parametrize("field", ["tool", "agent"])
@pytest.mark.parametrize(
    "name", ["b1ll_pay", "Bill_Pay", "bill_p\u0430y", "\u042cill_pay", "biII_pay"]
)
def test_an_expression_holds_each_word_in_another_spelling(
    cast: Cast, field: str, name: str
) -> None:
    demand(cast, f"{field}.matches('^bill(_[a-z]+)?_pay$')")
    assert _asks(cast, **{field: "bill_pay"})
    assert _asks(cast, **{field: name})
    assert not _asks(cast, **{field: "build_pay"})


@pytest.mark.parametrize("name", ["b1ll_b1ll", "Bill-bi11", "bi\u04cfl_bill"])
def test_each_word_of_a_name_may_be_in_another_spelling(cast: Cast, name: str) -> None:
    demand(cast, "tool.matches('^bill[_-]bill$')")
    assert _asks(cast, tool=name)
    assert not _asks(cast, tool="bill_pay")


def test_an_expression_that_allows_takes_names_as_they_are(cast: Cast) -> None:
    draft = Draft("Reads", "tool.matches('^charge$')", action="allow")
    policies.make(cast.workspace, draft, actor="user:0")
    demand(cast, "true")
    assert not _asks(cast, tool="charge")
    assert all(_asks(cast, tool=tool) for tool in SPELLINGS)


def test_an_expression_that_a_name_must_not_match_asks_as_before(cast: Cast) -> None:
    demand(cast, "!tool.matches('^read_')")
    assert not _asks(cast, tool="read_bill")
    assert all(_asks(cast, tool=tool) for tool in ("Read_bill", "re\u0430d_bill", "charge"))


def test_an_admin_confirms_a_spelling_by_naming_it(cast: Cast) -> None:
    demand(cast)
    assert _asks(cast, tool="Charge")
    draft = Draft("Another", "tool == 'Charge'", action="allow")
    made = policies.make(cast.workspace, draft, actor="user:0")
    policies.move(made.policy, 1, workspace=cast.workspace, actor="user:0")
    assert not _asks(cast, tool="Charge")
    assert _asks(cast, tool="CHARGE")


def test_names_that_are_none_are_not_announced(agent: Agent) -> None:
    for external, path in [
        ({"nodes": ["p\u0430y"]}, "$.external.nodes"),
        ({"nodes": ["pay", "pay"]}, "$.external.nodes"),
        ({"tools": {"pay\u200b": {}}}, "$.external.tools"),
        ({"channels": {" sums": "append"}}, "$.external.channels"),
    ]:
        body = {"agent": agent.agent, "external": external}
        answer = agent.send("POST", "/threads/", body, {})
        assert answer.status in (400, 422), answer
        assert path in str(answer.body)
    answer = agent.send("POST", "/threads/", {"agent": "p\u0430y", "external": {}}, {})
    assert answer.status in (400, 422)
    assert "U+0430" in str(answer.body)


def _asks(cast: Cast, **names: str) -> bool:
    facts = {"agent": "an-agent", "tool": "charge", **names}
    rule = matches.rule_for(Facts(cast.workspace, UUID(int=1), args={}, **facts))
    return rule is not None and rule.action == "ask"


@pytest.mark.requirement("E02")
def test_a_thread_with_such_keys_takes_more_of_them(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.start()
    agent.take()
    with monkeypatch.context() as before_the_rule:
        before_the_rule.setattr(reports, "name_fault", lambda name: "")
        agent.begin("p\u0430y#0")
    agent.settle("p\u0430y#0")
    agent.commit(1, delta={"set": {"n": 1}})
    assert agent.begin("p\u0430y \u0431#0")["do"] == "call"
    other = Agent(agent.send, agent.people, agent.agent)
    other.start()
    other.take()
    body = {"node": "work", "key": "p\u0430y#0", "kind": "effect", "tool": "charge"}
    answer = other.call("POST", "activities/begin/", body)
    assert (answer.status, answer.body["errors"][0]["path"]) == (422, "$.key")


def test_a_fork_of_such_a_thread_goes_on_like_it(
    agent: Agent, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.start()
    agent.take()
    with monkeypatch.context() as before_the_rule:
        before_the_rule.setattr(reports, "name_fault", lambda name: "")
        agent.begin("p\u0430y#0")
    agent.settle("p\u0430y#0")
    agent.commit(1, delta={"set": {"n": 1}})
    operator, thread = cast.actor("operator"), UUID(agent.thread)
    for step in (2, 3):  # the fork of a fork as well
        head = queries.thread(thread, workspace=cast.workspace).head
        thread = fork(operator, thread, head, effects="run")
        forked = Agent(agent.send, agent.people, agent.agent)
        forked.thread = str(thread)
        forked.take()
        assert forked.begin("p\u0430y \u0431#0")["do"] == "call"
        assert forked.settle("p\u0430y \u0431#0")["state"] == "done"
        forked.commit(step, delta={"set": {"n": step}})
