"""Agents with gates for tests, and what people do to their requests, on either bench."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

import pytest
from django.db import connection
from uuid_utils.compat import uuid7

from approvals.gates import proposal_hash
from approvals.policies import matches as policy
from approvals.policies import queries as queries_policies
from approvals.policies.matches import Facts, PolicyAnswer, Rule
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms
from checkpoints import store
from checkpoints.records import Position
from checkpoints.state import deltas
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from tests.support.reviewers import reviewer_in
from tests.unit.workers.conftest import Bench
from workers.authoring.errors import Expired, Rejected
from workers.authoring.graph import END, Append, Gate, Graph, State, Tool, tool
from workers.node.context import Context

type AnyBench = Bench
VERSION = "0192f0c4-0000-7000-8000-000000000001@3"
paid: list[tuple[str, str, str]] = []  # (to, amount, key)


class Bill(State):
    to: str = "Ada"
    amount: str = "10.00"
    asks: bool = True  # whether the author wrote a gate
    fails: int = 0
    expires: float | None = None
    notes: Annotated[list[str], Append()] = []
    outcome: str = ""


graph = Graph("bills", Bill)
failures: list[int] = [0]


@tool("bill.pay", idempotent=True)
def pay(to: str, amount: str, *, key: str) -> str:
    """Send money."""
    if failures[0]:
        failures[0] -= 1
        raise ValueError("the bank says no")
    paid.append((to, amount, key))
    return f"paid {amount} to {to}"


def summary(question: str, args: Any) -> str:
    """The agent's answer to what is asked back."""
    if question == "fail":
        raise ValueError("no idea")
    return f"{question} Because of {args['amount']}."


@graph.node(then=END, on_expired="remind")
def settle(state: Bill, ctx: Context) -> dict[str, Any]:
    gate = Gate("Pay the bill?", "It is due.", risk="low", expires_in=state.expires, answer=summary)
    try:
        done = ctx.effect(
            pay, {"to": state.to, "amount": state.amount}, gate=gate if state.asks else None
        )
    except Rejected as no:
        return {"outcome": f"{no.by} said no: {no.comment} ({no.what_next})"}
    return {"outcome": f"{done.result}; {done.args['amount']}; {done.comment}"}


@graph.node(then=END)
def remind(state: Bill, ctx: Context) -> dict[str, Any]:
    return {"outcome": "nobody looked at it"}


TOOLS: dict[str, Tool] = {pay.name: pay}


def caught(state: Bill, ctx: Context) -> dict[str, Any]:
    """A node that goes its own way when nobody decided."""
    try:
        ctx.ask("Now?", expires_in=state.expires)
    except Expired:
        return {"outcome": "too late"}
    return {"outcome": "in time"}


def rules(
    bench: AnyBench, monkeypatch: pytest.MonkeyPatch, say: Callable[[Facts], Rule | None]
) -> list[Facts]:
    """Let the policies say this; the facts that they were asked about."""
    factses: list[Facts] = []

    def rule_for(facts: Facts) -> Rule | None:
        factses.append(facts)
        return say(facts)

    def ask(facts: Facts) -> PolicyAnswer:
        return PolicyAnswer(rule_for(facts), queries_policies.mark_of(()))

    monkeypatch.setattr(policy, "ask", ask)
    return factses


def asking(**more: Any) -> Rule:
    """A rule that asks."""
    terms = Terms(rule="All payments are looked at.", **more.pop("terms", {}))
    return Rule("ask", VERSION, "payments", terms, **more)


def requests(bench: AnyBench, thread: UUID) -> list[ApprovalRow]:
    """All of a thread's, oldest first."""
    return sorted(bench.approvals(thread), key=lambda a: a.requested_at)


def decided(
    bench: AnyBench, thread: UUID, row: ApprovalRow, *, args: Any = None, **columns: Any
) -> None:
    """Write a settled decision as the gates do, whatever of them there is, and wake the thread.

    With `args` it is an edit.
    """
    value: dict[str, Any] = {"status": "settled", "outcome": "approve", "comment": ""}
    value |= {"decided_by": "user:2", "decided_by_name": "manager"}
    if args is not None:
        hashed = proposal_hash(
            workspace=row.workspace,
            thread=row.thread,
            position=Position(row.branch, row.step, row.node, row.index, row.key),
            tool=row.tool,
            args=args,
            agent_version=row.agent_version_id,
            policy_version=row.policy_version,
            deadline=row.deadline,
        )
        value |= {"outcome": "edit", "decided_args": args, "standing_args": args}
        value |= {"standing_hash": hashed}
    value |= {"due_seats": [], "due_except": []} | columns
    reviewer_in(row.workspace)
    as_json = {"decided_args", "standing_args"}
    sets = ", ".join(f"{n} = %s::jsonb" if n in as_json else f"{n} = %s" for n in value)
    values = [deltas.canonical(v).decode() if n in as_json else v for n, v in value.items()]
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE gp_approval SET {sets}, decided_at = clock_timestamp(), "
            "effective_at = clock_timestamp() WHERE id = %s",
            [*values, row.id],
        )
    news(bench, thread, NewEvent(EventKind.APPROVAL_SETTLED, {"approval": str(row.id)}, "sweep"))


def news(bench: AnyBench, thread: UUID, event: NewEvent) -> None:
    """Wake a thread, as every decision does."""
    store.wake(thread, event=event)


def ask_back(bench: AnyBench, thread: UUID, row: ApprovalRow, text: str) -> UUID:
    """A reviewer asks the agent something; the id of that decision."""
    ident = uuid7()
    data = {"approval": str(row.id), "decision": str(ident), "verdict": "respond"}
    data |= {"comment": text, "by_name": "manager", "title": row.title}
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_decision (id, workspace_id, approval_id, reviewer, reviewer_name, "
            "verdict, proposal_hash, comment, salt, hash) VALUES (%s, %s, %s, 'user:2', "
            "'manager', 'respond', %s, %s, ''::bytea, ''::bytea)",
            (ident, row.workspace, row.id, row.proposal_hash, text),
        )
    news(bench, thread, NewEvent(EventKind.DECISION_RECORDED, data, "user:2"))
    return ident


def age(approval: UUID, seconds: float) -> None:
    """Let a decision of the real store be older than it is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_approval SET effective_at = effective_at - make_interval(secs => %s) "
            "WHERE id = %s",
            (seconds, approval),
        )


def told_in(bench: AnyBench, thread: UUID, kind: EventKind) -> list[dict[str, Any]]:
    """What the events of a kind say."""
    return [e.data for e in bench.events(thread) if e.kind == kind]
