"""What changes the outside world: effects, behind gates where people have a say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from approvals.queries import ApprovalRow
from checkpoints.records import Position
from checkpoints.state import deltas
from checkpoints.verdicts import about_unknown
from checkpoints.views import ActivityRow

from ..authoring.errors import Parked
from ..authoring.frozen import plain
from ..authoring.graph import Gate, Tool
from ..authoring.retry_policy import policy_of
from ..step.advice import check_effect, check_gate, storable
from ..step.answers import Outcome, describe, outcome_of, result_of
from ..step.retries import again, outcome_is_open, wait_with_others
from . import unknown_effects
from .approval_gates import CAN_ALLOW, Act, decided_args, policies_of
from .descriptions import describe_call, described, recorded
from .interrupts import Interrupts
from .repeated_effects import asking, done_before, stayed

FORK: Final = Gate(
    "",
    "A fork stops before what it would do outside, since its base may have done it too.",
    risk="medium",
)


class Effects(Interrupts):
    """A node's effects in one step."""

    def effect(self, tool: Tool, args: Mapping[str, Any], *, gate: Gate | None = None) -> Outcome:
        """Let a tool change the outside world, after its gate where it or a policy has one.

        Exactly the decided arguments are carried out. That it starts is committed before it does;
        a stop in between repeats it with the same key when the tool is idempotent, else the thread
        asks in `attention` what happened. It asks there as well when an effect is recorded with
        other arguments, and behind a gate before it repeats one that stayed done: before a
        rollback, in the base of a fork, or here with other arguments. Raises Rejected or
        Expired when people said no or nothing.
        """
        check_effect(tool, args)
        if gate is not None:
            check_gate(gate)
        position = self._position(tool.name)
        given = plain(dict(args))
        storable(given, f"What {tool.name!r} is called with")
        act = Act(position, tool.name, given, tool.schema, tool.undo.__name__ if tool.undo else "")
        known = self._run.record_at(position)
        approval = self._run.approval_at(position)
        meant = given if known is None else self._as_done(known, given)
        way = None if known is None else unknown_effects.course(self._run, tool, known, meant)
        if known is not None and way is unknown_effects.Course.ANSWER:
            return outcome_of(deltas.copied(known.result), approval, deltas.copied(known.args))
        sentence, undescribed = describe_call(tool, given)
        act = replace(act, sentence=sentence, undescribed=undescribed)
        repeated = known if way is unknown_effects.Course.REPEAT else None
        allowed: ApprovalRow | None = None  # has to hold when it starts
        policies: str | None = None  # those that were asked; None: it had started under others
        strict = False
        if repeated is not None and repeated.state == "failed":
            former = self._run.requests.get(repeated.approval) if repeated.approval else None
            if former is not None and former.repeats is not None:
                act, strict = replace(act, repeats=former.repeats), True
                gate = asking(gate, tool, former.repeats, act.sentence)
            approval, policies = self._still(act, gate, former, approval, strict=strict)
            allowed = approval
            meant = given if approval is None else decided_args(approval, given)
            if deltas.canonical(meant) != deltas.canonical(repeated.args):
                repeated = None  # another edit: an effect of its own, with a key of its own
        elif repeated is None:
            used = None if known is None else known.approval
            before = done_before(self._run, position, given) if known is None else None
            if before is not None and tool.once and before.state == "done":
                return self._never_again(position, tool, given, before)
            act = replace(act, repeats=self._done_earlier(known, before))
            gate, strict = self._asked_by(act, tool, gate)
            approval, policies = self._permit(act, gate, used, strict=strict)
            allowed = approval
            meant = given if approval is None else decided_args(approval, given)
        if meant is not given:
            check_effect(tool, meant)
        self._boundary()
        if repeated is None or repeated.state != "started":
            self._afford()  # what had begun is brought to its end, whatever it cost
        retry = policy_of(tool.retry, self._run.retry)
        wait_with_others(self._run, retry, tool.name)
        yes = approval is not None and approval.outcome in CAN_ALLOW
        under = approval.id if approval is not None and yes else None
        if repeated is not None and repeated.state == "started":
            under = repeated.approval
        activity = self._new(
            position,
            "effect",
            tool.name,
            meant,
            id=repeated.id if repeated else None,
            undo=act.undo,
            approval=under,
            usage=recorded(act.sentence if meant is given else described(tool, meant)),
            attempts=repeated.attempts + 1 if repeated else 1,
            revision=0 if known is None else known.revision + (repeated is None),
        )
        self._start(act, gate, activity, allowed, policies, strict=strict)
        self._run.take_events()
        try:
            with self._inside(activity):
                result = plain(result_of(lambda: tool.call(**meant, key=activity.idempotency_key)))
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
                usage=recorded(described(tool, meant)),
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
            usage=recorded(described(tool, meant, result)),
            events=self._run.take_events(),
        )
        return outcome_of(deltas.copied(result), approval, deltas.copied(meant))

    def _never_again(
        self, position: Position, tool: Tool, given: Any, before: ActivityRow
    ) -> Outcome:
        """The recorded result of a tool that acts once, kept for this position as well."""
        told = {"args": given, "activity": str(before.id), "thread": str(before.thread)}
        kept = self._once(position, "value", tool.name, told, lambda: deltas.copied(before.result))
        return Outcome(kept)

    def _done_earlier(
        self, known: ActivityRow | None, before: ActivityRow | None
    ) -> Mapping[str, Any] | None:
        """What stayed done and would be done again; None where nothing did.

        `known` is what is recorded at this very place, `before` on a course that was left.
        """
        work = self._run.work
        stays = known if known is not None and stayed(known) else before
        if stays is not None:
            told = self._run.ledger.done_earlier(work, stays)
            return {**told, "fork": stays.thread != work.thread, "here": known is not None}
        former = None
        if known is not None and known.approval is not None:
            # That attempt failed or was undone; what it would have repeated stays done.
            former = self._run.requests.get(known.approval)
        return None if former is None else former.repeats

    def _asked_by(self, act: Act, tool: Tool, gate: Gate | None) -> tuple[Gate | None, bool]:
        """(the gate before what is asked, whether no policy lets it happen without people)."""
        effects = self._run.work.effects
        if act.repeats is not None:
            if gate is None and act.repeats["fork"] and effects == "run":
                return None, False  # on the word of whoever made the fork
            return asking(gate, tool, act.repeats, act.sentence), True
        if gate is None and effects == "ask":
            return replace(FORK, title=act.sentence or f"Let this fork do {tool.name!r}?"), True
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
