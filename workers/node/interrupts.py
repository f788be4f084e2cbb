"""Questions without an action of the engine's: `ctx.ask`, and interrupts in Agent Inbox's form.

An interrupt is `{"action_request": {"action", "args"}, "config": {"allow_ignore", "allow_respond",
"allow_edit", "allow_accept"}, "description"}`; its answer `{"type": "accept" | "ignore" |
"response" | "edit", "args"}`, to which a refusal adds its reason as `comment`. What is accepted or
edited is asked as a gate and carried out by the agent itself; where only words are wanted it is a
question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from approvals.gates import Proposal
from approvals.policies.matches import PolicyAnswer
from approvals.queries import ApprovalRow
from approvals.rules.verdicts import ALLOWED
from approvals.states import DEFAULT_RISK
from checkpoints.records import NewActivity, Position
from checkpoints.state import deltas
from checkpoints.state.schema_texts import with_order

from ..authoring.checks import shown
from ..authoring.errors import GateReached, Rejected, StepFailed
from ..authoring.frozen import plain
from ..authoring.graph import Gate
from ..step.advice import EVENT_BYTES, check_request, storable
from ..step.answers import Answer
from .approval_gates import Act, Gates, decided_args, settled

NAME_MAX: Final = 200
FLAGS: Final = {
    "allow_accept": "approve",
    "allow_edit": "edit",
    "allow_respond": "respond",
    "allow_ignore": "reject",
}
_TYPES: Final = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A checked interrupt; `verdicts` are those that its config allows."""

    action: str
    args: dict[str, Any]
    verdicts: tuple[str, ...]
    description: str

    @property
    def decides(self) -> bool:
        """Answer True if people can approve it, as it is or edited."""
        return "approve" in self.verdicts or "edit" in self.verdicts

    @property
    def title(self) -> str:
        """Its first line for people."""
        return next((line for line in self.description.splitlines() if line.strip()), self.action)

    @property
    def schema(self) -> dict[str, Any]:
        """Of which form the arguments stay when they are edited, and what people may answer."""
        if not self.decides:
            return {"type": "string", ALLOWED: list(self.verdicts)}
        kinds = {n: {"type": _TYPES.get(type(v), "object")} for n, v in self.args.items()}
        known = {n: {} if self.args[n] is None else kind for n, kind in kinds.items()}
        return {"type": "object", "properties": known, ALLOWED: list(self.verdicts)}


class Interrupts(Gates):
    """A node's questions in one step."""

    def ask(
        self,
        question: str,
        *,
        schema: dict[str, Any] | None = None,
        key: str | None = None,
        **more: Any,
    ) -> Answer:
        """Ask people something that no action follows from; `schema` is the answer's JSON Schema.

        `key` identifies the question where questions come in no fixed order. Raises Rejected when
        they refuse to answer, Expired when nobody did in time.
        """
        position = self._position("ask", key)
        approval = self._step.approval_at(position)
        values = {"question": question}
        _check_question(question, schema, more)
        payload = {**values, "schema": schema, **more}
        storable(payload, "What this question says", at_most=EVENT_BYTES)
        if approval is None or approval.status == "withdrawn":
            self._step.refuse_secrets(payload, "What this question says")
            proposal = Proposal(
                *(position, "question", "", values, question[:300]),
                schema=with_order(schema),
                origin=self._step.ledger.origin(self._step.work),
                **more,
            )
            raise GateReached(replace(proposal, revision=_next(approval)))
        settled(approval)
        return Answer(approval.decided_args, approval.comment, approval.decided_by_name)

    def interrupt(
        self, request: Mapping[str, Any] | Sequence[Any], *, key: str | None = None
    ) -> list[dict[str, Any]]:
        """Stop for people in the form of Agent Inbox; several are asked together.

        Answers `[{"type": ..., "args": ...}]`, one for each; a refusal has its reason as `comment`.
        `key` identifies them where interrupts come in no fixed order. Raises Expired, and Rejected
        for a refusal that the config does not offer as "ignore".
        """
        values = [request] if isinstance(request, Mapping) else request
        if not isinstance(values, list | tuple) or not values:
            raise StepFailed("An interrupt is one request or a list of them.")
        many = not isinstance(request, Mapping)
        requests = [interrupt_of(r, f"$[{n}]" if many else "$") for n, r in enumerate(values)]
        results: list[dict[str, Any]] = []
        stops: list[GateReached] = []
        for one in requests:
            position = self._position("interrupt", key)
            try:
                results.append(self._interrupted(position, one))
            except GateReached as stop:
                stops.append(stop)
        if stops:
            raise GateReached.merged(stops)
        return results

    def _interrupted(self, position: Position, one: Interrupt) -> dict[str, Any]:
        payload = {"action": one.action, "args": one.args, "verdicts": list(one.verdicts)}
        known = self._step.record_at(position)
        if known is not None and deltas.canonical(known.args) == deltas.canonical(payload):
            saved: dict[str, Any] = deltas.copied(known.result)
            return saved
        approval = self._step.approval_at(position)
        if approval is not None and known is not None and approval.id == known.approval:
            approval = replace(approval, status="withdrawn")  # it was about something else
        answer = self._answer(position, one, approval)
        if approval is None:
            raise AssertionError("nobody answers what was not asked")
        activity = self._new(
            position,
            "value",
            one.action,
            payload,
            approval=approval.id,
            revision=self._step.revision(position, same=False),
        )
        self._record(approval, activity, answer)
        return answer

    def _answer(
        self, position: Position, one: Interrupt, approval: ApprovalRow | None
    ) -> dict[str, Any]:
        """The reviewers' answer; raises GateReached while pending."""
        if not one.decides:
            return self._words(position, one, approval)
        act = Act(position, one.action, one.args, one.schema)
        gate = Gate(one.title, one.description)
        if approval is None or approval.status == "withdrawn":
            rule = self._rule(act, gate, strict=True)
            raise GateReached(self._proposal(act, gate, rule, approval))
        if approval.open and "respond" in one.verdicts:
            for request in self._step.ledger.asked_back(self._step.work, approval):
                return {"type": "response", "args": request.text}
        try:
            self._decided(act, gate, approval, strict=True)
        except Rejected as no:
            return _ignored(one, no)
        if why := self._step.ledger.doubts(self._step.work, approval):
            self._ask_again(act, gate, approval, why, strict=True)
        message = replace(act, args=decided_args(approval, one.args))
        answer = self._rule(message, gate, strict=True)
        if why := self._stricter(message, gate, answer, approval):
            self._ask_again(act, gate, approval, why, strict=True, answer=answer)
        if approval.outcome not in one.verdicts:
            why = "this request offered no such answer."
            raise GateReached(self._proposal(act, gate, PolicyAnswer(None), approval, why))
        if approval.outcome == "edit":
            edited = {"action": one.action, "args": decided_args(approval, one.args)}
            return {"type": "edit", "args": edited}
        return {"type": "accept", "args": None}

    def _words(
        self, position: Position, one: Interrupt, approval: ApprovalRow | None
    ) -> dict[str, Any]:
        values = {"question": one.title, "action": one.action, "args": one.args}
        former = None if approval is None else approval.args
        other = former is not None and deltas.canonical(former) != deltas.canonical(values)
        if approval is None or approval.status == "withdrawn" or other:
            proposal = Proposal(position, "question", "", values, one.title[:300], one.description)
            origin = self._step.ledger.origin(self._step.work)
            more: dict[str, Any] = {
                "schema": one.schema,
                "revision": _next(approval),
                "origin": origin,
            }
            raise GateReached(replace(proposal, **more))
        try:
            settled(approval)
        except Rejected as no:
            return _ignored(one, no)
        return {"type": "response", "args": approval.decided_args}

    def _record(self, approval: ApprovalRow, activity: NewActivity, answer: Any) -> None:
        """Keep the answer; it uses up its approval. Words end a request that is still open."""
        step = self._step
        self._boundary()
        storable(answer, "The answer to this interrupt")
        if not approval.open:
            step.ledger.record(step.work, activity, result=answer, events=step.take_events())
            return
        more = {"result": answer, "reason": "Answered in words: the agent continues with them."}
        if not step.ledger.answer(step.work, approval, activity, **more, events=step.buffer):
            raise GateReached(waits=(approval.headline,))  # somebody decided: look again
        step.take_events()


