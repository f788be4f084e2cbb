"""Start a thread, or find it by its name and resume it; part of `actions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from pydantic import Field

from checkpoints import queries, store
from checkpoints.agent_versions import EXTERNAL_QUEUE, GATEWAY_AGENT, is_of_gateway
from checkpoints.errors import (
    AlreadyStarted,
    ConcurrentModificationError,
    InvalidValue,
    NotAllowedNow,
    NotFound,
)
from checkpoints.limits import AGENT_MAX, NAME_MAX, NODE_MAX, TITLE_MAX
from checkpoints.log.traces import read_traceparent
from checkpoints.names import escaped
from checkpoints.state import deltas
from checkpoints.state.deltas import LIMITS
from checkpoints.states import Status
from checkpoints.views import AgentRow, ThreadRow
from dashboard.errors import Conflict, Invalid, translated
from dashboard.fields.faults import check_schema
from dashboard.fields.searchable import check_announced
from dashboard.fields.titles import title_from
from dashboard.fields.validation import (
    check_config,
    check_labels,
    check_node,
    check_text,
    resulting_state,
)
from dashboard.identity.permissions import Actor, may, require
from dashboard.kit.shapes.requests import Config, ExternalAgent, Labels, RequestShape
from dashboard.kit.shapes.texts import NotBlank, Title
from workers.external.announcement import Announcement, announce


def start_thread(actor: Actor, **request: Any) -> UUID:
    """The id alone of `start_or_continue`."""
    return start_or_continue(actor, **request)[0]


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
    external: Announcement | None = None,
    traceparent: str = "",
) -> tuple[UUID, bool]:
    """(thread, whether it is new). Raises Invalid with paths in `input`, or `$.agent` and so on.

    Where the workspace has a thread of this agent and name, that one is answered: the same start
    may be sent any number of times. A paused or failed one continues. Title, labels and `pause_at`
    belong to the first start; the input's `x-title` channel is the title where none is named. Other
    input or config than its own is refused, never dropped.
    `external` announces an agent that works elsewhere and needs no code of ours. `traceparent` is
    the caller's trace context; malformed it is ignored, as W3C wants.

    1. Check the right and each text, then find the version of the agent.
    2. Continue the thread of this name, where there is one.
    3. Judge the input and start; where somebody else was quicker, continue their thread.
    """
    require(actor, "start")
    _check_texts(agent, title, name, labels or {}, config or {})
    version = _version(actor, agent, external)
    check_node("$.pause_at", pause_at, version)
    if name is not None:
        # Before the input is judged: a caller that only wants to continue need not repeat it.
        known = queries.thread_named(name, agent=agent, workspace=actor.workspace)
        if known is not None:
            _continue_thread(actor, known, input=input, config=config, pause_at=pause_at)
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
            automatic_title=title_from(version.schema, input),
            labels=labels,
            pause_at=pause_at,
            config=config,
            traceparent=traceparent if read_traceparent(traceparent) else "",
        )
    except AlreadyStarted as result:
        other = queries.thread(result.facts["thread"], workspace=actor.workspace)
        _continue_thread(actor, other, input=input, config=config, pause_at=pause_at)
        return other.id, False
    return thread, True


def _check_texts(
    agent: str,
    title: str,
    name: str | None,
    labels: Mapping[str, str],
    config: Mapping[str, Any],
) -> None:
    """Raise Invalid for what no start may be called, labelled or configured with."""
    check_text("$.agent", agent, AGENT_MAX, required=True)
    if is_of_gateway(agent):
        # The gateway goes by the names of its threads: somebody else's would answer its clients.
        raise Invalid("$.agent", f"begins with {GATEWAY_AGENT}: only the MCP gateway starts these")
    check_text("$.title", title, TITLE_MAX)
    if name is not None:
        check_text("$.name", name, NAME_MAX, required=True)
    check_labels(labels)
    check_config(config)


def _version(actor: Actor, agent: str, external: Announcement | None) -> AgentRow:
    """The agent version that a thread begins with; an external agent's is entered first."""
    try:
        version = queries.agent(agent, workspace=actor.workspace)
    except NotFound as error:
        if external is None:
            raise Invalid("$.agent", error.message) from error
    else:
        if external is None:
            return version
        if version.queue != EXTERNAL_QUEUE:
            raise Conflict(f"Workers of this installation serve {agent}; take another name.")
    return queries.agent_version(enter_announcement(actor, agent, external))


