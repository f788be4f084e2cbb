"""What an agent that works elsewhere does at a position: begun, answered from the record, settled.

The rules are those of our own nodes: gates, policies, caps, one key per position. Only the call
itself happens elsewhere, so its outcome is what the agent claims.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from approvals import queries as approval_queries
from approvals.policies.reservations import NO_BOUND
from approvals.queries import ApprovalRow
from checkpoints import queries
from checkpoints.queries.installation.fleet import announced_agent, announced_tool
from checkpoints.records import Position, Work
from checkpoints.state import deltas, marked
from checkpoints.states import EventKind, Status
from checkpoints.views import ActivityRow

from ..authoring.errors import Expired, GateReached, Rejected, Stop
from ..authoring.graph import Gate, Tool
from ..engine.node_outcomes import Stopped
from ..engine.step_outcomes import leave_unfinished
from ..node.effects import Begun, Effects
from ..node.forecasts import Forecast, forecast
from ..node.node_gates import check_node
from ..step.step import OpenStep
from .open_step import open_step

# A decision may come between the look at the requests and the wish to wait for it.
ROUNDS = 20

type Do = Literal["call", "answer", "wait", "refused", "stop"]


def tool_of(name: str, announced: Mapping[str, Any]) -> Tool:
    """The tool as the agent announced it; one that it did not name takes anything."""

    def call(*, key: str, **args: Any) -> None:
        raise AssertionError(f"{name!r} is called elsewhere")

    named = str(announced.get("undo") or "")
    undo = _undo(named) if named else None
    repeatable = bool(announced.get("idempotent"))
    tool = Tool(name, call, undo, idempotent=repeatable, elsewhere=True)
    # Else it would be read off the function above.
    vars(tool)["schema"] = dict(announced.get("schema") or {"type": "object"})
    return tool


def _undo(name: str) -> Callable[..., Any]:
    def undo(*args: Any, **kwargs: Any) -> None:
        raise AssertionError(f"{name!r} is called elsewhere")

    undo.__name__ = name
    return undo


@dataclass(frozen=True, slots=True)
class Answer:
    """The next thing that the agent has to do at a position.

    `call`: call it with `args` and `key`. `answer`: `result` is on record. `wait`: people are
    asked, the lease is gone. `refused`: they rejected it, or did not answer in time. `stop`: the
    thread was left for another reason.
    """

    do: Do
    args: Any = None
    key: str = ""
    result: Any = None
    reason: str = ""
    what_next: str = ""
    comment: str = ""
    by: str = ""
    activity: ActivityRow | None = None
    requests: tuple[ApprovalRow, ...] = field(default=())


class Reported(Effects):
    """One position of the step in progress."""

    def __init__(self, step: OpenStep, position: Position) -> None:
        super().__init__(step, position.node)
        self._at = position

    def _position(self, name: str, key: str | None = None) -> Position:
        return self._at

    def _next_position(self, name: str, key: str | None = None) -> Position:
        return self._at

    def start_effect(self, tool: Tool, args: Mapping[str, Any], gate: Gate | None) -> Any:
        """The effect begun, or its recorded outcome; raises what leaves a node."""
        return self._begin(tool, args, gate)

    def begin_effect(self, tool: Tool, args: Mapping[str, Any], gate: Gate | None) -> Answer:
        """The effect started, or its recorded outcome; raises what leaves a node."""
        begun = self._begin(tool, args, gate)
        if not isinstance(begun, Begun):
            saved = self._recorded()
            # As it is recorded: what JSON cannot hold goes out in its marked form.
            result = marked.mark(begun.result) if saved is None else saved.result
            return Answer("answer", begun.args, result=result, activity=saved)
        activity = begun.activity
        approval = begun.approval
        return Answer(
            "call",
            activity.args,
            activity.idempotency_key,
            comment="" if approval is None else approval.comment,
            by="" if approval is None else approval.decided_by_name,
            activity=self._recorded(),
        )

    def begin_call(self, kind: str, args: Any) -> Answer:
        """A pure call to make, or its recorded result."""
        known = self._step.record_at(self._at)
        if known is not None and known.state == "done" and _same(known.args, args):
            return Answer("answer", known.args, result=known.result, activity=known)
        if kind == "model":
            self._check_caps()
            self._reserve(self._at, lambda: NO_BOUND)
        return Answer("call", args)

    def settle_call(
        self, kind: str, tool: str, args: Any, *, result: Any, error: str, usage: Any
    ) -> None:
        """Record the outcome of a pure call; what is done already with these arguments stays so."""
        step = self._step
        known = step.record_at(self._at)
        if known is not None and known.state == "done" and _same(known.args, args):
            return
        unfinished = known if known is not None and known.state != "done" else None
        activity = self._new(
            self._at,
            kind,
            tool,
            args,
            id=unfinished.id if unfinished else None,
            revision=step.revision(self._at, same=unfinished is not None),
            attempts=unfinished.attempts + 1 if unfinished else 1,
        )
        outcome = {"error": error} if error else {"result": result}
        step.ledger.record(step.work, activity, **outcome, usage=usage or None)
        if kind == "model":
            self._release(self._at)

    def propose_effect(self, tool: Tool, args: Mapping[str, Any], gate: Gate | None) -> Answer:
        """Ask about an effect that is begun later at this position; answer its decided arguments.

        Raises what leaves a node while they have to be asked.
        """
        begun = self._begin(tool, args, gate)
        if not isinstance(begun, Begun):
            return Answer("answer", result=begun.args, comment=begun.comment, by=begun.decided_by)
        approval = begun.approval
        if approval is None:
            return Answer("answer", result=begun.activity.args)
        by = approval.decided_by_name
        return Answer("answer", result=begun.activity.args, comment=approval.comment, by=by)

    def remark(self) -> tuple[str, str]:
        """The comment and the name of the reviewer who answered the request at this position."""
        approval = self._step.approval_at(self._at)
        return ("", "") if approval is None else (approval.comment, approval.decided_by_name)

    def _recorded(self) -> ActivityRow | None:
        work = self._step.work
        rows = queries.step_activities(work.thread, branch=work.branch, step=self._step.number)
        here = [row for row in rows if place_of(row) == self._at]
        return here[-1] if here else None


class Proposed(Reported):
    """A position at which people are asked about an effect, and nothing starts."""

    def _start(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: the effect starts when it is begun, which compares all of it once more."""