def _check_question(question: Any, schema: Any, more: Mapping[str, Any]) -> None:
    terms: dict[str, Any] = {"description": "", "risk": DEFAULT_RISK, "expires_in": None}
    for name in more:
        if name not in terms:
            raise StepFailed(f"ctx.ask takes no {name}=; it takes {', '.join(terms)} and schema.")
    chosen = terms | dict(more)
    check_request(
        question, chosen["description"], chosen["risk"], chosen["expires_in"], "A question's"
    )
    if schema is not None and not isinstance(schema, dict):
        raise StepFailed(
            f"A question's schema must be a JSON Schema as a dict, not {shown(schema)}."
        )


def interrupt_of(values: Any, path: str = "$") -> Interrupt:
    """A request in Agent Inbox's form; StepFailed names the place that does not fit."""
    request = _members(values, path, ("action_request",), ("config", "description"))
    inner = f"{path}.action_request"
    action = _members(request["action_request"], inner, ("action", "args"))
    name, args = action["action"], plain(action["args"])
    if not isinstance(name, str) or not 1 <= len(name) <= NAME_MAX:
        raise _unfit(f"{inner}.action", f"must be a text of 1 to {NAME_MAX} characters")
    if not isinstance(args, dict):
        raise _unfit(f"{inner}.args", "must be an object")
    flags = _members(request.get("config"), f"{path}.config", (), tuple(FLAGS))
    for flag, value in flags.items():
        if not isinstance(value, bool):
            raise _unfit(f"{path}.config.{flag}", "must be true or false")
    verdicts = tuple(verdict for flag, verdict in FLAGS.items() if flags.get(flag))
    if not verdicts:
        raise _unfit(f"{path}.config", "allows no answer at all")
    message = request.get("description")
    if message is not None and not isinstance(message, str):
        raise _unfit(f"{path}.description", "must be a text")
    storable(name, f"The interrupt's {inner}.action")
    storable(args, f"The interrupt's {inner}.args")
    storable(message or "", f"The interrupt's {path}.description", at_most=EVENT_BYTES)
    return Interrupt(name, args, verdicts, message or "")


def _members(
    value: Any, path: str, needed: tuple[str, ...], more: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _unfit(path, "must be an object")
    for name in needed:
        if name not in value:
            raise _unfit(f"{path}.{name}", "is missing")
    for name in value:
        if name not in (*needed, *more):
            known = ", ".join((*needed, *more))
            raise _unfit(f"{path}.{name}", f"is not known here; there are {known}")
    return value


def _unfit(path: str, why: str) -> StepFailed:
    return StepFailed(f"This interrupt cannot be asked: {path} {why}.")


def _ignored(one: Interrupt, no: Rejected) -> dict[str, Any]:
    """The answer to a refusal; raises it where the config offers no such answer."""
    if "reject" not in one.verdicts:
        raise no
    return {"type": "ignore", "args": None, **({"comment": no.comment} if no.comment else {})}


def _next(former: ApprovalRow | None) -> int:
    return 0 if former is None else former.revision + 1
