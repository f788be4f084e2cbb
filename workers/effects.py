"""What changes the outside world, and what asks people: effects behind gates, and questions."""

from __future__ import annotations

import uuid as uuids
from collections.abc import Mapping
from typing import Any

from approvals.gates import Proposal, proposal_hash
from approvals.queries import ApprovalRow
from checkpoints import deltas
from checkpoints.records import Position
from checkpoints.verdicts import about_unknown
from checkpoints.views import ActivityRow

from . import unknown
from .advice import TOLD_BYTES, check_effect, check_seconds, storable
from .answers import Answer, Outcome, describe, outcome_of, result_of
from .aside import asking, done_before
from .errors import Expired, GateReached, Parked, Rejected
from .frozen import plain
from .graph import Gate, Tool
from .recording import Recording
from .retrying import again, outcome_is_open, policy_of, wait_with_others


class Effects(Recording):
    """A node's effects and questions in one step."""

    def effect(self, tool: Tool, args: Mapping[str, Any], *, gate: Gate | None = None) -> Outcome:
        """Let a tool change the outside world, after its gate where it has one.

        Exactly the decided arguments are carried out. That it starts is committed before it does;
        a stop in between repeats it with the same key when the tool is idempotent, else the thread
        asks in `attention` what happened. It asks there as well when an effect is recorded with
        other arguments, and behind a gate before it repeats one that a rollback or the base of a
        fork left done. Raises Rejected or Expired when people said no or nothing.
        """
        check_effect(tool, args)
        position = self._position(tool.name)
        given = plain(dict(args))
        storable(given, f"What {tool.name!r} is called with")
        known = self._run.record_at(position)
        approval = self._run.approval_at(position)
        way = None if known is None else unknown.course(self._run, tool, known, given)
        if known is not None and way is unknown.Course.ANSWER:
            return outcome_of(deltas.copied(known.result), approval)
        repeated = known if way is unknown.Course.REPEAT else None
        if repeated is None:
            used = None if known is None else known.approval
            before = done_before(self._run, position, given) if known is None else None
            if before is not None and tool.once and before.state == "done":
                return self._never_again(position, tool, given, before)
            approval = self._allowed(position, tool, given, gate, approval, before, used)
        self._boundary()
        retry = policy_of(tool.retry, self._run.retry)
        wait_with_others(self._run, retry, tool.name)
        activity = self._new(
            position,
            "effect",
            tool.name,
            given,
            id=repeated.id if repeated else None,
            undo=tool.undo.__name__ if tool.undo else "",
            approval=approval.id if approval and approval.outcome == "approve" else None,
            attempts=repeated.attempts + 1 if repeated else 1,
            revision=0 if known is None else known.revision + (repeated is None),
        )
        self._run.ledger.begin_effect(self._run.work, activity, self._run.take_events())
        try:
            with self._inside(activity):
                result = plain(result_of(lambda: tool.call(**given, key=activity.idempotency_key)))
            storable(result, f"What {tool.name!r} returned")
        except MemoryError:
            raise  # it stays started: whether it happened shows when it is looked at again
        except Exception as error:
            sleep = again(self._run, retry, tool.name, activity, error, repeatable=tool.idempotent)
            open_ended = not tool.idempotent and outcome_is_open(error)
            self._run.ledger.end_effect(
                self._run.work,
                activity,
                state="unknown" if open_ended else "failed",
                error=describe(error),
                retry_in=None if sleep is None else sleep.seconds,
            )
            if open_ended:
                raise Parked(
                    f"Whether {tool.name!r} happened is unknown: {describe(error)}, and the tool "
                    "does not promise to be repeatable. Check outside, then say what happened.",
                    about_unknown(activity.id),
                ) from error
            if sleep is not None:
                raise sleep from error
            raise
        self._run.ledger.end_effect(
            self._run.work,
            activity,
            state="done",
            result=result,
            events=self._run.take_events(),
        )
        return outcome_of(deltas.copied(result), approval)

    def _never_again(
        self, position: Position, tool: Tool, given: Any, before: ActivityRow
    ) -> Outcome:
        """The recorded result of a tool that acts once, kept for this position as well."""
        told = {"args": given, "activity": str(before.id), "thread": str(before.thread)}
        kept = self._once(position, "value", tool.name, told, lambda: deltas.copied(before.result))
        return Outcome(kept)

    def _allowed(
        self,
        position: Position,
        tool: Tool,
        given: Any,
        gate: Gate | None,
        approval: ApprovalRow | None,
        before: ActivityRow | None,
        used: uuids.UUID | None,
    ) -> ApprovalRow | None:
        """The approval under which the effect may happen, None where it needs none.

        `before` stayed done on a course that was left, `used` is the approval of the execution
        recorded here: each holds for one.
        """
        work = self._run.work
        elsewhere = before is not None and before.thread != work.thread
        if before is not None and not (elsewhere and work.effects == "run"):
            gate = asking(gate, tool, before, fork=elsewhere)
        elif gate is None and work.effects == "ask":
            gate = Gate(
                f"Let this fork do {tool.name!r}?",
                "A fork stops before what it would do outside, since its base may have done it "
                "too.",
                risk="medium",
            )
        if gate is None:
            return None if approval is None or approval.id == used else approval
        if approval is not None and approval.id == used:
            raise GateReached(self._proposal(position, tool, given, gate, approval))
        self._decided(position, tool, given, gate, approval)
        return approval

    def _decided(
        self,
        position: Position,
        tool: Tool,
        given: Any,
        asked: Gate,
        approval: ApprovalRow | None,
    ) -> None:
        """Return when the effect may happen; otherwise leave the node by the way decided."""
        if approval is None or approval.status == "withdrawn":
            raise GateReached(self._proposal(position, tool, given, asked, approval))
        bound = proposal_hash(
            workspace=self._run.work.workspace,
            thread=self._run.work.thread,
            position=position,
            tool=tool.name,
            args=given,
            agent_version=self._sealed_for(approval),
            policy_version="author",
            deadline=approval.deadline,
        )
        if bound != approval.proposal_hash:
            # What was decided is not what would be done now: ask again.
            raise GateReached(self._proposal(position, tool, given, asked, approval))
        if approval.status == "pending":
            raise GateReached(None)
        if approval.status == "expired":
            raise Expired
        if approval.outcome == "reject":
            raise Rejected(approval.comment, approval.decided_by_name)

    def _sealed_for(self, approval: ApprovalRow) -> uuids.UUID:
        """The agent version that the hash has to name: this one, or one upgraded from.

        An upgrade of the state leaves open requests alone; any other change of code asks again.
        """
        work = self._run.work
        asked_by = approval.agent_version_id
        if asked_by != work.agent_version and asked_by in self._run.ledger.upgraded_from(work):
            return asked_by
        return work.agent_version

    def _proposal(
        self,
        position: Position,
        tool: Tool,
        given: Any,
        gate: Gate,
        former: ApprovalRow | None,
    ) -> Proposal:
        said = {"title": gate.title, "description": gate.description, "reasons": [*gate.reasons]}
        storable(said, f"What the gate before {tool.name!r} says", at_most=TOLD_BYTES)
        check_seconds(gate.expires_in, "A gate's expires_in")
        return Proposal(
            position=position,
            kind="gate",
            tool=tool.name,
            args=given,
            title=gate.title,
            description=gate.description,
            reasons=(*gate.reasons, *self._run.thoughts_of(self._node)),
            risk=gate.risk,
            schema=tool.schema,
            undo=tool.undo.__name__ if tool.undo else "",
            expires_in=gate.expires_in,
            revision=0 if former is None else former.revision + 1,
        )

    def ask(self, question: str, *, schema: dict[str, Any] | None = None, **more: Any) -> Answer:
        """Ask people something that no action follows from; `schema` is the answer's JSON Schema.

        Raises Rejected when they refuse to answer.
        """
        position = self._position("ask")
        approval = self._run.approval_at(position)
        given = {"question": question}
        said = {**given, "schema": schema, **more}
        storable(plain(said), "What this question says", at_most=TOLD_BYTES)
        check_seconds(more.get("expires_in"), "A question's expires_in")
        if approval is None or approval.status == "withdrawn":
            raise GateReached(
                Proposal(
                    position=position,
                    kind="question",
                    tool="",
                    args=given,
                    title=question[:300],
                    schema=schema,
                    revision=0 if approval is None else approval.revision + 1,
                    **more,
                )
            )
        if approval.status == "pending":
            raise GateReached(None)
        if approval.status == "expired":
            raise Expired
        if approval.outcome == "reject":
            raise Rejected(approval.comment, approval.decided_by_name)
        return Answer(approval.decided_args, approval.comment, approval.decided_by_name)
