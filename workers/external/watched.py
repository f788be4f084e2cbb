"""Threads of agents that are instrumented elsewhere: their spans are recorded, nothing is held.

Spans of one trace are one thread, and so are traces of one conversation. A span is recorded once,
whenever and however often it comes; the thread ends with the first span that has no parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from uuid_utils.compat import uuid7

from checkpoints import leases, queries, store
from checkpoints.agent_versions import EXTERNAL_QUEUE, is_of_gateway
from checkpoints.errors import AlreadyStarted, LeaseLost, NotFound
from checkpoints.limits import AGENT_MAX
from checkpoints.records import NewActivity, Position
from checkpoints.states import EventKind, Status
from checkpoints.store.activities import Outcome

from .announcement import Announcement, announce
from .otlp_names import SpanOfAgent

FRAMEWORK: Final = "OpenTelemetry"
NODE: Final = "watched"
UNNAMED: Final = "unnamed agent"
# Of the lease under which a thread runs; silence for longer ends the lease, not the thread.
TERM_SECONDS: Final = 3_600
_ANNOUNCED: Final = Announcement(framework=FRAMEWORK, nodes=(NODE,), can=(), watched=True)


def take_spans(spans: Sequence[SpanOfAgent], *, workspace: UUID, reporter: str) -> list[UUID]:
    """Record spans in their threads, which begin with the first span; returns the threads."""
    traces: dict[str, list[SpanOfAgent]] = {}
    for one in spans:
        traces.setdefault(one.span.trace, []).append(one)
    return [
        _take_trace(trace, own, workspace=workspace, reporter=reporter)
        for trace, own in traces.items()
    ]


def _take_trace(
    trace: str, spans: Sequence[SpanOfAgent], *, workspace: UUID, reporter: str
) -> UUID:
    thread = _thread_of(trace, spans, workspace=workspace, reporter=reporter)
    owner = f"{reporter}/agent:{_service(spans)}"
    row = queries.thread(thread, workspace=workspace)
    if row.status is Status.QUEUED:
        leases.acquire(thread, owner=owner, seconds=TERM_SECONDS, past_breakers=True)
    store.record_watched(thread, [_record(one) for one in spans], owner=owner)
    work = leases.held_by_any(thread, workspace=workspace)
    if work is None:
        return thread  # it ended before: what came late is recorded all the same
    roots = [one for one in spans if not one.span.parent]
    if not roots:
        leases.renew(thread, token=work.token, seconds=TERM_SECONDS)
        return thread
    error = next((one.span.error for one in roots if one.span.error), "")
    by = EventKind.THREAD_FAILED if error else EventKind.THREAD_SUCCEEDED
    try:
        store.leave(work, by, reason=error)
    except LeaseLost:
        pass  # the same span twice at the same time: the other one ended the thread
    return thread


def _thread_of(trace: str, spans: Sequence[SpanOfAgent], *, workspace: UUID, reporter: str) -> UUID:
    """The thread of a trace, else that of its conversation, else a new one."""
    conversation = next((one.conversation for one in spans if one.conversation), "")
    keys = [f"trace:{trace}", *([f"conversation:{conversation}"] if conversation else [])]
    with store.locked_keys(workspace, keys) as known:
        thread = next((known[key] for key in keys if key in known), None)
        if thread is None:
            thread = _start(conversation or trace, spans, workspace=workspace, reporter=reporter)
        if missing := [key for key in keys if key not in known]:
            store.keep_keys(workspace, missing, thread)
    return thread


def _start(name: str, spans: Sequence[SpanOfAgent], *, workspace: UUID, reporter: str) -> UUID:
    agent = _agent(spans, workspace)
    values: dict[str, Any] = {"input": {}, "workspace": workspace, "actor": reporter}
    version = announce(agent, _ANNOUNCED, workspace=workspace)
    try:
        return store.start(version, name=name, **values)
    except AlreadyStarted:
        return store.start(version, **values)  # an agent that is controlled has the name


def _agent(spans: Sequence[SpanOfAgent], workspace: UUID) -> str:
    """The agent that the outermost span with a name names, else the service that sent them."""
    ids = {one.span.id for one in spans}
    outermost = sorted(spans, key=lambda one: (one.span.parent in ids, one.span.start))
    name = next((one.agent for one in outermost if one.agent), "") or _service(spans)
    try:
        own = queries.agent(name, workspace=workspace).queue != EXTERNAL_QUEUE
    except NotFound:
        own = False
    if is_of_gateway(name):
        name = f"{FRAMEWORK} {name}"  # the gateway's own threads are not watched
    suffix = f" ({FRAMEWORK})" if own else ""  # workers here serve one of this name
    return name[: AGENT_MAX - len(suffix)] + suffix


def _service(spans: Sequence[SpanOfAgent]) -> str:
    service = next((one.span.service for one in spans if one.span.service), "")
    # The bar separates the parts of what an event hashes.
    return service.replace("|", "-")[:80] or UNNAMED


def _record(one: SpanOfAgent) -> tuple[NewActivity, Outcome]:
    """A span as an activity at a position of its own, with its outcome."""
    span = one.span
    activity = NewActivity(
        id=uuid7(),
        position=Position(0, 1, NODE, 0, f"{span.trace}/{span.id}#0"),
        kind=one.kind,
        tool=one.name,
        args={**one.args, "agent": one.agent, "parent": span.parent, "at": _time(span.start)},
        idempotency_key="",
    )
    outcome: Outcome = {"error": span.error} if span.error else {"result": one.result}
    if one.usage:
        outcome["usage"] = one.usage
    return activity, outcome


def _time(nanoseconds: int) -> str:
    """By the clock of the sender."""
    try:
        return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
