"""What a node gets: the ways to do things once, to ask people, and to say what it thinks.

A node works again from its start after a stop inside it. What it asks through the context is
answered from the record where it was done before, so code between the calls must have no side
effects of its own.
"""

from __future__ import annotations

import time
import uuid as uuids
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from approvals.gates import Proposal, proposal_hash
from approvals.queries import ApprovalRow
from checkpoints import deltas
from checkpoints.records import Position
from checkpoints.states import EventKind
from checkpoints.store import NewEvent

from . import models
from .advice import (
    TOLD_BYTES,
    check_activity,
    check_effect,
    check_file,
    check_seconds,
    storable,
)
from .answers import Answer, Outcome, chunks_of, describe, outcome_of, result_of, sha_of
from .errors import Expired, GateReached, Parked, Rejected
from .frozen import plain
from .graph import Gate, Tool
from .recording import Recording, here

PROGRESS_KEEP_SECONDS = 1.0


def current() -> Context:
    """The context of the working activity or effect; LookupError outside of one."""
    context: Context | None = here.get()
    if context is None:
        raise LookupError("There is no working activity here.")
    return context


def progress(done: float, total: float | None = None, text: str = "") -> None:
    """Report progress from inside an activity's function; does nothing outside of one."""
    context: Context | None = here.get()
    if context is not None:
        context.progress(done, total, text)


