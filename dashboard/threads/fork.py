"""Forks by people: a new thread from a checkpoint, with other values or another output."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from django.db import transaction
from pydantic import Field

from checkpoints import queries, store
from checkpoints.errors import ContentAway, InvalidValue, NotFound
from checkpoints.limits import TITLE_MAX
from checkpoints.log import fork_budgets
from checkpoints.log.fork_budgets import COST, NUMBER_MAX
from checkpoints.state import deltas
from checkpoints.views import ActivityRow, CheckpointRow, ThreadRow
from dashboard.errors import Invalid, Missing, NotAllowedNow, translated
from dashboard.fields.credentials import check_credentials, exempt_of
from dashboard.fields.validation import (
    REASON_MAX,
    check_config,
    check_text,
)
from dashboard.identity.permissions import Actor
from dashboard.kit import second_person
from dashboard.kit.shapes.requests import CONFIG_SIZE, Changes, Config, RequestShape
from dashboard.kit.shapes.texts import Id, Reason, Title
from dashboard.threads.edit import changed_states, check_changed
from dashboard.threads.plans.changes import ForkPlan, fork_plan
from dashboard.threads.preview_shapes import ExpectedCalls
from dashboard.threads.target import thread_for
from dashboard.threads.thread_shapes import Checkpoint
from dashboard.wire.hints import look_again
from workers.authoring.messages import ModelAnswer

OUTPUT_MAX_BYTES: Final = 1024 * 1024
_OUTPUT: Final = "$.instead_of.output"
_KINDS: Final = {dict: "an object", list: "a list", str: "text", bool: "true or false"}


@translated()
def fork_point(
    actor: Actor, thread_id: UUID, checkpoint_id: UUID | None, instead_of: UUID | None
) -> UUID:
    """The checkpoint to fork from: the one named, else the one before the call, else the head."""
    thread = thread_for(actor, "fork", thread_id)
    if checkpoint_id is not None:
        return checkpoint_id
    if instead_of is not None:
        return checkpoint_before(exchangeable(thread, instead_of)).id
    return thread.head


@translated()
def preview_fork(
    actor: Actor,
    thread_id: UUID,
    checkpoint_id: UUID,
    changes: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    budget: Mapping[str, Any] | None = None,
    instead_of: UUID | None = None,
    output: Any = None,
    title: str = "",
    effects: str = "ask",
    reason: str = "",
) -> ForkPlan:
    """Predict the effects and the cost of a fork from this checkpoint with these values."""
    thread = thread_for(actor, "fork", thread_id)
    _check_words(title, reason, effects)
    check_config(config or {})
    _check_budget(thread, budget)
    target = queries.checkpoint(thread_id, checkpoint_id)
    call = None
    if instead_of is not None:
        call = _exchanged(thread, target.id, instead_of, output, changes, config, effects)
    try:
        old, new = changed_states(actor, thread, checkpoint_id, changes or {})
    except ContentAway:
        if changes:
            raise
        old, new = {}, {}  # nothing differs, readable now or not
    return fork_plan(thread, target, old, new, config=config or {}, exchanged=call)


@second_person.guarded("fork")
@translated()
def fork(
    actor: Actor,
    thread_id: UUID,
    checkpoint_id: UUID,
    changes: Mapping[str, Any] | None = None,
    title: str = "",
    effects: str = "ask",
    reason: str = "",
    config: Mapping[str, Any] | None = None,
    *,
    budget: Mapping[str, Any] | None = None,
    instead_of: UUID | None = None,
    output: Any = None,
) -> UUID:
    """Begin a new thread from a checkpoint of this one, which stays as it is; the new id.

    `config` names what differs from the thread's own: model, temperature, prompt texts. At its
    `budget` the fork pauses. With `instead_of` the recorded call of that id had answered `output`,
    and nothing else differs; the checkpoint is the one before its step.
    """
    thread = thread_for(actor, "fork", thread_id)
    _check_words(title, reason, effects)
    check_config(config or {})
    _check_budget(thread, budget)
    if instead_of is not None:
        call = _exchanged(thread, checkpoint_id, instead_of, output, changes, config, effects)
        new_thread = store.fork_with_output(
            call,
            output=output,
            checkpoint=checkpoint_id,
            actor=actor.id,
            title=title,
            reason=reason,
            budget=budget,
        )
    else:
        check_changed(actor, thread, checkpoint_id, changes or {})
        new_thread = store.fork(
            thread_id,
            checkpoint=checkpoint_id,
            changes=changes or {},
            actor=actor.id,
            title=title,
            effects=effects,
            reason=reason,
            config=config,
            budget=budget,
        )
    # Nothing is written to the base, but its pages list the fork.
    transaction.on_commit(partial(look_again, thread_id, actor.workspace))
    return new_thread


def exchangeable(thread: ThreadRow, call_id: UUID) -> ActivityRow:
    """A finished call of the thread; raises Missing, NotAllowedNow for what has no output."""
    try:
        call = queries.activity(call_id)
    except NotFound as error:
        raise Missing("There is no such call in this thread.") from error
    if call.thread != thread.id:
        raise Missing("There is no such call in this thread.")
    if call.kind not in store.EXCHANGEABLE or call.state != "done":
        raise NotAllowedNow("Only the output of a finished call can be exchanged.")
    if thread.external is not None:
        raise NotAllowedNow(
            "This agent works elsewhere and reads its own record; fork it with other values."
        )
    return call


def checkpoint_before(call: ActivityRow) -> CheckpointRow:
    """The checkpoint that the call's step began from; NotAllowedNow where a rollback left it."""
    try:
        return queries.checkpoint_before(call)
    except NotFound as error:
        raise NotAllowedNow("A rollback left this call behind; fork from before it.") from error


