"""What the engine asks the floor of approvals: policies, terms, doubts, questions, caps."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings

from approvals import caps, policy, standing
from approvals.gates import replying
from approvals.queries import ApprovalRow
from approvals.terms import Terms
from checkpoints import queries
from checkpoints.records import NewActivity, Work

# Why an effect did not start: not a sentence for people, who are told what is stricter.
POLICIES_CHANGED = "policies changed"
RISKS = ("low", "medium", "high")
# So many seconds old the caps that came with the lease may be when something is to cost.
AT_ONCE = 0.5
NO_CAPS: tuple[float, list[tuple[Any, ...]] | None] = (0.0, None)


class Rules:
    """The part of the database's ledger that is about people's say."""

    _caps = NO_CAPS

    def rule(self, work: Work, tool: str, args: Any, risk: str) -> policy.PolicyAnswer:
        """What the policies of the workspace say of this action now."""
        row = queries.thread(work.thread, workspace=work.workspace)
        return policy.ask(
            policy.Facts(
                workspace=work.workspace,
                thread=work.thread,
                agent=work.agent,
                tool=tool,
                args=args,
                risk=risk,
                cost=str(row.cost),
                labels=dict(row.labels),
                started_by=work.started_by,
            )
        )

    def terms(self, risk: str) -> Terms | None:
        """The terms of an author's gate: one reviewer, who can take it back for a while."""
        window = dict(zip(RISKS, settings.GATEPOST_UNDO_WINDOWS, strict=True)).get(risk, 0)
        return Terms(undo_window=window) if window else None

    def hands_on(self, work: Work) -> tuple[str, ...]:
        """Whom four eyes keep out: who started, forked or edited what led here."""
        return queries.hands_on(work.thread, work.head)

    def doubts(self, work: Work, approval: ApprovalRow) -> str:
        """Why what was decided may not happen any more; empty while it may."""
        return standing.doubts(approval)

    def asked_back(self, work: Work, approval: ApprovalRow) -> list[standing.AskedBack]:
        """What reviewers asked instead of deciding, oldest first."""
        return standing.asked_back(approval.id)

    def answer(self, work: Work, approval: ApprovalRow, activity: NewActivity, **more: Any) -> bool:
        """Take a reviewer's text as the answer to an open request; False when it was decided."""
        return replying.answer(work, approval, activity, **more)

    def caps_came(self, rows: list[tuple[Any, ...]]) -> None:
        """Caps that were asked for along with something else, just now."""
        self._caps = (time.monotonic() + AT_ONCE, rows)

    def over(self, work: Work) -> str:
        """Why nothing more may be spent now; empty while every cap leaves room."""
        until, rows = self._caps
        self._caps = NO_CAPS
        fresh = rows if time.monotonic() < until else None
        return caps.over(workspace=work.workspace, thread=work.thread, agent=work.agent, rows=fresh)
