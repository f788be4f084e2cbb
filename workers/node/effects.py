"""What changes the outside world: effects, behind gates where people have a say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from approvals.queries import ApprovalRow
from approvals.states import ALLOWING, DEFAULT_RISK
from checkpoints.records import NewActivity, Position
from checkpoints.state import deltas
from checkpoints.state.schema_texts import with_definitions
from checkpoints.verdicts import about_unknown
from checkpoints.views import ActivityRow

from ..authoring.errors import Parked, StepFailed
from ..authoring.frozen import plain
from ..authoring.graph import Gate, Tool
from ..authoring.messages import fault
from ..authoring.retry_policy import Retry, policy_of
from ..step.advice import check_effect, check_gate, storable
from ..step.answers import Outcome, outcome_of, result_of
from ..step.retries import outcome_is_open, sleep_before_retry, wait_with_others
from . import unknown_effects
from .approval_gates import Act, decided_args, policies_of
from .descriptions import describe_call, described, recorded
from .forecasts import forecast
from .interrupts import Interrupts
from .repeated_effects import asking, done_before, stayed

FORK: Final = Gate(
    "",
    "A fork asks before each effect, because its base may already have had it.",
    risk=DEFAULT_RISK,
)


def _check_types(tool: Tool, args: Mapping[str, Any]) -> None:
    """Hold a call of the author's to the tool's types, as those of models and reviewers are."""
    if tool.elsewhere:
        return
    if problem := fault(args, with_definitions(tool.schema)):
        raise StepFailed(f"What {tool.name!r} is called with does not fit its types: {problem}.")


@dataclass(frozen=True, slots=True)
class Begun:
    """An effect that has started, under the approval that let it; its arguments are the decided."""

    tool: Tool
    activity: NewActivity
    approval: ApprovalRow | None
    retry: Retry


@dataclass(frozen=True, slots=True)
class Permit:
    """The permission to start an effect; `args` are its arguments as reviewers decided them.

    `policies` are those that were asked; None for an effect that had started under others, whose
    approval need not hold any longer. With `strict` no policy lets it happen without people.
    """

    act: Act
    gate: Gate | None
    args: Any
    approval: ApprovalRow | None
    policies: str | None = None
    strict: bool = False


class Effects(Interrupts):
    """A node's effects in one step."""

    def effect(
        self,
        tool: Tool,
        args: Mapping[str, Any],
        *,
        gate: Gate | None = None,
        key: str | None = None,
    ) -> Outcome:
        """Let a tool change the outside world, after its gate where it or a policy has one.

        Exactly the decided arguments are carried out. That it starts is committed before it does;
        a stop in between repeats it with the same key when the tool is idempotent, else the thread
        asks in `attention` what happened. It asks there as well when an effect is recorded with
        other arguments, and behind a gate before it repeats one that stayed done: before a
        rollback, in the base of a fork, or here with other arguments. Raises Rejected
        when people said no or a policy blocks it, Expired when they said nothing.

        `key` identifies the call where calls of the tool come in no fixed order.
        """
        begun = self._begin(tool, args, gate, key)
        return begun if isinstance(begun, Outcome) else self._carry_out(begun)

    def would_ask(self, tool: Tool, args: Mapping[str, Any], *, gate: Gate | None = None) -> str:
        """Say why people would be asked before this effect, or what blocks it; empty for neither.

        Nothing is asked by it. The answer is recorded, so that the node takes the same way when it
        works again; policies may be others by the time the effect is called.
        """
        check_effect(tool, args)
        value = plain(dict(args))
        payload = {"tool": tool.name, "args": value}
        storable(payload, f"What {tool.name!r} is called with")

        def read() -> str:
            undo = tool.undo.__name__ if tool.undo else ""
            return forecast(self._step, self._node, tool.name, value, gate, undo=undo).why

        return str(self._once(self._position("would_ask"), "value", "would_ask", payload, read))

    def is_held(self, name: str, args: Any, *, value: Any = None, key: str | None = None) -> bool:
        """Say whether the next call of this name must go through `effect`: policies ask or block.

        `args` are what policies read, `value` what an activity records (else `args`). A call that
        is on record or was asked about keeps the way that it took.
        """
        position = self._next_position(name, key)
        known, recorded = self._step.record_at(position), args if value is None else value
        if (known and known.kind == "effect") or self._step.approval_at(position) is not None:
            return True
        if (
            known
            and known.state == "done"
            and deltas.canonical(known.args) == deltas.canonical(recorded)
        ):
            return False
        return self._step.ledger.asks_of_call(self._step.work, name, args)

    def _begin(
        self, tool: Tool, args: Mapping[str, Any], gate: Gate | None, key: str | None = None
    ) -> Outcome | Begun:
        """Commit that an effect starts; its outcome if it is done.

        1. Check the call, and read the activity and the request on record at its position.
        2. Answer from the record if the effect has happened.
        3. Get its permit: the one it started or failed under, or a new one from its gate and the
           policies. Leaves the node where people have to be asked first.
        4. Leave the node as well if the worker stops, a cap is reached or the service asks to wait.
        5. Commit the start, under the rights and policies of that moment.
        """
        check_effect(tool, args)
        if gate is not None:
            check_gate(gate)
        position = self._position(tool.name, key)
        value = plain(dict(args))
        storable(value, f"What {tool.name!r} is called with")
        known = self._step.record_at(position)
        approval = self._step.approval_at(position)
        # What is on record was checked before; what people decided is checked as they decided it.
        if known is None and approval is None:
            self._step.refuse_secrets(value, f"What {tool.name!r} is called with", of=tool.name)
            _check_types(tool, value)
        expected = value if known is None else self._as_done(known, value)
        continuation = known and unknown_effects.continuation_of(self._step, tool, known, expected)
        if known is not None and continuation is unknown_effects.Continuation.ANSWER:
            result = self._step.value_of(known.result, tool.name)
            return outcome_of(result, approval, deltas.copied(known.args))
        undo = tool.undo.__name__ if tool.undo else ""
        sentence, undescribed = describe_call(tool, value)
        act = Act(position, tool.name, value, tool.schema, undo, None, sentence, undescribed)
        repeated = known if continuation is unknown_effects.Continuation.REPEAT else None
        if repeated is None:
            before = done_before(self._step, position, value) if known is None else None
            if before is not None and tool.once and before.state == "done":
                return self._never_again(position, tool, value, before)
            permit = self._new_permit(act, tool, gate, known, before)
        elif repeated.state == "failed":
            permit = self._former_permit(act, tool, gate, repeated, approval)
        else:
            permit = Permit(act, gate, expected, approval)
        if permit.args is not value:
            check_effect(tool, permit.args)
        if repeated and deltas.canonical(permit.args) != deltas.canonical(repeated.args):
            repeated = None  # another edit: an effect of its own, with a key of its own
        self._boundary()
        if repeated is None or repeated.state != "started":
            self._check_caps()  # an effect that has started is finished whatever it cost
        retry = policy_of(tool.retry, self._step.retry)
        wait_with_others(self._step, retry, tool.name)
        activity = self._attempt(tool, permit, known, repeated)
        allowed = None if permit.policies is None else permit.approval
        self._start(
            permit.act, permit.gate, activity, allowed, permit.policies, strict=permit.strict
        )
        self._step.take_events()
        return Begun(tool, activity, permit.approval, retry)

    def _new_permit(
        self,
        act: Act,
        tool: Tool,
        gate: Gate | None,
        known: ActivityRow | None,
        before: ActivityRow | None,
    ) -> Permit:
        """The permit of an effect that starts anew; leaves the node where people are asked first.

        `known` is the record of this very position, `before` one that would be done again.
        """
        used = None if known is None else known.approval
        act = replace(act, repeats=self._done_earlier(known, before))
        gate, strict = self._asked_by(act, tool, gate)
        approval, policies = self._permit(act, gate, used, strict=strict)
        expected = act.args if approval is None else decided_args(approval, act.args)
        return Permit(act, gate, expected, approval, policies, strict)

    def _former_permit(
        self,
        act: Act,
        tool: Tool,
        gate: Gate | None,
        failed: ActivityRow,
        approval: ApprovalRow | None,
    ) -> Permit:
        """The permit under which a failed attempt is tried again; leaves the node as `_permit`."""
        former = self._step.requests.get(failed.approval) if failed.approval else None
        strict = former is not None and former.repeats is not None
        if former is not None and former.repeats is not None:
            act = replace(act, repeats=former.repeats)
            gate = asking(gate, tool, former.repeats, act.sentence)
        approval, policies = self._still(act, gate, former, approval, strict=strict)
        expected = act.args if approval is None else decided_args(approval, act.args)
        return Permit(act, gate, expected, approval, policies, strict)

    def _attempt(
        self, tool: Tool, permit: Permit, known: ActivityRow | None, repeated: ActivityRow | None
    ) -> NewActivity:
        """The activity of this attempt: `repeated` with its id and key, else a new revision."""
        act, approval = permit.act, permit.approval
        under = approval.id if approval is not None and approval.outcome in ALLOWING else None
        if repeated is not None and repeated.state == "started":
            under = repeated.approval
        is_edited = permit.args is not act.args
        return self._new(
            act.position,
            "effect",
            tool.name,
            permit.args,
            id=repeated.id if repeated else None,
            undo=act.undo,
            approval=under,
            usage=recorded(described(tool, permit.args) if is_edited else act.sentence),
            attempts=repeated.attempts + 1 if repeated else 1,
            revision=0 if known is None else known.revision + (repeated is None),
        )

    def _carry_out(self, begun: Begun) -> Outcome:
        """Call the tool and record its outcome."""
        tool, activity, expected = begun.tool, begun.activity, begun.activity.args
        try:
            with self._inside(activity):
                returned = result_of(lambda: tool.call(**expected, key=activity.idempotency_key))
                result, came, refusal = self._result_of_effect(returned, tool.name)
        except MemoryError:
            raise  # it stays started: whether it happened shows when it is looked at again
        except Exception as error:
            repeatable = tool.idempotent
            sleep = sleep_before_retry(
                self._step, begun.retry, tool.name, activity, error, repeatable=repeatable
            )
            open_ended = not tool.idempotent and outcome_is_open(error)
            self._step.ledger.end_effect(
                self._step.work,
                activity,
                state="unknown" if open_ended else "failed",
                error=self.error_text(error),
                usage=recorded(described(tool, expected)),
                retry_in=None if sleep is None else sleep.seconds,
            )
            if open_ended:
                why = self.error_text(error)
                raise Parked(
                    f"Whether {tool.name!r} happened is unknown: {why}, and the tool "
                    "does not promise to be repeatable. Check outside, then say what happened.",
                    about_unknown(activity.id),
                ) from error
            if sleep is not None:
                raise sleep from error
            raise
        self._step.ledger.end_effect(
            self._step.work,
            activity,
            state="done",
            result=result,
            usage=recorded(described(tool, expected, *came)),
            events=self._step.take_events(),
        )
        if refusal:
            raise StepFailed(
                f"{refusal} {tool.name!r} happened and is on record as done, without what it "
                "returned: a retry continues with the result {'withheld': ...}."
            )
        return outcome_of(came[0], begun.approval, deltas.copied(expected))

    def _result_of_effect(self, returned: Any, name: str) -> tuple[Any, tuple[Any, ...], str]:
        """(what the record holds, (the value that the node gets,), why the value is withheld).

        The effect has happened, so nothing about its result makes it a failed one: a retry would
        repeat it.
        """
        try:
            result, value = self._result(returned, name)
        except MemoryError:
            raise
        except Exception as error:
            why = self.error_text(error)
            return {"withheld": why}, (), why
        return result, (value,), ""

    def _never_again(
        self, position: Position, tool: Tool, value: Any, before: ActivityRow
    ) -> Outcome:
        """The recorded result of a tool that acts once, kept for this position as well."""
        payload = {"args": value, "activity": str(before.id), "thread": str(before.thread)}
        saved = self._once(
            position,
            "value",
            tool.name,
            payload,
            lambda: self._step.value_of(before.result, tool.name),
        )
        return Outcome(saved)

    def _done_earlier(
        self, known: ActivityRow | None, before: ActivityRow | None
    ) -> Mapping[str, Any] | None:
        """Describe the effect that stayed done and would be repeated; None where there is none.

        `known` is the record of this very position, `before` the one on a branch that was left.
        """
        work = self._step.work
        stays = known if known is not None and stayed(known) else before
        if stays is not None:
            payload = self._step.ledger.done_earlier(work, stays)
            return {**payload, "fork": stays.thread != work.thread, "here": known is not None}
        former = None
        if known is not None and known.approval is not None:
            # That attempt failed or was undone; what it would have repeated stays done.
            former = self._step.requests.get(known.approval)
        return None if former is None else former.repeats

    def _asked_by(self, act: Act, tool: Tool, gate: Gate | None) -> tuple[Gate | None, bool]:
        """(the gate before what is asked, whether no policy lets it happen without people)."""
        effects = self._step.work.effects
        if act.repeats is not None:
            if gate is None and act.repeats["fork"] and effects == "run":
                return None, False  # on the word of the one who made the fork
            return asking(gate, tool, act.repeats, act.sentence), True
        if gate is None and effects == "ask":
            return replace(FORK, title=act.sentence or f"Let this fork do {tool.name}?"), True
        return gate, False

    def _still(
        self,
        act: Act,
        gate: Gate | None,
        former: ApprovalRow | None,
        approval: ApprovalRow | None,
        *,
        strict: bool,
    ) -> tuple[ApprovalRow | None, str]:
        """(the approval, the policies) under which an effect that did not happen is tried again.

        `former` is the one under which it failed.
        """
        if former is None:
            return self._permit(act, gate, None)
        if approval is None or approval.id == former.id or approval.status == "withdrawn":
            return former, policies_of(former)
        self._decided(act, gate, approval, strict=strict)
        return approval, policies_of(approval)