def enter_announcement(actor: Actor, agent: str, external: Announcement) -> UUID:
    """Enter an agent that works elsewhere as it describes itself: a version; raises Invalid."""
    require(actor, "work")
    _check_schemas(external)
    check_announced(external)
    if twice := next((n for n in external.nodes if external.nodes.count(n) > 1), None):
        raise Invalid("$.external.nodes", f"has two nodes named {escaped(twice)}")
    try:
        return announce(agent, external, workspace=actor.workspace)
    except InvalidValue as error:
        path = error.path if error.path == "$.agent" else f"$.external{error.path[1:]}"
        raise Invalid(path, error.reason) from error


def _check_schemas(external: Announcement) -> None:
    """Refuse schemas by which nothing that the agent reports could be judged: Invalid."""
    check_schema(external.schema or {}, "$.external.schema")
    for name, tool in external.tools.items():
        check_schema(tool.get("schema") or {}, f"{deltas.at('$.external.tools', name)}.schema")


def _continue_thread(
    actor: Actor,
    thread: ThreadRow,
    *,
    input: Mapping[str, Any],
    config: Mapping[str, Any] | None,
    pause_at: str,
) -> None:
    """Resume or retry what stands still and needs no person to look at it first."""
    _refuse_other(thread, input, config or {})
    if thread.is_ephemeral and thread.status is Status.FAILED:
        return  # its next message begins the next turn
    verb: Callable[..., object]
    if thread.status is Status.PAUSED and pause_at not in thread.next_nodes:
        action, verb = "resume", store.resume
    elif thread.status is Status.FAILED:
        action, verb = "retry", store.retry
    else:  # It continues by itself, or stopped where this very start asked it to.
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
    if input and thread.is_ephemeral:
        raise Invalid("$", _explained(thread, "input"), within="input", thread=str(thread.id))
    if input:
        first = queries.checkpoint_by_number(thread.id, 0)
        version = queries.agent_version(first.agent_version_id)
        deltas.check(dict(input), "$.input")
        values = {**_defaults(version), **input}
        known = store.opened(thread.id, queries.state_at(thread.id, first.id))
        if deltas.canonical(values) != deltas.canonical(known):
            raise Invalid("$", _explained(thread, "input"), within="input", thread=str(thread.id))
    own = {} if thread.is_ephemeral else queries.config_of(thread.id)
    # What was deployed at its start is in it beside what was given.
    given_config = store.joined_config(own, store.joined_config({}, config))
    if deltas.canonical(given_config) != deltas.canonical(own):
        raise Invalid("$", _explained(thread, "config"), within="config", thread=str(thread.id))


def _explained(thread: ThreadRow, what: str) -> str:
    instead = {
        "input": "Send it to the thread's /input/, leave it out to continue",
        "config": "Fork the thread with it, leave it out to continue",
    }[what]
    return f"the thread of this name was started with other {what}. {instead}, or take another name"


def _defaults(version: AgentRow) -> dict[str, Any]:
    return {
        channel: spec["default"] for channel, spec in version.channels.items() if "default" in spec
    }


class StartThread(RequestShape):
    """A new thread, or the continuation of the one of that name."""

    agent: Annotated[str, NotBlank(AGENT_MAX)]
    input: dict[str, Any] = Field(
        default_factory=dict,
        description="Values by channel, which the agent's state takes; the state may have "
        f"{LIMITS.state_bytes:,} bytes.",
    )
    name: Annotated[str, NotBlank(NAME_MAX)] | None = None
    title: Title = ""
    labels: Labels = Field(default_factory=dict)
    pause_at: Annotated[str, Field(max_length=NODE_MAX)] = Field(
        "", description="A node to stop before."
    )
    config: Config = Field(default_factory=dict)
    external: ExternalAgent | None = Field(
        None,
        description="Of an agent that works elsewhere and reports: what it says of itself. The "
        "agent is announced with it.",
    )
