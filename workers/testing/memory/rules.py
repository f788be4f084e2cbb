"""What people decide, in memory: rules and caps of the play, questions from its log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from approvals.gates import Proposal
from approvals.gates.validity import AskedBack, outlived
from approvals.policies.matches import Facts, PolicyAnswer
from approvals.policies.queries import money
from approvals.policies.reservations import Estimate, Refusal, unpriced, waiting
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms, terms_of
from approvals.states import ALLOWING
from checkpoints.names import is_faulty_key
from checkpoints.records import NewActivity, Position, Work
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from checkpoints.views import ActivityRow
from workers.step.rules import earlier

from . import reads as reading
from .once import Once
from .requests import NOBODY_DUE

TOUCHING: Final = ("edit", "fork")


class Rules(Once):
    """The ledger of one worker in memory: rules, caps and verdicts."""

    def rule(self, work: Work, tool: str, args: Any, risk: str, *, undo: str = "") -> PolicyAnswer:
        if self._tables.policy is None:
            return PolicyAnswer(None)
        rule = self._tables.policy(
            Facts(
                workspace=work.workspace,
                thread=work.thread,
                agent=work.agent,
                tool=tool,
                args=args,
                risk=risk,
                undo=undo,
                cost=self._tables.row(work.thread).cost,
                started_by=work.started_by,
            )
        )
        return PolicyAnswer(rule)

    def node_rule(self, work: Work, node: str) -> PolicyAnswer:
        return PolicyAnswer(None)

    def asks_before_nodes(self, work: Work) -> bool:
        """The policy of a play is asked about effects only."""
        return False

    def asks_of_call(self, work: Work, tool: str, args: Any) -> bool:
        """The policy of a play is asked about effects only."""
        return False

    def may_block(self, work: Work) -> bool:
        """The policy of a play is asked once about each effect."""
        return False

    def has_faulty_keys(self, work: Work) -> bool:
        recorded = self._tables.activities.values()
        return any(is_faulty_key(a.key) for a in recorded if a.thread == work.thread)

    def state_hash(self, work: Work) -> str:
        return self._tables.checkpoint(work.thread, work.head).new.state_hash.hex()

    def done_earlier(self, work: Work, before: ActivityRow) -> dict[str, Any]:
        saved = before.approval and self._tables.approvals.get(before.approval)
        return earlier(before, self._tables.row(before.thread).title, saved or None)

    def terms(self, risk: str) -> Terms | None:
        return None  # in a play a decision counts immediately

    def hands_on(self, work: Work) -> tuple[str, ...]:
        """The actors who started, forked or edited the head's past, in the thread and its bases."""
        checkpoint = self._tables.checkpoint(work.thread, work.head)
        results = {work.started_by}
        while True:
            results.add(self._tables.row(checkpoint.thread).started_by)
            if checkpoint.new.source in TOUCHING:
                results.add(checkpoint.new.created_by)
            if checkpoint.new.parent is None:
                break
            checkpoint = self._tables.checkpoint(
                checkpoint.new.parent_thread or checkpoint.thread, checkpoint.new.parent
            )
        return tuple(sorted({who.split("/")[0] for who in results if who.startswith("user:")}))

    def doubts(self, work: Work, approval: ApprovalRow) -> str:
        """Nobody loses a right in a play; time passes there too."""
        since, valid_for = approval.effective_at, terms_of(approval.terms).valid_for
        late = since is not None and (self._tables.now() - since).total_seconds() > valid_for
        return outlived(approval, valid_for) if late else ""

    def begin_effect(
        self,
        work: Work,
        activity: NewActivity,
        events: Sequence[NewEvent],
        allowed: ApprovalRow | None = None,
        policies: str | None = None,
    ) -> str:
        """Write that it starts; the policies of a play never change."""
        why = ""
        if allowed is not None:
            now = self._tables.approvals[allowed.id]
            is_allowed = now.status == "settled" and now.outcome in ALLOWING
            why = self.doubts(work, allowed) if is_allowed else "Nobody has approved it."
        if not why:
            self._start_effect(work, activity, events)
        return why

    def asked_back(self, work: Work, approval: ApprovalRow) -> list[AskedBack]:
        return [
            AskedBack(UUID(e.data["decision"]), e.data.get("comment", ""), e.data["by_name"])
            for e in reading.events(self._tables, work.thread)
            if e.kind == EventKind.DECISION_RECORDED
            and e.data["approval"] == str(approval.id)
            and e.data.get("verdict") == "respond"
        ]

    def answer(
        self,
        work: Work,
        approval: ApprovalRow,
        activity: NewActivity,
        *,
        result: Any,
        reason: str,
        events: Sequence[NewEvent] = (),
    ) -> bool:
        with self._tables.lock:
            if not self._tables.approvals[approval.id].open:
                return False
            payload = self._withdrawn(work, approval.id, reason)
            self.record(work, activity, result=result, events=[payload, *events])
        return True

    def over_budget(self, work: Work) -> str:
        fork = reading.fork_budget(self._tables, work.thread)
        return "" if fork is None else fork.why_over

    def spend_refusal(self, work: Work) -> str:
        """The fork's own budget, and the one cap of a play: what a thread may cost."""
        if why := self.over_budget(work):
            return why
        cap, spent = self._tables.cap, self._spent(work)
        if cap is None or spent < Decimal(cap):
            return ""
        return f"This thread has spent {spent}, and {cap} is its cap."

    def _tree(self, work: Work) -> set[UUID]:
        root = work.root or work.thread
        return {row.id for row in self._tables.rows.values() if root in (row.id, row.root)}

    def _spent(self, work: Work) -> Decimal:
        rows = [self._tables.row(thread) for thread in self._tree(work)]
        return sum((Decimal(row.cost) for row in rows), Decimal(0))

    def pause_reason(self, work: Work) -> str:
        """No reason: a play is paused without one."""
        return ""

    def reserve(
        self, work: Work, position: Position, most: Callable[[], Estimate]
    ) -> Refusal | None:
        """Reserve what a call may cost under the cap of a play; by the rules of a worker."""
        if self._tables.cap is None:
            return None
        cap, estimate = Decimal(self._tables.cap), most()
        if estimate.unpriced:
            return Refusal(unpriced(estimate, f"a spend cap of {money(cap)}"))
        with self._tables.lock:
            tree, spent, amount = self._tree(work), self._spent(work), estimate.amount
            others = [
                cost
                for (thread, at), cost in self._tables.reserved.items()
                if thread in tree and (thread, at) != (work.thread, position)
            ]
            if spent + amount > cap:
                return Refusal(
                    f"This thread has spent {spent}, and the next call may cost {money(amount)}; "
                    f"{cap} is its cap."
                )
            if spent + amount + sum(others, Decimal(0)) > cap:
                return Refusal(waiting(f"the spend cap of {money(cap)}"), for_others=True)
            self._tables.reserved[work.thread, position] = amount
        return None

    def release(self, work: Work, position: Position) -> None:
        """Drop the reservation of a call that has ended."""
        self._tables.reserved.pop((work.thread, position), None)

    def _withdrawn(self, work: Work, ident: UUID, reason: str) -> NewEvent:
        """Withdraw a request; its event is still to be written."""
        row, now = self._tables.approvals[ident], self._tables.now()
        gone = replace(row, **NOBODY_DUE, status="withdrawn", comment=reason, decided_at=now)
        self._tables.approvals[ident] = gone
        data = {"approval": str(ident), "title": row.title, "reason": reason}
        data["decided_at"] = now.isoformat()
        return NewEvent(EventKind.APPROVAL_WITHDRAWN, data, work.owner)

    def _withdraw_former(self, work: Work, p: Proposal, reason: str) -> list[NewEvent]:
        """Withdraw what is open at the position of a newer request; the events of that."""
        position = (p.position.branch, p.position.step, p.position.node, p.position.key)
        return [
            self._withdrawn(work, a.id, reason)
            for a in list(self._tables.approvals.values())
            if a.thread == work.thread
            and a.open
            and (a.branch, a.step, a.node, a.key) == position
            and a.revision < p.revision
        ]