class Context(Recording):
    """One node's side of one step. Sync; an activity's function may be `async def`."""

    # ---- activities --------------------------------------------------------------------------

    def activity(
        self, call: Callable[..., Any], *args: Any, key: str | None = None, **kwargs: Any
    ) -> Any:
        """Do something once: call it, commit its JSON result, and ever after answer from there.

        Arguments must be JSON. Asked with other arguments at the same place, it is called again
        and both results stay. Errors are recorded and end the step; a retry calls it again.
        """
        check_activity(call)
        name = getattr(call, "__name__", "activity")
        position = self._position(name, key)
        given = {"args": plain(list(args)), **({"kwargs": plain(kwargs)} if kwargs else {})}
        storable(given, f"What {name!r} is called with")

        def carry_out() -> Any:
            # Copies: what the function does to its arguments shall not change what is recorded.
            return call(*deltas.copied(given["args"]), **deltas.copied(given.get("kwargs", {})))

        return self._once(position, "activity", name, given, carry_out)

    def model(
        self,
        *parts: Any,
        model: str = "",
        system: str = "",
        temperature: float | None = None,
        max_tokens: int | None = None,
        key: str | None = None,
    ) -> str:
        """Ask a model once: `parts` are texts and JSON values; the answer is its finished text.

        Without a name or temperature here those of `ctx.config` hold. Name, tokens and cost are
        recorded beside the answer and added to the thread's. What the model raises fails the step.
        """
        position = self._position("model", key)
        request = models.asked(
            tuple(plain(list(parts))),
            self.config,
            model=model,
            system=system,
            temperature=temperature,
            max_tokens=max_tokens,
        )
        given = request.to_json()
        storable(given, "What the model is asked")

        def ask() -> Any:
            return self._run.model(replace(request, parts=tuple(deltas.copied(given["parts"]))))

        answer: str = self._once(position, "model", "model", given, ask, models.used)
        return answer

    # ---- effects and gates -------------------------------------------------------------------

    def effect(self, tool: Tool, args: Mapping[str, Any], *, gate: Gate | None = None) -> Outcome:
        """Let a tool change the outside world, after its gate where it has one.

        Exactly the decided arguments are carried out. That it starts is committed before it does;
        a stop in between repeats it with the same key when the tool is idempotent, else the thread
        waits in `attention`. Raises Rejected or Expired when people said no or nothing.
        """
        check_effect(tool, args)
        position = self._position(tool.name)
        given = plain(dict(args))
        storable(given, f"What {tool.name!r} is called with")
        known = self._run.record_at(position)
        approval = self._run.approval_at(position)
        if known is not None and known.kind == "effect":
            same = deltas.canonical(known.args) == deltas.canonical(given)
            if known.state == "done" and same:
                return outcome_of(known.result, approval)
            if not same:
                raise Parked(
                    f"{tool.name!r} happened here with other arguments. Look at what was done, "
                    "then roll back (undo it) or put the state back as it was.",
                    {"kind": "effect", "activity": str(known.id)},
                )
            if known.state == "unknown" or (known.state == "started" and not tool.idempotent):
                raise Parked(
                    f"Whether {tool.name!r} happened is unknown: the worker was lost between its "
                    "start and its end, and the tool does not promise to be repeatable. Check "
                    "outside, then roll back or cancel.",
                    {"kind": "unknown", "activity": str(known.id)},
                )
        elif gate is not None or self._run.work.effects == "ask":
            self._decided(position, tool, given, gate, approval)
        self._boundary()
        activity = self._new(
            position,
            "effect",
            tool.name,
            given,
            id=known.id if known else None,
            undo=tool.undo.__name__ if tool.undo else "",
            approval=approval.id if approval and approval.outcome == "approve" else None,
            attempts=known.attempts + 1 if known else 1,
        )
        self._run.ledger.begin_effect(self._run.work, activity, self._run.take_events())
        try:
            with self._inside(activity):
                result = plain(result_of(lambda: tool.call(**given, key=activity.idempotency_key)))
            storable(result, f"What {tool.name!r} returned")
        except Exception as error:
            self._run.ledger.end_effect(
                self._run.work, activity, state="failed", error=describe(error)
            )
            raise
        self._run.ledger.end_effect(
            self._run.work,
            activity,
            state="done",
            result=result,
            events=self._run.take_events(),
        )
        return outcome_of(deltas.copied(result), approval)

    def _decided(
        self,
        position: Position,
        tool: Tool,
        given: Any,
        gate: Gate | None,
        approval: ApprovalRow | None,
    ) -> None:
        """Return when the effect may happen; otherwise leave the node by the way decided."""
        asked = gate or Gate(
            f"Let this fork do {tool.name!r}?",
            "A fork stops before what it would do outside, since its base may have done it too.",
            risk="medium",
        )
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

    # ---- what people see ---------------------------------------------------------------------

    def think(self, text: str, **facts: Any) -> None:
        """Record a thought: why the agent goes on as it does."""
        position = self._position("think")
        ordinal = int(position.key.rpartition("#")[2])
        data = {
            "node": self._node,
            "ordinal": ordinal,
            "branch": position.branch,
            "step": position.step,
            "text": text,
        }
        if facts:
            data["facts"] = plain(facts)
        storable(data, "This thought", at_most=TOLD_BYTES)
        self._run.think(self._node, ordinal, data)

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Show how far the working activity is; pushed at once, kept at most once a second."""
        activity = self._current
        if activity is None:
            return
        said = {"node": self._node, "done": done, "total": total, "text": text}
        storable(said, "This progress", at_most=TOLD_BYTES)
        self._run.heart.check()
        now = time.monotonic()
        keep = now - self._kept_at >= PROGRESS_KEEP_SECONDS or done == total
        if keep:
            self._kept_at = now
        self._run.ledger.progress(self._run.work, activity, said, keep=keep)

    # ---- files -------------------------------------------------------------------------------

    def artifact(
        self, name: str, data: bytes | Path | Iterable[bytes], media_type: str
    ) -> dict[str, Any]:
        """Keep a file outside the state; the reference to put into the state or a result."""
        check_file(name, media_type)
        chunks = chunks_of(data)
        ref = self._run.ledger.artifact(self._run.work, name, media_type, chunks)
        self._run.add_event(
            NewEvent(
                EventKind.ARTIFACT_STORED,
                {
                    "node": self._node,
                    "name": ref["name"],
                    "sha256": ref["$artifact"],
                    "size": ref["size"],
                    "media_type": media_type,
                },
                self._run.work.owner,
            )
        )
        return ref

    def open_artifact(self, ref: Mapping[str, Any]) -> IO[bytes]:
        """The bytes behind a reference, as a binary file."""
        return self._run.ledger.open_artifact(self._run.work, sha_of(ref))

    def artifact_path(self, ref: Mapping[str, Any]) -> Path:
        """Where the file lies on this machine; read only."""
        return self._run.ledger.artifact_path(self._run.work, sha_of(ref))

    @property
    def config(self) -> Mapping[str, Any]:
        """Model, temperature, prompt texts and the like, as the thread or its fork was begun."""
        return self._run.config

    @property
    def thread_id(self) -> uuids.UUID:
        """The id of the thread that this node works for."""
        return self._run.work.thread

    @property
    def thread_title(self) -> str:
        """The title of the thread that this node works for."""
        return self._run.work.title