def check_output(thread: ThreadRow, call: ActivityRow, output: Any) -> None:
    """Refuse an output that the call could not have recorded; Invalid with its path."""
    deltas.check(output, _OUTPUT)
    if len(deltas.canonical(output)) > OUTPUT_MAX_BYTES:
        raise Invalid(_OUTPUT, f"has more than {OUTPUT_MAX_BYTES:,} bytes")
    version = queries.agent_version(thread.agent_version_id)
    check_credentials(_OUTPUT, output, exempt=exempt_of(version, call.tool))
    wanted = _KINDS.get(type(call.result))
    if wanted is None and isinstance(call.result, int | float):
        wanted = "a number"
    if wanted is not None and wanted != _KINDS.get(type(output), _number(output)):
        raise Invalid(_OUTPUT, f"must be {wanted}, as what was recorded is")
    if call.kind == "model" and isinstance(output, dict):
        _check_answer(output)


def _number(value: Any) -> str:
    return "a number" if isinstance(value, int | float) else ""


def _check_answer(output: dict[str, Any]) -> None:
    try:
        answer = ModelAnswer.from_json(output)
    except (TypeError, AttributeError, ValueError) as error:
        names = ", ".join(field.name for field in dataclasses.fields(ModelAnswer))
        message = f"is not an answer of a model as it is recorded; its members are {names}"
        raise Invalid(_OUTPUT, message) from error
    if not isinstance(answer.text, str):
        raise Invalid(f"{_OUTPUT}.text", "must be text")


def _exchanged(
    thread: ThreadRow,
    checkpoint_id: UUID,
    call_id: UUID,
    output: Any,
    changes: Mapping[str, Any] | None,
    config: Mapping[str, Any] | None,
    effects: str,
) -> ActivityRow:
    """The call whose output is exchanged; Invalid where anything else would differ, too."""
    call = exchangeable(thread, call_id)
    for path, value in (("$.changes", changes), ("$.config", config)):
        if value:
            raise Invalid(path, "is not taken with `instead_of`: only that output differs")
    if effects != "ask":
        raise Invalid("$.effects", "must be ask with `instead_of`: no effect happens by itself")
    if checkpoint_before(call).id != checkpoint_id:
        raise Invalid("$.checkpoint", "is not the one that the step of this call began from")
    check_output(thread, call, output)
    return call


def _check_words(title: str, reason: str, effects: str) -> None:
    check_text("$.title", title, TITLE_MAX)
    check_text("$.reason", reason, REASON_MAX)
    if effects not in ("ask", "run"):
        raise Invalid("$.effects", "must be ask or run")


def _check_budget(thread: ThreadRow, budget: Mapping[str, Any] | None) -> None:
    if not budget:
        return
    try:
        fork_budgets.checked(budget)
    except InvalidValue as error:
        raise Invalid(error.path, error.reason) from error
    if thread.external is not None:
        raise Invalid("$.budget", "holds only for agents that workers of this installation run")


class ForkBudget(RequestShape):
    """The limits at which a fork pauses; what it starts counts. Resuming grants them once more."""

    cost: Annotated[str, Field(max_length=16, pattern=f"^(?:{COST.pattern})$")] | None = Field(
        None, description="Dollars as text, such as `0.50`."
    )
    tokens: Annotated[int, Field(ge=1, le=NUMBER_MAX)] | None = None
    steps: Annotated[int, Field(ge=1, le=NUMBER_MAX)] | None = Field(
        None, description="Finished steps of the fork itself."
    )


class InsteadOf(RequestShape):
    """A finished call of the thread, and the output that it had in the fork."""

    activity: Id
    output: Any = Field(
        description="Of the same JSON type as what was recorded; at most "
        f"{OUTPUT_MAX_BYTES:,} bytes."
    )


class Fork(RequestShape):
    """A new thread from a checkpoint of this one."""

    checkpoint: Id | None = Field(
        None,
        description="Left out: the head; with `instead_of` the one that its step began from.",
    )
    changes: Changes = Field(default_factory=dict)
    title: Title = ""
    effects: Literal["ask", "run"] = "ask"
    reason: Reason = ""
    config: Config = Field(
        default_factory=dict,
        description="What differs from the thread's own configuration; null takes a member away. "
        f"{CONFIG_SIZE}",
    )
    budget: ForkBudget | None = None
    instead_of: InsteadOf | None = Field(
        None,
        description="A counterfactual: only this output differs, so `changes` and `config` are "
        "empty and `effects` is `ask`. GET `diff/` says whether the ending flips.",
    )

    def more(self) -> dict[str, Any]:
        """The arguments of the action that most forks have not."""
        budget = self.budget and self.budget.model_dump(exclude_none=True)
        other = self.instead_of
        more = {} if other is None else {"instead_of": other.activity, "output": other.output}
        return more | ({"budget": budget} if budget else {})


class ForkPreview(ExpectedCalls):
    """The plan of a fork: its changes, and the calls it would make again."""

    checkpoint: Checkpoint
    patch: list[dict[str, Any]]
    next_nodes: list[str]
    first_effect: str
    config: dict[str, Any]
    remembered: list[UUID] = Field(
        description="memories that the base has kept since: a fork does not take them back"
    )

    @classmethod
    def of(cls, plan: ForkPlan) -> Self:
        """The plan for the wire."""
        return cls(
            checkpoint=Checkpoint.of(plan.target),
            patch=list(plan.patch),
            next_nodes=list(plan.next_nodes),
            first_effect=plan.first_effect,
            config=plan.config,
            remembered=[row.id for row in plan.remembered],
            **cls.as_json(plan.expected),
        )
