"""Gates: what stops a node for people, on whose terms, and what is checked again after them.

An author's gate or a policy opens a request. Before what was decided happens it is all compared
again, in the step that carries it out: whatever differs, nothing happens and people are asked anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn
from uuid import UUID

from approvals.gates import Proposal, proposal_hash
from approvals.gates.replies import replied
from approvals.policies.matches import PolicyAnswer, Rule
from approvals.policies.strictness import Demand, given_under, stricter
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms, terms_of
from approvals.rules.verdicts import REPEAT, silent
from approvals.states import ALLOWING, DECIDED, GO_ON, UNSETTLED
from checkpoints.errors import ConcurrentModificationError
from checkpoints.records import NewActivity, Position
from checkpoints.state import deltas
from checkpoints.state.schema_texts import with_order
from checkpoints.unseen import plain
from checkpoints.views import ActivityRow

from ..authoring.errors import Expired, GateReached, Halted, Rejected, StepFailed
from ..authoring.graph import Gate
from ..step.advice import EVENT_BYTES, check_gate, storable
from ..step.answers import describe, result_of
from ..step.rules import POLICIES_CHANGED
from ..step.secret_values import refuse_secrets
from .records import Recording

AUTHOR = "author"
AGAIN = "Asked again: "
BLOCKED = "a policy blocks it now."
EDIT_BLOCKED = "a policy blocks what reviewers made of it."
NOT_DESCRIBED = "The tool does not say in a sentence what it would do:"
WHY_MAX = 300
NO_ANSWER = "This agent answers no questions. Decide on what is shown, or say what is missing."


@dataclass(frozen=True, slots=True)
class Act:
    """An action at a position, as people are shown it; `undo` names the tool that undoes it.

    `repeats` is what was done before, where it would be done again: always of high risk.
    `sentence` is the tool's description of the call; empty without one, and then `undescribed` says
    why where there should be one.
    """

    position: Position
    tool: str
    args: Any
    schema: Any = None
    undo: str = ""
    repeats: Mapping[str, Any] | None = None
    sentence: str = ""
    undescribed: str = ""


class Gates(Recording):
    """A node's requests in one step."""

    def _permit(
        self, act: Act, gate: Gate | None, used: UUID | None, *, strict: bool = False
    ) -> tuple[ApprovalRow | None, str]:
        """(the approval under which it may happen, the policies that were asked).

        No approval where nobody has to be asked.
        `used` is the approval of the execution recorded here, which holds for that one only.
        With `strict` no policy can let it happen without people.
        """
        approval = self._step.approval_at(act.position)
        current = approval is not None and approval.status != "withdrawn" and approval.id != used
        if approval is not None and current and (gate or approval.policy_version != AUTHOR):
            self._decided(act, gate, approval, strict=strict)
            return approval, policies_of(approval)
        answer = self._rule(act, gate, strict=strict)
        if gate is None and answer.rule is None:
            return None, answer.policies
        raise GateReached(self._proposal(act, gate, answer, approval))

    def _decided(
        self, act: Act, gate: Gate | None, approval: ApprovalRow, *, strict: bool = False
    ) -> None:
        """Return when people said that exactly this may happen; else leave the node as decided.

        Whether they may still say so is looked at when it happens.
        """
        if why := self._changed(act, approval):
            self._ask_again(act, gate, approval, why, strict=strict)
        if approval.status == "pending":
            self._reply(gate, approval)
        settled(approval)

    def _ask_again(
        self,
        act: Act,
        gate: Gate | None,
        former: ApprovalRow | None,
        why: str,
        *,
        strict: bool,
        answer: PolicyAnswer | None = None,
    ) -> NoReturn:
        """Leave the node for a new request, since `former` does not hold.

        `answer` is what the policies say, where they were asked already.
        """
        answer = answer or self._rule(act, gate, strict=strict)
        raise GateReached(self._proposal(act, gate, answer, former, why))

    def _start(
        self,
        act: Act,
        gate: Gate | None,
        activity: NewActivity,
        allowed: ApprovalRow | None,
        policies: str | None,
        *,
        strict: bool,
    ) -> None:
        """Commit that an effect starts, under the rights and policies of that very moment.

        `policies` are those that were asked; None for an effect that had started before. Where
        others are active now they are asked of exactly what would be done: what they demand beyond
        what was approved is asked anew, anything looser changes nothing. One that blocks is asked
        in any case: the thread's cost and labels may be others than when people were asked.
        """
        step = self._step
        if allowed is not None and policies is not None and step.ledger.may_block(step.work):
            now = self._rule(replace(act, args=activity.args), gate, strict=strict)
            if self._demanded(act, gate, now.rule).blocks:
                why = EDIT_BLOCKED if allowed.outcome == "edit" else BLOCKED
                former = step.approval_at(act.position)
                self._ask_again(act, gate, former, why, strict=strict, answer=now)
        while why := step.ledger.begin_effect(step.work, activity, step.buffer, allowed, policies):
            answer = None
            if why == POLICIES_CHANGED:
                answer = self._rule(replace(act, args=activity.args), gate, strict=strict)
                policies = answer.policies
                why = self._stricter(act, gate, answer, allowed)
                if not why:
                    continue
            former = step.approval_at(act.position)
            self._ask_again(act, gate, former, why, strict=strict, answer=answer)

    def _stricter(
        self, act: Act, gate: Gate | None, answer: PolicyAnswer, approval: ApprovalRow | None
    ) -> str:
        """Explain what the policies demand beyond what was approved; empty for nothing."""
        demanded = self._demanded(act, gate, answer.rule)
        same = approval is not None and answer.policies == policies_of(approval)
        return "" if same and not demanded.blocks else stricter(demanded, given_under(approval))

    def _demanded(self, act: Act, gate: Gate | None, rule: Rule | None) -> Demand:
        """The approval that is needed before the action happens."""
        if rule is not None and rule.action == "block":
            return Demand(blocks=True)
        if rule is not None and rule.action == "ask":
            request = gate or self._gate_of(act, rule, None)
            terms, risk = self._hardened(act, rule.terms, rule.risk or request.risk)
            return Demand(True, risk, terms or Terms())
        if gate is None or rule is not None:
            return Demand()
        terms, risk = self._hardened(act, self._step.ledger.terms(gate.risk), gate.risk)
        return Demand(True, risk, terms or Terms())

    def _hardened(self, act: Act, terms: Terms | None, risk: str) -> tuple[Terms | None, str]:
        """The terms and risk of a request; of a repeat never below those of high risk."""
        if act.repeats is None:
            return terms, risk
        high = self._step.ledger.terms("high")
        if high is None:
            return terms, "high"
        least = terms or high
        window = max(least.undo_window, high.undo_window)
        return replace(least, undo_window=window), "high"

    def _changed(self, act: Act, approval: ApprovalRow) -> str:
        """Describe what differs from the decided request, as a sentence; empty for nothing."""
        version = self._sealed_for(approval)

        def bound(args: Any, deadline: Any) -> str:
            return proposal_hash(
                workspace=self._step.work.workspace,
                thread=self._step.work.thread,
                position=act.position,
                tool=act.tool,
                args=args,
                agent_version=version,
                policy_version=approval.policy_version,
                deadline=deadline,
                origin=approval.origin,
            )

        if bound(act.args, approval.deadline) != approval.proposal_hash:
            if deltas.canonical(act.args) != deltas.canonical(approval.args):
                return "what would be done is no longer what was asked."
            if version != approval.agent_version_id:
                return "the agent's code changed since."
            return "it no longer fits what was asked."
        if approval.outcome in ALLOWING and approval.status in DECIDED:
            # What an edit put in its place names the same place, code, policy and time.
            args = decided_args(approval, act.args)
            times = {approval.deadline, approval.decide_by}
            if approval.standing_hash not in [bound(args, at) for at in times]:
                return "what was decided does not match its hash."
        return ""

    def _sealed_for(self, approval: ApprovalRow) -> UUID:
        """The agent version that the hash has to name: this one, or the one that asked.

        That one where people accepted this code since, or it led the state to a newer schema: the
        request stands if the rest is the same bytes. Code that only its agent's rule let continue
        asks again.
        """
        ledger, work = self._step.ledger, self._step.work
        asked_by = approval.agent_version_id
        if asked_by == work.agent_version:
            return asked_by
        current = asked_by in ledger.upgraded_from(work) or asked_by in ledger.accepted_from(work)
        return asked_by if current else work.agent_version

    def _rule(self, act: Act, gate: Gate | None, *, strict: bool) -> PolicyAnswer:
        """The policies' decision on the action now."""
        risk = "" if gate is None else gate.risk
        answer = self._step.ledger.rule(self._step.work, act.tool, act.args, risk, undo=act.undo)
        allows = answer.rule is not None and answer.rule.action == "allow"
        return replace(answer, rule=None) if allows and strict else answer

    @staticmethod
    def _request_schema(act: Act, gate: Gate | None) -> Any:
        """The schema of a request's arguments; it says where the agent answers no questions."""
        answers = gate is not None and gate.answer is not None
        schema = with_order(act.schema)
        return schema if answers or not isinstance(schema, dict) else silent(schema)

    def _proposal(
        self,
        act: Act,
        gate: Gate | None,
        answer: PolicyAnswer,
        former: ApprovalRow | None,
        why: str = "",
    ) -> Proposal:
        """The request that a gate, a policy or both open; `why` says why it is asked again."""
        rule = answer.rule
        request = gate or self._gate_of(act, rule, former)
        check_gate(request)
        text = request.description
        if why and former is not None:
            text = f"{AGAIN}{why}\n\n{text}".strip()
        if act.undescribed and NOT_DESCRIBED not in text:
            text = f"{text}\n\n{NOT_DESCRIBED} {plain(act.undescribed)[:WHY_MAX]}".strip()
        payload = {"title": request.title, "description": text, "reasons": [*request.reasons]}
        storable(payload, f"What the gate before {act.tool!r} says", at_most=EVENT_BYTES)
        if former is None:
            self._step.refuse_secrets(payload, f"What the gate before {act.tool!r} says")
        version, terms, risk = self._terms(request, rule, former if gate is None else None)
        terms, risk = self._hardened(act, terms, risk)
        times = [request.expires_in, rule.expires_in if rule is not None else None]
        return Proposal(
            position=act.position,
            kind="gate" if act.repeats is None else REPEAT,
            tool=act.tool,
            args=act.args,
            title=request.title,
            description=text,
            reasons=(*request.reasons, *self._step.thoughts_of(self._node)),
            risk=risk,
            schema=self._request_schema(act, gate),
            undo=act.undo,
            expires_in=min((t for t in times if t is not None), default=None),
            policy_version=version,
            revision=0 if former is None else former.revision + 1,
            terms=terms,
            allowed_by=rule.name if rule is not None and rule.action == "allow" else "",
            blocked_by=rule.name if rule is not None and rule.action == "block" else "",
            policies=answer.policies,
            repeats=act.repeats,
            sentence=act.sentence,
            origin=self._step.ledger.origin(self._step.work),
        )

    def _gate_of(self, act: Act, rule: Rule | None, former: ApprovalRow | None) -> Gate:
        """The words of a request that no author wrote: the policy's, else those of the last one."""
        if rule is not None:
            title = rule.title or act.sentence
            title = title or f"Let {self._step.work.agent} do {act.tool}?"
            return Gate(title, rule.terms.rule or f"The policy {rule.name!r} asks for it.")
        if former is None:
            raise AssertionError("nobody asks")
        before = former.description
        text = before.partition("\n\n")[2] if before.startswith(AGAIN) else before
        until = former.deadline
        seconds = None if until is None else (until - former.requested_at).total_seconds()
        risk: Any = former.risk
        return Gate(former.title, text, risk=risk, expires_in=seconds)

    def _terms(
        self, gate: Gate, rule: Rule | None, former: ApprovalRow | None
    ) -> tuple[str, Terms | None, str]:
        """(policy version, terms, risk) of a new request."""
        ledger, work = self._step.ledger, self._step.work
        if rule is not None:
            terms = rule.terms
            if terms.four_eyes:
                terms = replace(terms, barred=ledger.hands_on(work))
            return rule.version, terms, rule.risk or gate.risk
        if former is not None and former.terms is not None:
            return former.policy_version, terms_of(former.terms), former.risk
        return AUTHOR, ledger.terms(gate.risk), gate.risk

    # ---- what reviewers ask the agent ------------------------------------------------------------

    def _reply(self, gate: Gate | None, approval: ApprovalRow) -> None:
        """Let the agent answer what was asked back and not answered yet; each once."""
        step, answer = self._step, None if gate is None else gate.answer
        name = "no_answer" if answer is None else getattr(answer, "__name__", "answer")
        for request in step.ledger.asked_back(step.work, approval):
            p = Position(
                step.work.branch, step.number, self._node, 0, f"answer {request.decision}#0"
            )
            known = step.record_at(p)
            if known is not None and known.state == "done":
                continue
            values = {"question": request.text, "args": approval.shown_args}

            def call(value: Any = values, decision: UUID = request.decision) -> str:
                text = reply_text(answer, deltas.copied(value))
                step.add_event(replied(approval.id, decision, text, actor=step.work.owner))
                return text

            self._once(p, "activity" if answer else "value", name, values, call)

    # ---- what was done under an approval -------------------------------------------------------

    def _as_done(self, known: ActivityRow, value: Any) -> Any:
        """The reviewers' arguments if `value` is what they were asked about, else `value`."""
        approval = None if known.approval is None else self._step.requests.get(known.approval)
        if approval is None or deltas.canonical(approval.args) != deltas.canonical(value):
            return value
        return decided_args(approval, value)

    def _check_caps(self) -> None:
        """Raise Halted where a cap leaves no room for anything more that costs."""
        if why := self._step.ledger.spend_refusal(self._step.work):
            raise Halted(why)