def place_of(row: ActivityRow | ApprovalRow) -> Position:
    """The position of a record or a request."""
    return Position(row.branch, row.step, row.node, row.index, row.key)


def begin(
    work: Work,
    node: str,
    index: int,
    key: str,
    *,
    kind: str,
    tool: Tool,
    args: Any,
    gate: Gate | None,
) -> Answer:
    """Let an agent begin what it would do, as a node of ours would; raises LeaseLost, StepFailed.

    1. Look at what is recorded and requested at the position.
    2. Ask the policies that name the node; for the kind `node` nothing else.
    3. Ask gates, policies and caps; an effect starts in the statement that compares them once more.
    4. Where people have to be asked, or somebody has to look, leave the thread.
    """
    for _ in range(ROUNDS):
        step = open_step(work)
        at = Position(work.branch, step.number, node, index, key)
        reported = Reported(step, at)
        try:
            check_node(step, node)
            if kind == "effect" or (kind != "node" and reported.is_held(tool.name, args)):
                return reported.begin_effect(tool, args, gate)
            return reported.begin_call(kind, args)
        except Rejected as no:
            return Answer("refused", reason=no.comment, what_next=no.what_next, by=no.by)
        except Expired:
            return Answer("refused", reason="Nobody decided in time.", what_next="go_on")
        except Stop as stop:
            leave(step, [stop])
        if work.status is not Status.RUNNING:
            return left(work)
    raise AssertionError("news without end")


def is_recorded(work: Work, node: str, index: int, key: str) -> bool:
    """Say whether the outcome of a call at this position of the step in progress is on record."""
    step = open_step(work)
    known = step.record_at(Position(work.branch, step.number, node, index, key))
    return known is not None and known.state != "started"


