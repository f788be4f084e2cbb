"""Policies: which one decides, what a condition may be, versions, and spend caps."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError, connection, transaction
from uuid_utils.compat import uuid7

from approvals import queries
from approvals.gates import reopened_requests
from approvals.policies import caps, conditions
from approvals.policies import changes as policies
from approvals.policies import queries as queries_policies
from approvals.policies.drafts import Draft
from approvals.policies.matches import Facts, rule_for
from approvals.rules.terms import Seat, Terms
from checkpoints import queries as threads
from checkpoints import store
from checkpoints.chain import verify_workspace
from checkpoints.errors import InvalidValue, NotFound, StaleVersion
from checkpoints.states import Status
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
ADMIN = "user:9"


def draft(condition: str = "true", name: str = "All", **more: Any) -> Draft:
    return Draft(name=name, condition=condition, **more)


def made(cast: Cast, condition: str = "true", name: str = "All", **more: Any) -> Any:
    return policies.make(cast.workspace, draft(condition, name, **more), actor=ADMIN)


def facts(cast: Cast, **more: Any) -> Facts:
    values: dict[str, Any] = {
        "workspace": cast.workspace,
        "thread": uuid4(),
        "agent": "payments",
        "tool": "pay",
        "args": {"total": "48200.00", "lines": [{"net": "0.10"}, {"net": "0.20"}]},
    }
    return Facts(**(values | more))


# --- conditions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("amount(args.total) > 1000", True),
        ("amount(args.total) >= 48200.00", True),
        ("amount(args.total) > 48200.00", False),
        ("total([args.total, '0.01']) == 48200.01", True),
        ("args.lines.exists(l, amount(l.net) > 0.15)", True),
        ("args.lines.filter(l, amount(l.net) > 0.15).size() == 1", True),
        ("tool == 'pay' && agent.startsWith('pay')", True),
        ("lower('PAY') == tool", True),
        ("has(args.iban) && args.iban.matches('^LT')", False),
        ("cost > 5", False),
        ("risk == 'high' || labels.team == 'x'", None),
        ("args.nothing == 1", None),
        ("amount(tool) > 1", None),
        ("args.total > 5", None),
        ("args.lines[7].net == '1'", None),
        ("tool.matches('(')", None),
        ("amount('1234567890123456.7') > 1", None),
    ],
)
def test_a_condition_is_true_false_or_has_no_answer(
    cast: Cast, text: str, holds: bool | None
) -> None:
    from approvals.policies.matches import values_of

    condition = conditions.condition(text)
    if holds is None:
        with pytest.raises(conditions.Unanswered):
            condition.holds(values_of(facts(cast)))
    else:
        assert condition.holds(values_of(facts(cast))) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a" * 2_001, "longer than 2,000"),
        ("arg.total > 1", "knows no 'arg'"),
        ("node == 'pay' && tool == 'pay'", "names a node and 'tool'"),
        ("node == 'pay' || args.total == '1'", "names a node and 'args'"),
        ("operation == 'fork' && node == 'pay'", "names a node and 'operation'"),
        ("open('/etc/passwd')", "knows no function 'open'"),
        ("args.a.map(x, x) == []", "knows no function 'map'"),
        ("args.a.all(x, args.b.all(y, x == y))", "inside of another list macro"),
        ("args.a.all(x, x.matches('a'))", "inside of another list macro"),
        ("1 +", "cannot be read"),
        ("'a", "a text has no closing quote"),
        ("(" * 40 + "true" + ")" * 40, "nested deeper"),
        ("size(args.a" + "+ args.a" * 11 + ") > 1", "adds more than 10"),
        ("cost", "must be true or false"),
        ("1", "must be true or false"),
    ],
)
def test_what_cannot_be_bounded_or_read_is_refused_with_its_path(text: str, message: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        conditions.condition(text)
    assert refused.value.path == "condition"
    assert message in refused.value.reason


def test_a_list_macro_looks_at_bounded_data_only(cast: Cast) -> None:
    from approvals.policies.matches import values_of

    condition = conditions.condition("args.l.all(x, x > 0)")
    assert condition.holds(values_of(facts(cast, args={"l": [1] * 400})))
    with pytest.raises(conditions.Unanswered, match="too large"):
        condition.holds(values_of(facts(cast, args={"l": [1] * 1_000})))


# --- which policy decides -------------------------------------------------------------------------


def test_the_first_active_policy_by_position_that_matches_decides(cast: Cast) -> None:
    assert rule_for(facts(cast)) is None
    large = made(cast, "amount(args.total) > 1000", "Large", note="large sums need two")
    small = made(cast, "amount(args.total) <= 1000", "Small", action="allow")
    rest = made(cast, "true", "Rest", deadline=3600, risk="high", title="Look at it")
    result = rule_for(facts(cast))
    assert result is not None
    assert (result.version, result.action) == (f"{large.policy}@1", "ask")
    assert result.terms.rule == "The policy “Large” asks for it: large sums need two."
    result = rule_for(facts(cast, args={"total": "12.00"}))
    assert result is not None
    assert (result.version, result.action) == (f"{small.policy}@1", "allow")
    policies.move(rest.policy, 1, workspace=cast.workspace, actor=ADMIN)
    result = rule_for(facts(cast))
    assert result is not None
    assert (result.name, result.expires_in, result.risk, result.title) == (
        "Rest",
        3600,
        "high",
        "Look at it",
    )
    policies.switch(rest.policy, False, workspace=cast.workspace, actor=ADMIN)
    result = rule_for(facts(cast))
    assert result is not None
    assert result.name == "Large"
    assert rule_for(facts(cast, workspace=cast.elsewhere)) is None


def test_a_condition_without_an_answer_fails_closed(cast: Cast) -> None:
    made(cast, "amount(args.price) < 50", "Cheap", action="allow")
    assert rule_for(facts(cast)) is None
    asks = made(cast, "amount(args.price) > 50", "Dear")
    result = rule_for(facts(cast))
    assert result is not None
    assert result.version == f"{asks.policy}@1"
    assert "has no answer here" in result.terms.rule
    assert "price" in result.terms.rule


def test_what_is_about_people_and_what_is_about_effects_never_mix(cast: Cast) -> None:
    made(cast, "amount(args.total) > 1", "Effects")
    query = {"tool": "fork", "args": {}, "operation": "fork"}
    assert rule_for(facts(cast, **query)) is None
    made(cast, "operation == 'fork'", "Forks")
    result = rule_for(facts(cast, **query))
    assert result is not None
    assert result.name == "Forks"
    result = rule_for(facts(cast))
    assert result is not None
    assert result.name == "Effects"


def test_the_active_policies_are_one_query_and_never_stale(
    cast: Cast, django_assert_num_queries: Any
) -> None:
    first = made(cast, "tool == 'pay'", "One")
    made(cast, "tool == 'mail'", "Two")
    with django_assert_num_queries(1):
        assert rule_for(facts(cast)) is not None
    policies.change(
        first.policy, draft("tool == 'x'", "One"), workspace=cast.workspace, seen=1, actor=ADMIN
    )
    with django_assert_num_queries(1):
        assert rule_for(facts(cast)) is None


# --- versions -------------------------------------------------------------------------------------


def test_a_change_is_a_new_version_and_each_is_logged(cast: Cast) -> None:
    one = made(cast, "tool == 'pay'", "Pay")
    where: dict[str, Any] = {"workspace": cast.workspace, "actor": ADMIN}
    two = policies.change(one.policy, draft("true", "Pay", note="all"), seen=1, **where)
    assert (two.number, two.condition) == (2, "true")
    assert policies.change(one.policy, draft("true", "Pay", note="all"), seen=2, **where) == two
    with pytest.raises(StaleVersion):
        policies.change(one.policy, draft("false", "Pay"), seen=1, **where)
    with pytest.raises(NotFound):
        policies.change(
            one.policy, draft("false", "Pay"), seen=2, workspace=cast.elsewhere, actor=ADMIN
        )
    versions = queries_policies.versions(one.policy, workspace=cast.workspace)
    assert [(v.number, v.condition) for v in versions] == [(2, "true"), (1, "tool == 'pay'")]
    policies.switch(one.policy, False, **where)
    assert not policies.switch(one.policy, False, **where)
    policies.set_cap(cast.workspace, scope="thread", per="total", max_cost="5", actor=ADMIN)
    messages = [e.kind for e in threads.workspace_events(cast.workspace, limit=4).rows]
    assert messages == ["cap.changed", "policy.switched", "policy.changed", "policy.made"]
    assert verify_workspace(cast.workspace).intact


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE gp_policy_version SET condition = 'false'",
        "DELETE FROM gp_policy_version",
        "TRUNCATE gp_policy_version",
        "DELETE FROM gp_policy",
        "TRUNCATE gp_carried_out",
    ],
)
def test_the_database_keeps_what_was_in_force(cast: Cast, sql: str) -> None:
    made(cast)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"name": " "}, "name"),
        ({"condition": "x > 1"}, "condition"),
        ({"deadline": 0}, "deadline"),
        ({"risk": "huge"}, "risk"),
        ({"terms": Terms(stages=())}, "terms.stages"),
        ({"terms": Terms(stages=(Seat(count=0),))}, "terms.stages[0].count"),
        ({"terms": Terms(stages=(Seat(people=("a",), count=2),))}, "terms.stages[0].count"),
        ({"terms": Terms(undo_window=-1)}, "terms.undo_window"),
        ({"terms": Terms(undo_window=float("nan"))}, "terms.undo_window"),
        ({"terms": Terms(on_expiry="reject")}, "terms.on_expiry"),
        ({"terms": Terms(on_expiry="escalate"), "deadline": 60}, "terms.escalate_to"),
        ({"terms": Terms(escalate_to=Seat(count=1))}, "terms.escalate_to"),
        ({"terms": Terms(escalate_for=60)}, "terms.escalate_for"),
        ({"terms": Terms(reminders=(90,)), "deadline": 60}, "terms.reminders[0]"),
        ({"terms": Terms(reminders=(30, 20)), "deadline": 60}, "terms.reminders[1]"),
        (
            {"condition": "operation == 'fork'", "terms": Terms(undo_window=5)},
            "terms.undo_window",
        ),
    ],
)
def test_a_draft_that_cannot_stand_is_refused_with_the_path(
    cast: Cast, more: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        policies.make(
            cast.workspace, Draft(**({"name": "A", "condition": "true"} | more)), actor=ADMIN
        )
    assert refused.value.path == path
    assert queries_policies.policies(cast.workspace) == []


# --- waiting requests -----------------------------------------------------------------------------


def test_waiting_requests_of_older_versions_are_withdrawn_and_their_threads_woken(
    cast: Cast,
) -> None:
    one = made(cast, "true", "One")
    agent = scene.make_agent()
    old = scene.waiting(cast.workspace, agent, policy_version=one.label)
    other = scene.waiting(cast.workspace, agent)
    two = policies.change(
        one.policy, draft("tool == 'x'", "One"), workspace=cast.workspace, seen=1, actor=ADMIN
    )
    new = scene.waiting(cast.workspace, agent, policy_version=two.label)
    assert queries_policies.waiting(one.policy, workspace=cast.workspace) == 2
    n = reopened_requests.withdraw_of_policy(
        one.policy, two.label, workspace=cast.workspace, reason="changed", actor=ADMIN
    )
    assert n == 1
    results = [queries.approval(r.id, workspace=cast.workspace) for r in (old, other, new)]
    assert [row.status for row in results] == ["withdrawn", "pending", "pending"]
    assert results[0].comment == "changed"
    assert threads.thread(old.thread, workspace=cast.workspace).status == Status.QUEUED
    assert threads.thread(new.thread, workspace=cast.workspace).status == Status.WAITING


# --- spend caps -----------------------------------------------------------------------------------


def spent(work: Any, cost: str, ident: UUID | None = None) -> None:
    """A recorded model call of this cost."""
    from checkpoints.records import NewActivity, Position

    done = NewActivity(
        id=ident or uuid7(),
        position=Position(work.branch, work.step + 1, "analyse", 0, f"model:{uuid4()}"),
        kind="model",
        tool="model",
        args={},
        idempotency_key=uuid4().hex,
    )
    store.record_activity(work, done, result="said", usage={"tokens": 3, "cost": cost})


def cap(cast: Cast, scope: str, per: str, most: str, agent: str = "", active: bool = True) -> None:
    policies.set_cap(
        cast.workspace,
        scope=scope,
        per=per,
        max_cost=most,
        agent=agent,
        active=active,
        actor=ADMIN,
    )


def test_caps_count_recorded_cost_of_thread_agent_and_workspace(cast: Cast) -> None:
    agent, other = scene.make_agent(), scene.make_agent("reader")
    one, two, strange = (scene.lease(scene.start(cast.workspace, a)) for a in (agent, agent, other))
    spent(one, "1.50")
    spent(two, "2.25")
    spent(strange, "0.25")

    def refusal(work: Any = one, name: str = "research") -> str:
        return caps.spend_refusal(workspace=cast.workspace, thread=work.thread, agent=name)

    assert refusal() == ""
    for per in ("total", "day"):
        cap(cast, "thread", per, "1.51")
        assert refusal() == ""
        cap(cast, "thread", per, "1.5")
        assert refusal().startswith("This thread has spent 1.50")
        assert "the spend cap is 1.50" in refusal()
        assert refusal(two) != ""
        assert refusal(strange, "reader") == ""
        cap(cast, "thread", per, "1.5", active=False)
        cap(cast, "agent", per, "3.75", agent="research")
        assert refusal().startswith("All threads of research together have spent 3.75")
        assert refusal(strange, "reader") == ""
        cap(cast, "agent", per, "3.75", agent="research", active=False)
        cap(cast, "workspace", per, "4.00")
        assert refusal(strange, "reader").startswith("All threads of the workspace together")
        assert (
            caps.spend_refusal(workspace=cast.elsewhere, thread=one.thread, agent="research") == ""
        )
        cap(cast, "workspace", per, "4.000001")
        assert refusal() == ""
        cap(cast, "workspace", per, "4.00", active=False)


def test_a_day_forgets_what_was_spent_before(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    spent(work, "5")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE gp_activity SET finished_at = finished_at - interval '1 day'")
    cap(cast, "thread", "day", "1")
    assert caps.spend_refusal(workspace=cast.workspace, thread=work.thread, agent="research") == ""
    cap(cast, "thread", "total", "1")
    assert caps.spend_refusal(workspace=cast.workspace, thread=work.thread, agent="research") != ""


@pytest.mark.parametrize("days", [-400, -3, 0, 3, 400])
def test_a_day_is_one_of_the_database_whatever_a_worker_believes(cast: Cast, days: int) -> None:
    """Ids of activities begin with the clock of the worker that made them."""
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    made_at = time.time_ns() // 1_000_000 + days * 86_400_000
    spent(work, "5", UUID(int=made_at << 80 | uuid7().int & (1 << 80) - 1))
    for scope, agent in (("thread", ""), ("agent", "research"), ("workspace", "")):
        cap(cast, scope, "day", "5", agent)
        assert caps.spend_refusal(workspace=cast.workspace, thread=work.thread, agent="research")
        cap(cast, scope, "day", "5", agent, active=False)


def test_what_a_day_cost_is_read_by_its_index(cast: Cast) -> None:
    params = {"workspace": cast.workspace, "thread": uuid4(), "agent": "research"}
    with connection.cursor() as cursor:
        # An empty table is read whole; the question is whether the index fits.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN " + caps._SPENT["workspace", "day"], params)
        assert "gp_activity_usage" in str(cursor.fetchall())


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"scope": "world"}, "scope"),
        ({"per": "week"}, "per"),
        ({"max_cost": "much"}, "max_cost"),
        ({"max_cost": "NaN"}, "max_cost"),
        ({"max_cost": "-1"}, "max_cost"),
        ({"max_cost": "1.0000001"}, "max_cost"),
        ({"scope": "workspace", "agent": "x"}, "agent"),
    ],
)
def test_a_cap_that_cannot_stand_is_refused(cast: Cast, more: dict[str, Any], path: str) -> None:
    values = {"scope": "thread", "per": "day", "max_cost": "1"} | more
    with pytest.raises(InvalidValue) as refused:
        policies.set_cap(cast.workspace, actor=ADMIN, **values)
    assert refused.value.path == path
