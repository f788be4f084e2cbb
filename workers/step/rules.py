"""What the engine asks the floor of approvals: policies, terms, doubts, questions, caps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from approvals import queries as approval_queries
from approvals.gates import replies, validity
from approvals.gates.verdict.judgement import window_by_risk
from approvals.policies import caps, node_policies, reservations
from approvals.policies import matches as policy
from approvals.policies.reservations import Estimate, Refusal
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms
from checkpoints import queries
from checkpoints.queries.installation.fleet import announced_tool
from checkpoints.queries.overview.fork_budgets import fork_budget
from checkpoints.records import NewActivity, Position, Work
from checkpoints.state import deltas, marked
from checkpoints.views import ActivityRow

# Why an effect did not start: not a sentence for people, who get what is stricter.
POLICIES_CHANGED = "policies changed"
EARLIER_SHOWN = 2_000  # characters of arguments and result that a request to do it again carries
# Seconds: so old the caps that came with the lease may be when something is to cost.
AT_ONCE = 0.5
NO_CAPS: tuple[float, list[tuple[Any, ...]] | None] = (0.0, None)


class Rules:
    """The part of the database's ledger that is about people's say."""

    _caps = NO_CAPS
    has_no_budget = False

    def rule(
        self, work: Work, tool: str, args: Any, risk: str, *, undo: str = ""
    ) -> policy.PolicyAnswer:
        """The policies' decision on this action now; `undo` names what undoes it."""
        return policy.ask(_facts(work, tool=tool, args=args, risk=risk, undo=undo))

    def node_rule(self, work: Work, node: str) -> policy.PolicyAnswer:
        """Ask the policies of the workspace about a node that the thread comes to."""
        return policy.ask(_facts(work, tool="", args={}, node=node))

    def asks_before_nodes(self, work: Work) -> bool:
        """Return whether a policy may name nodes, by one query a second at most."""
        return node_policies.exist(work.workspace)

    def asks_of_call(self, work: Work, tool: str, args: Any) -> bool:
        """Return whether policies hold a call that its author does not record as an effect.

        Without an active policy one query a second at most.
        """
        if not node_policies.any_exist(work.workspace):
            return False
        declared = bool((announced_tool(work.agent_version, tool) or {}).get("effect"))
        return policy.asks_of_call(_facts(work, tool=tool, args=args), declared=declared)

    def may_block(self, work: Work) -> bool:
        """Return whether a policy may block, by one query a second at most."""
        return node_policies.any_block(work.workspace)

    def has_faulty_keys(self, work: Work) -> bool:
        """Say whether the thread's record has keys of before the rule about names."""
        return queries.has_faulty_keys(work.thread)

    def state_hash(self, work: Work) -> str:
        """The hash of the state at the head."""
        return queries.checkpoint(work.thread, work.head).state_hash

    def done_earlier(self, work: Work, before: ActivityRow) -> dict[str, Any]:
        """Describe the earlier effect for a request to do it again."""
        approval = None
        if before.approval is not None:
            result = approval_queries.by_id([before.approval], workspace=work.workspace)
            approval = result.get(before.approval)
        title = queries.thread(before.thread, workspace=work.workspace).title
        return earlier(before, title, approval)

    def terms(self, risk: str) -> Terms | None:
        """The terms of an author's gate: one reviewer, who can take it back for a while."""
        window = window_by_risk(risk)
        return Terms(undo_window=window) if window else None

    def hands_on(self, work: Work) -> tuple[str, ...]:
        """Whom four eyes keep out: who started, forked or edited what led here, parents as well."""
        hands = set(queries.hands_on(work.thread, work.head))
        for parent in queries.parents(work.thread) if work.parent else ():
            row = queries.thread(UUID(parent["thread"]), workspace=work.workspace)
            hands.update(queries.hands_on(row.id, row.head))
        return tuple(sorted(hands))

    def doubts(self, work: Work, approval: ApprovalRow) -> str:
        """Explain why an approved action may no longer happen; empty while it may."""
        return validity.doubts(approval)

    def asked_back(self, work: Work, approval: ApprovalRow) -> list[validity.AskedBack]:
        """List the questions that reviewers asked instead of deciding, oldest first."""
        return validity.asked_back(approval.id)

    def answer(self, work: Work, approval: ApprovalRow, activity: NewActivity, **more: Any) -> bool:
        """Take a reviewer's text as the answer to an open request; False when it was decided."""
        return replies.answer(work, approval, activity, **more)

    def caps_came(self, rows: list[tuple[Any, ...]]) -> None:
        """Caps that were asked for along with something else, just now."""
        self._caps = (time.monotonic() + AT_ONCE, rows)

    def over_budget(self, work: Work) -> str:
        """Say why a fork is over its own budget; empty while there is room, and for other threads.

        A fork without one is asked about it once per lease.
        """
        if work.base is None or self.has_no_budget:
            return ""
        fork = fork_budget(work.thread)
        self.has_no_budget = fork is None
        return "" if fork is None else fork.why_over

    def spend_refusal(self, work: Work) -> str:
        """Reason that nothing more may be spent; empty while budget and caps leave room."""
        if why := self.over_budget(work):
            return why
        until, rows = self._caps
        self._caps = NO_CAPS
        fresh = rows if time.monotonic() < until else None
        return caps.spend_refusal(
            workspace=work.workspace, thread=work.thread, agent=work.agent, rows=fresh
        )

    def reserve(
        self, work: Work, position: Position, most: Callable[[], Estimate]
    ) -> Refusal | None:
        """Reserve what a call may cost under caps and budgets; why not, None where it may begin."""
        return reservations.reserve(work, position, most)

    def release(self, work: Work, position: Position) -> None:
        """Drop the reservation of a call that has ended."""
        reservations.release(work, position)


def _facts(work: Work, **more: Any) -> policy.Facts:
    row = queries.thread(work.thread, workspace=work.workspace)
    return policy.Facts(
        workspace=work.workspace,
        thread=work.thread,
        agent=work.agent,
        cost=str(row.cost),
        labels=dict(row.labels),
        started_by=work.started_by,
        elsewhere=row.external is not None,
        **more,
    )


def earlier(before: ActivityRow, title: str, approval: ApprovalRow | None) -> dict[str, Any]:
    """An effect that was done before, as a request to do it again carries it."""
    return {
        "activity": str(before.id),
        "thread": str(before.thread),
        "title": title,
        "at": (before.finished_at or before.started_at).isoformat(),
        "state": before.state,
        "args": _short(before.args),
        "result": _short(before.result) if before.state == "done" else "",
        "approval": None if approval is None else str(approval.id),
        "approved_by": "" if approval is None else approval.decided_by_name,
    }


def _short(value: Any) -> str:
    text = deltas.canonical(marked.shown(value)).decode()
    return text if len(text) <= EARLIER_SHOWN else f"{text[: EARLIER_SHOWN - 1]}…"