def is_here(work: Work, node: str, index: int, key: str) -> bool:
    """Say whether a record or a request stands at this position of the step in progress."""
    step = open_step(work)
    at = Position(work.branch, step.number, node, index, key)
    return step.record_at(at) is not None or step.approval_at(at) is not None


def check(work: Work, node: str, kind: str, tool: str, args: Any, gate: Gate | None) -> Forecast:
    """Predict what would stop a call at this node, of a kind that is no effect as well."""
    step = open_step(work)
    if kind != "effect" and not step.ledger.asks_of_call(work, tool, args):
        tool, gate = "", None
    announced = announced_tool(work.agent_version, tool) or {}
    return forecast(step, node, tool, args, gate, undo=str(announced.get("undo") or ""))


def stop_before(work: Work, nodes: Collection[str]) -> bool:
    """Leave the thread where a policy stops it before one of these nodes; whether it was left.

    It waits for people, or fails where they refused. A watched agent would not wait.
    """
    for _ in range(ROUNDS):
        step = open_step(work)
        stops: list[GateReached] = []
        for node in nodes:
            try:
                check_node(step, node)
            except GateReached as stop:
                stops.append(stop)
            except (Rejected, Expired) as no:
                why = str(no) or "Nobody decided in time."
                step.ledger.leave(work, EventKind.THREAD_FAILED, reason=f"Before {node}: {why}")
                return True
        if not stops or _is_watched(work):
            return False
        leave(step, stops)
        if work.status is not Status.RUNNING:
            return True
    raise AssertionError("news without end")


def _is_watched(work: Work) -> bool:
    external = announced_agent(work.agent_version).external
    return external is not None and external.watched


def leave(step: OpenStep, stops: Sequence[Any]) -> None:
    """Leave the thread as a step of ours does; it continues where news came meanwhile."""
    leave_unfinished(step.ledger, step, [Stopped(stop) for stop in stops])


def left(work: Work) -> Answer:
    """The answer where the lease is lost: the thread waits, or needs a person."""
    row = queries.thread(work.thread, workspace=work.workspace)
    if row.status is Status.WAITING:
        requests = approval_queries.for_thread(work.thread, open_only=True)
        return Answer("wait", reason="People are asked.", requests=tuple(requests))
    return Answer("stop", reason=row.status_reason)


def ask(
    work: Work, questions: Sequence[Mapping[str, Any]]
) -> tuple[Literal["answer", "wait", "stop"], list[Answer]]:
    """Ask people something that the agent itself acts upon; asked again, what they said.

    Each question names its position and holds an `interrupt` in Agent Inbox's form, a `question` or
    an `effect` to be begun there later. All are asked together. Raises LeaseLost, StepFailed.
    """
    for _ in range(ROUNDS):
        step = open_step(work)
        stops: list[Stop] = []
        answers: list[Answer] = []
        for one in questions:
            at = Position(work.branch, step.number, one["node"], one["index"], one["key"])
            try:
                answers.append(_answer(step, at, one))
            except Rejected as no:
                answers.append(Answer("refused", reason=no.comment, by=no.by, what_next="rejected"))
            except Expired:
                answers.append(Answer("refused", what_next="expired"))
            except Stop as stop:  # a gate, or an effect of which nobody knows whether it happened
                stops.append(stop)
                answers.append(Answer("wait"))
        if not stops:
            return "answer", answers
        leave(step, stops)
        if work.status is not Status.RUNNING:
            return ("wait" if work.status is Status.WAITING else "stop"), answers
    raise AssertionError("news without end")


def _answer(step: OpenStep, at: Position, one: Mapping[str, Any]) -> Answer:
    if one.get("effect") is not None:
        return Proposed(step, at).propose_effect(**one["effect"])
    reported = Reported(step, at)
    if one.get("interrupt") is not None:
        (result,) = reported.interrupt(one["interrupt"])
        comment, by = reported.remark()
        return Answer("answer", result=result, comment=comment, by=by)
    question = dict(one["question"])
    answer = reported.ask(question.pop("question"), **question)
    return Answer("answer", result=answer.value, comment=answer.comment, by=answer.by)


def _same(one: Any, other: Any) -> bool:
    return bool(deltas.canonical(one) == deltas.canonical(other))
