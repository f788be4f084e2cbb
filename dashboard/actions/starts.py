"""How a thread is started, or found by its name and let go on; part of the door `actions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from checkpoints import queries, store
from checkpoints.errors import AlreadyStarted, ConcurrentModificationError, NotAllowedNow, NotFound
from checkpoints.limits import AGENT_MAX, NAME_MAX, TITLE_MAX
from checkpoints.state import deltas
from checkpoints.states import Status
from checkpoints.views import AgentRow, ThreadRow
from dashboard.errors import Invalid, translated
from dashboard.fields.validation import (
    check_config,
    check_labels,
    check_node,
    check_text,
    resulting_state,
)
from dashboard.identity.permissions import Actor, may, require


def start_thread(actor: Actor, **asked: Any) -> UUID:
    """The id alone of `start_or_continue`."""
    return start_or_continue(actor, **asked)[0]


@translated()
def start_or_continue(
    actor: Actor,
    *,
    agent: str,
    input: Mapping[str, Any],
    title: str = "",
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    pause_at: str = "",
    config: Mapping[str, Any] | None = None,
) -> tuple[UUID, bool]:
    """(thread, whether it is new). Raises Invalid with paths in `input`, or `$.agent` and so on.

    Where the workspace has a thread of this agent and name, that one is answered: the same start
    may be sent any number of times. A paused or failed one goes on. Title, labels and `pause_at`
    belong to the first start; other input or config than its own is refused, never dropped.
    """
    require(actor, "start")
    check_text("$.agent", agent, AGENT_MAX, required=True)
    check_text("$.title", title, TITLE_MAX)
    if name is not None:
        check_text("$.name", name, NAME_MAX, required=True)
    check_labels(labels or {})
    check_config(config or {})
    try:
        version = queries.agent(agent)
    except NotFound as error:
        raise Invalid("$.agent", error.message) from error
    check_node("$.pause_at", pause_at, version)
    if name is not None:
        # Before the input is judged: whoever only wants to go on need not repeat it.
        known = queries.thread_named(name, agent=agent, workspace=actor.workspace)
        if known is not None:
            _go_on(actor, known, input=input, config=config, pause_at=pause_at)
            return known.id, False
    resulting_state(version, _defaults(version), input, workspace=actor.workspace, within="input")
    try:
        thread = store.start(
            version.id,
            input=input,
            workspace=actor.workspace,
            actor=actor.id,
            name=name,
            title=title,
            labels=labels,
            pause_at=pause_at,
            config=config,
        )
    except AlreadyStarted as found:
        other = queries.thread(found.facts["thread"], workspace=actor.workspace)
        _go_on(actor, other, input=input, config=config, pause_at=pause_at)
        return other.id, False
    return thread, True


def _go_on(
    actor: Actor,
    thread: ThreadRow,
    *,
    input: Mapping[str, Any],
    config: Mapping[str, Any] | None,
    pause_at: str,
) -> None:
    """Resume or retry what stands still and needs no person to look at it first."""
    _refuse_other(thread, input, config or {})
    verb: Callable[..., object]
    if thread.status is Status.PAUSED and pause_at not in thread.next_nodes:
        action, verb = "resume", store.resume
    elif thread.status is Status.FAILED:
        action, verb = "retry", store.retry
    else:  # It goes on by itself, or stands where this very start told it to stop.
        return
    if not may(actor, action):
        return
    try:
        with transaction.atomic():
            verb(thread.id, actor=actor.id, expected_version=thread.version)
            if pause_at:  # in one transaction: no worker may pass the node in between
                store.pause(thread.id, actor=actor.id, before_node=pause_at)
    except (ConcurrentModificationError, NotAllowedNow):
        return  # Somebody else was faster, with the same start or another verb.


def _refuse_other(thread: ThreadRow, input: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Raise Invalid for input or config that this thread was not started with."""
    if input:
        first = queries.checkpoint_by_number(thread.id, 0)
        version = queries.agent_version(first.agent_version_id)
        deltas.check(dict(input), "$.input")
        given = {**_defaults(version), **input}
        if deltas.canonical(given) != deltas.canonical(queries.state_at(thread.id, first.id)):
            raise Invalid("$", _said(thread, "input"), within="input", thread=str(thread.id))
    given_config = store.joined_config({}, config)
    known = queries.config_of(thread.id)
    if given_config and deltas.canonical(given_config) != deltas.canonical(known):
        raise Invalid("$", _said(thread, "config"), within="config", thread=str(thread.id))


def _said(thread: ThreadRow, what: str) -> str:
    instead = {
        "input": "Send it to the thread's /input/, leave it out to go on",
        "config": "Fork the thread with it, leave it out to go on",
    }[what]
    return f"the thread of this name was started with other {what}. {instead}, or take another name"


def _defaults(version: AgentRow) -> dict[str, Any]:
    return {
        channel: spec["default"] for channel, spec in version.channels.items() if "default" in spec
    }