def settled(approval: ApprovalRow) -> None:
    """Return when it was said yes or answered, for good; else leave the node as was decided."""
    if approval.status in UNSETTLED:
        raise GateReached(waits=(approval.headline,))
    if approval.status == "expired":
        raise Expired
    if approval.outcome == "reject":
        raise Rejected(approval.comment, approval.decided_by_name, approval.what_next or GO_ON)


def policies_of(approval: ApprovalRow) -> str:
    """The policies that were asked of what is carried out; empty where reviewers changed that."""
    return "" if approval.outcome == "edit" else approval.policies


def decided_args(approval: ApprovalRow, value: Any) -> Any:
    """The arguments to carry out: the reviewers' own after an edit, else those of the request."""
    return deltas.copied(approval.decided_args) if approval.outcome == "edit" else value


def reply_text(answer: Callable[..., Any] | None, value: Any) -> str:
    """The agent's answer to a question that was asked back, always a text that can be kept."""
    if answer is None:
        return NO_ANSWER
    try:
        text = result_of(lambda: answer(value["question"], value["args"]))
        if not isinstance(text, str) or not text.strip():
            raise StepFailed("it said nothing that is text.")
        storable(text, "Its answer", at_most=EVENT_BYTES)
        refuse_secrets(text, "Its answer", ())
    except (MemoryError, ConcurrentModificationError):
        raise
    except Exception as error:
        return f"The agent could not answer: {describe(error)}"
    return text
